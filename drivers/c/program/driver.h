/* The client library, libmariadb or libmysqlclient: what the two differ in is behind this. */
#ifndef DRIVER_H
#define DRIVER_H

#include <mysql.h>

#include "failure.h"
#include "job.h"

#ifdef MARIADB_BASE_VERSION
#define LIBRARY "libmariadb"
#else
#define LIBRARY "libmysqlclient"
#endif

/* A connection, with the statements that were prepared on it. */
struct session {
    MYSQL *mysql;
    struct prepared *prepared; /* one for each of the job's statements */
    bool fresh;                /* no statement of the workload was run yet */
};

/* Reads the options' names; one that is none ends the process. */
void driver_check_options(const struct job *job);

/* Opens a connection and says what is said on every one; false with the failure. */
bool session_open(struct session *session, const struct job *job, struct failure *failure);
bool session_greet(struct session *session, const struct job *job, struct failure *failure);
void session_close(struct session *session, const struct job *job);

/* Runs a text; its rows are added to `rows` where that is not NULL, as arrays of texts and nulls. */
bool session_say(struct session *session, const char *sql, size_t length, cJSON *rows,
                 struct failure *failure);

/* Runs a statement by its prepared form, which is made at its first use on the connection. */
bool session_execute(struct session *session, const struct job *job, size_t number,
                     const struct value *values, cJSON *rows, struct failure *failure);

/* What the library says of the connection's TLS: NULL in the clear, or where it has no word for it. */
cJSON *session_client_view(const struct session *session);
extern const bool client_tells;

#endif
