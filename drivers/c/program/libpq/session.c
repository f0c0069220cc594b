/* Connections of libpq: opened by its words, asked, closed; and its failures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../adapter.h"

enum { BETWEEN_FIELDS = 0x1f, MOST_WORDS = 64 };

/* Words and their values, as PQconnectdbParams takes them. */
struct words {
    const char *names[MOST_WORDS + 1], *values[MOST_WORDS + 1];
    size_t count;
};

void library_takes(cJSON *takes)
{
    /* TLS that begins at once came with 17 (release notes, `sslnegotiation`). */
    if (PQlibVersion() >= 170000)
        cJSON_AddItemToArray(takes, cJSON_CreateString("direct"));
}

void library_start(void) {}

const char *library_version(void)
{
    static char text[32];
    snprintf(text, sizeof text, "%d.%d", PQlibVersion() / 10000, PQlibVersion() % 10000);
    return text;
}

char *library_mark(char *to, int number) { return to + sprintf(to, "$%d", number); }

bool options_check(const cJSON *options, struct failure *failure)
{
    const cJSON *option;
    PQconninfoOption *known = PQconndefaults();
    bool accepted = cJSON_GetArraySize(options) < MOST_WORDS / 2;
    if (!accepted)
        failure_say(failure, "bad_job", "these are more options than libpq has");
    cJSON_ArrayForEach(option, options)
    {
        const PQconninfoOption *each = known;
        while (each->keyword != NULL && strcmp(each->keyword, option->string) != 0)
            each++;
        if (each->keyword == NULL && accepted) {
            failure_say(failure, "bad_job", "libpq has no option %s", option->string);
            accepted = false;
        }
    }
    PQconninfoFree(known);
    return accepted;
}

/* Of two values of a word the last counts; a null is none. */
static void add(struct words *words, const char *name, const char *value)
{
    if (value == NULL || words->count == MOST_WORDS)
        return;
    words->names[words->count] = name;
    words->values[words->count++] = value;
}

static const char *text_at(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static const char *version_at(const cJSON *versions, int place)
{
    static const char *const named[][2] = {
        {"1.0", "TLSv1"}, {"1.1", "TLSv1.1"}, {"1.2", "TLSv1.2"}, {"1.3", "TLSv1.3"}};
    const char *version = cJSON_GetStringValue(cJSON_GetArrayItem(versions, place));
    for (size_t i = 0; version != NULL && i < sizeof named / sizeof *named; i++)
        if (strcmp(version, named[i][0]) == 0)
            return named[i][1];
    return NULL;
}

static void add_tls(struct words *words, const cJSON *tls)
{
    const char *mode = text_at(tls, "mode"), *verify = text_at(tls, "verify");
    if (strcmp(mode, "off") == 0)
        add(words, "sslmode", "disable");
    if (strcmp(mode, "required") == 0)
        add(words, "sslmode", "require");
    if (strcmp(mode, "on") != 0)
        return;
    const cJSON *versions = cJSON_GetObjectItem(tls, "versions");
    bool verifies = strcmp(verify, "none") != 0;
    add(words, "sslmode", !verifies ? "require" : strcmp(verify, "ca") == 0 ? "verify-ca" : "verify-full");
    add(words, "sslrootcert", verifies ? text_at(tls, "ca_file") : NULL);
    add(words, "sslcert", text_at(tls, "certificate_file"));
    add(words, "sslkey", text_at(tls, "key_file"));
    add(words, "ssl_min_protocol_version", version_at(versions, 0));
    add(words, "ssl_max_protocol_version", version_at(versions, cJSON_GetArraySize(versions) - 1));
    if (cJSON_IsTrue(cJSON_GetObjectItem(tls, "direct")))
        add(words, "sslnegotiation", "direct");
}

/* What libpq says itself has no SQLSTATE: the first words that fit. */
static const char *kind_of_words(const char *said)
{
    static const char *const kinds[][2] = {
        {"authentication failed", "access_denied"},
        {"no pg_hba.conf entry", "access_denied"},
        {"no password supplied", "access_denied"},
        {"server does not support SSL", "no_tls"},
        {"invalid sslmode value", "bad_job"},
        {"invalid ", "bad_job"},
        {"certificate", "certificate"},
        {"SSL", "tls_handshake"},
        {"could not translate host name", "resolve"},
        {"Connection refused", "connect"},
        {"No such file", "connect"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(said, kinds[i][0]) != NULL)
            return kinds[i][1];
    return "server_closed";
}

static const char *kind_of_state(const char *state)
{
    if (strncmp(state, "28", 2) == 0)
        return "access_denied";
    if (strcmp(state, "53300") == 0)
        return "limits";
    return strncmp(state, "57P0", 4) == 0 ? "server_closed" : "server_error";
}

static bool failed(struct failure *failure, const char *state, const char *words)
{
    *failure = (struct failure){.by = "driver"};
    failure->kind = state == NULL ? kind_of_words(words) : kind_of_state(state);
    snprintf(failure->state, sizeof failure->state, "%s", state == NULL ? "" : state);
    snprintf(failure->words, sizeof failure->words, "%s", words);
    return false;
}

bool session_is_open(const struct session *session) { return session->connection != NULL; }

bool session_open(struct session *session, const struct terms *terms, struct failure *failure)
{
    struct words words = {.count = 0};
    char port[16], folder[256] = "";
    const cJSON *option;
    snprintf(port, sizeof port, "%u", terms->port);
    if (terms->socket_path != NULL) {
        /* A socket is its folder, with the port that its name ends with. */
        const char *ends = strstr(terms->socket_path, "/.s.PGSQL.");
        snprintf(folder, sizeof folder, "%.*s", ends == NULL ? 0 : (int)(ends - terms->socket_path),
                 terms->socket_path);
        snprintf(port, sizeof port, "%s", ends == NULL ? "" : ends + strlen("/.s.PGSQL."));
    }
    add(&words, "host", terms->socket_path == NULL ? terms->host : folder);
    add(&words, "port", port);
    add(&words, "user", terms->user);
    add(&words, "password", terms->password);
    add(&words, "dbname", terms->database);
    add_tls(&words, terms->tls);
    cJSON_ArrayForEach(option, terms->options) add(&words, option->string, option->valuestring);
    session->connection = PQconnectdbParams(words.names, words.values, 0);
    if (PQstatus(session->connection) == CONNECTION_OK)
        return true;
    failed(failure, NULL, PQerrorMessage(session->connection));
    session_close(session, terms);
    return false;
}

static bool finished(struct session *session, PGresult *result, cJSON *rows, struct failure *failure)
{
    ExecStatusType status = PQresultStatus(result);
    bool worked = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
    if (!worked)
        failed(failure, PQresultErrorField(result, PG_DIAG_SQLSTATE), PQerrorMessage(session->connection));
    for (int row = 0; worked && rows != NULL && row < PQntuples(result); row++) {
        cJSON *kept = cJSON_CreateArray();
        for (int column = 0; column < PQnfields(result); column++)
            cJSON_AddItemToArray(kept, PQgetisnull(result, row, column)
                                           ? cJSON_CreateNull()
                                           : cJSON_CreateString(PQgetvalue(result, row, column)));
        cJSON_AddItemToArray(rows, kept);
    }
    PQclear(result);
    return worked;
}

/* libpq takes texts that end with a zero. */
bool session_say(struct session *session, const char *sql, size_t length, cJSON *rows, struct failure *failure)
{
    char *text = strndup(sql, length);
    PGresult *result = PQexec(session->connection, text == NULL ? "" : text);
    free(text);
    return finished(session, result, rows, failure);
}

static void name_of(size_t call, char name[16]) { snprintf(name, 16, "s%zu", call); }

bool session_greet(struct session *session, const struct terms *terms, struct failure *failure)
{
    const cJSON *each;
    char name[16];
    cJSON_ArrayForEach(each, terms->on_connect) if (!session_say(session, each->valuestring,
                                                                 strlen(each->valuestring), NULL,
                                                                 failure)) return false;
    for (size_t i = 0; i < terms->call_count; i++) {
        if (!terms->calls[i].prepared)
            continue;
        name_of(i, name);
        if (!finished(session, PQprepare(session->connection, name, terms->calls[i].sql, 0, NULL), NULL, failure))
            return false;
    }
    return true;
}

/* The field at `*at`, with its length; `*at` is then where the next begins. */
static const char *next_field(const char **at, const char *end, size_t *length)
{
    const char *field = *at, *found = memchr(field, BETWEEN_FIELDS, (size_t)(end - field));
    const char *behind = found == NULL ? end : found;
    *length = (size_t)(behind - field);
    *at = found == NULL ? end : found + 1;
    return field;
}

/* Values are handed over as texts, as most programs do. */
static bool run_prepared(struct session *session, size_t number, const struct call *call, const char **at,
                         const char *end, cJSON *rows, struct failure *failure)
{
    char name[16];
    char **values = allocate(call->count * sizeof *values);
    for (size_t i = 0; i < call->count; i++) {
        size_t length;
        const char *field = next_field(at, end, &length);
        values[i] = strndup(field, length);
    }
    name_of(number, name);
    PGresult *result = PQexecPrepared(session->connection, name, (int)call->count,
                                      (const char *const *)values, NULL, NULL, 0);
    for (size_t i = 0; i < call->count; i++)
        free(values[i]);
    free(values);
    return finished(session, result, rows, failure);
}

bool session_run(struct session *session, const struct terms *terms, size_t call, const char **at,
                 const char *end, cJSON *rows, struct failure *failure)
{
    if (terms->calls[call].prepared)
        return run_prepared(session, call, &terms->calls[call], at, end, rows, failure);
    size_t length;
    const char *sql = next_field(at, end, &length);
    return session_say(session, sql, length, rows, failure);
}

void session_close(struct session *session, const struct terms *terms)
{
    (void)terms;
    if (session->connection != NULL)
        PQfinish(session->connection);
    session->connection = NULL;
}

void session_view(const struct session *session, cJSON *answer)
{
    const char *version = PQsslAttribute(session->connection, "protocol");
    const char *cipher = PQsslAttribute(session->connection, "cipher");
    if (!PQsslInUse(session->connection)) {
        cJSON_AddNullToObject(answer, "view");
        return;
    }
    cJSON *view = cJSON_AddObjectToObject(answer, "view");
    cJSON_AddStringToObject(view, "version", version == NULL ? "" : version);
    cJSON_AddStringToObject(view, "cipher", cipher == NULL ? "" : cipher);
}
