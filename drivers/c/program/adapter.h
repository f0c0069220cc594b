/* What the adapter's files share: failures, the terms, and connections of libmariadb, libmysqlclient or libpq. */
#ifndef ADAPTER_H
#define ADAPTER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef OF_POSTGRESQL
#include <libpq-fe.h>
#define LIBRARY "libpq"
#else
#include <mysql.h>
#ifdef MARIADB_BASE_VERSION
#define LIBRARY "libmariadb"
#else
#define LIBRARY "libmysqlclient"
#endif
#endif

/* A failure as the host is told of it (drivers/ADAPTERS.md); `code` 0 for none, `state` empty. */
struct failure {
    const char *kind, *by;
    unsigned code;
    char state[6];
    char words[1024];
};

/* Fills a failure with the adapter's own words. */
void failure_say(struct failure *failure, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A statement that is run once in an operation. */
struct call {
    char *sql; /* with a mark for each value */
    const char *types;
    size_t count; /* of values */
    bool prepared;
};

/* What the host says before all else. */
struct terms {
    const char *host, *socket_path, *user, *password, *database;
    unsigned port;
    const cJSON *tls, *options, *on_connect;
    bool reconnect;
    struct call *calls;
    size_t call_count;
};

struct prepared;

/* A connection, with the statements that were prepared on it. */
struct session {
#ifdef OF_POSTGRESQL
    PGconn *connection;
#else
    MYSQL *mysql;
    struct prepared *prepared; /* one for each call */
#endif
};

/* Memory of zeroes; the process ends where there is none. */
void *allocate(size_t bytes);

/* Checks the options' names and words. */
bool options_check(const cJSON *options, struct failure *failure);
#ifndef OF_POSTGRESQL
/* Says what is said of TLS, and then the options. */
bool options_apply(MYSQL *mysql, const struct terms *terms, struct failure *failure);
#endif

/* Adds what it can be told besides what all can (drivers/ADAPTERS.md). */
void library_takes(cJSON *takes);
/* Called once, before any connection. */
void library_start(void);
/* The library's own word. */
const char *library_version(void);
/* Writes what stands for the value of this number, from 1 on; where it ends. */
char *library_mark(char *to, int number);

bool session_is_open(const struct session *session);
bool session_open(struct session *session, const struct terms *terms, struct failure *failure);
bool session_greet(struct session *session, const struct terms *terms, struct failure *failure);
void session_close(struct session *session, const struct terms *terms);

/* Runs a text; its rows are added to `rows` where that is not NULL, as arrays of texts and nulls. */
bool session_say(struct session *session, const char *sql, size_t length, cJSON *rows, struct failure *failure);

/* Runs a call. Its fields begin at `*at` and end before `end`; `*at` is then where the next call's begin. */
bool session_run(struct session *session, const struct terms *terms, size_t call, const char **at,
                 const char *end, cJSON *rows, struct failure *failure);

/* Adds what the library says of the connection's TLS, where it has words for it. */
void session_view(const struct session *session, cJSON *answer);

#endif
