/* Connections of the client library, libmariadb or libmysqlclient: opened, asked, closed; and its failures. */
#include <errmsg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../adapter.h"

enum { LONGEST_COLUMN = 65536, BETWEEN_FIELDS = 0x1f };

#ifdef MARIADB_BASE_VERSION
typedef my_bool mark;
#else
typedef bool mark;
#endif

/* What a column is read into. */
struct column {
    char *bytes;
    unsigned long length;
    mark is_null;
};

/* A statement prepared on a connection, with the memory that its values and columns are bound to. */
struct prepared {
    MYSQL_STMT *handle;
    long long *numbers;
    char **texts;
    unsigned long *lengths, *rooms;
    struct column *columns;
    unsigned column_count;
};

static bool has(const char *words, const char *word) { return strcasestr(words, word) != NULL; }

/* The library has one number for all that goes wrong with TLS, and its words. */
static const char *kind_of_tls(const char *words)
{
    if (has(words, "support") && has(words, "server"))
        return "no_tls";
    return has(words, "certificate") || has(words, "verif") || has(words, "hostname") ? "certificate"
                                                                                      : "tls_handshake";
}

static const char *kind_of(unsigned code, const char *words)
{
    static const unsigned refused[] = {1044, 1045, 1130, 1251, 1698, 2049, 2059, 2061};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (code == refused[i])
            return "access_denied";
    if (code == CR_SSL_CONNECTION_ERROR ||
        (code >= 2000 && code < 3000 && (has(words, "TLS") || has(words, "SSL"))))
        return kind_of_tls(words);
    if (code == CR_UNKNOWN_HOST)
        return "resolve";
    if (code == CR_CONNECTION_ERROR || code == CR_CONN_HOST_ERROR)
        return "connect";
    if (code == CR_VERSION_ERROR || code == CR_SERVER_HANDSHAKE_ERR || code == CR_MALFORMED_PACKET)
        return "not_mysql";
    if (code == 1040)
        return "limits";
    return code >= 2000 && code < 3000 ? "server_closed" : "server_error";
}

static bool failed(struct failure *failure, unsigned code, const char *words)
{
    *failure = (struct failure){.kind = kind_of(code, words), .by = "driver", .code = code};
    snprintf(failure->words, sizeof failure->words, "%s", words);
    return false;
}

static bool session_failed(const struct session *session, struct failure *failure)
{
    return failed(failure, mysql_errno(session->mysql), mysql_error(session->mysql));
}

static bool statement_failed(const struct prepared *prepared, struct failure *failure)
{
    return failed(failure, mysql_stmt_errno(prepared->handle), mysql_stmt_error(prepared->handle));
}

bool session_open(struct session *session, const struct terms *terms, struct failure *failure)
{
    session->mysql = mysql_init(NULL);
    session->prepared = allocate(terms->call_count * sizeof *session->prepared);
    if (!options_apply(session->mysql, terms, failure)) {
        session_close(session, terms);
        return false;
    }
    if (mysql_real_connect(session->mysql, terms->host, terms->user, terms->password, terms->database,
                           terms->port, terms->socket_path, 0) != NULL)
        return true;
    session_failed(session, failure);
    session_close(session, terms);
    return false;
}

static bool bind_values(struct prepared *prepared, const struct call *call)
{
    MYSQL_BIND *binds = allocate(call->count * sizeof *binds);
    for (size_t i = 0; i < call->count; i++) {
        bool is_text = call->types[i] == 's';
        binds[i].buffer_type = is_text ? MYSQL_TYPE_STRING : MYSQL_TYPE_LONGLONG;
        binds[i].buffer = is_text ? (void *)prepared->texts[i] : (void *)&prepared->numbers[i];
        binds[i].buffer_length = prepared->rooms[i];
        binds[i].length = &prepared->lengths[i];
    }
    bool bound = call->count == 0 || mysql_stmt_bind_param(prepared->handle, binds) == 0;
    free(binds);
    return bound;
}

static bool bind_columns(struct prepared *prepared)
{
    MYSQL_RES *told = mysql_stmt_result_metadata(prepared->handle);
    if (told == NULL)
        return true;
    prepared->column_count = mysql_num_fields(told);
    prepared->columns = allocate(prepared->column_count * sizeof *prepared->columns);
    MYSQL_BIND *binds = allocate(prepared->column_count * sizeof *binds);
    for (unsigned i = 0; i < prepared->column_count; i++) {
        struct column *column = &prepared->columns[i];
        unsigned long size = mysql_fetch_field_direct(told, i)->length + 1;
        size = size > LONGEST_COLUMN ? LONGEST_COLUMN : size < 64 ? 64 : size;
        column->bytes = allocate(size);
        binds[i].buffer_type = MYSQL_TYPE_STRING;
        binds[i].buffer = column->bytes;
        binds[i].buffer_length = size;
        binds[i].length = &column->length;
        binds[i].is_null = &column->is_null;
    }
    mysql_free_result(told);
    bool bound = mysql_stmt_bind_result(prepared->handle, binds) == 0;
    free(binds);
    return bound;
}

static bool prepare(struct session *session, struct prepared *prepared, const struct call *call,
                    struct failure *failure)
{
    prepared->handle = mysql_stmt_init(session->mysql);
    prepared->numbers = allocate(call->count * sizeof *prepared->numbers);
    prepared->texts = allocate(call->count * sizeof *prepared->texts);
    prepared->lengths = allocate(call->count * sizeof *prepared->lengths);
    prepared->rooms = allocate(call->count * sizeof *prepared->rooms);
    return (mysql_stmt_prepare(prepared->handle, call->sql, strlen(call->sql)) == 0 &&
            bind_values(prepared, call) && bind_columns(prepared)) ||
           statement_failed(prepared, failure);
}

bool session_greet(struct session *session, const struct terms *terms, struct failure *failure)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, terms->on_connect) if (!session_say(session, each->valuestring,
                                                                 strlen(each->valuestring), NULL,
                                                                 failure)) return false;
    for (size_t i = 0; i < terms->call_count; i++)
        if (terms->calls[i].prepared && !prepare(session, &session->prepared[i], &terms->calls[i], failure))
            return false;
    return true;
}

void session_close(struct session *session, const struct terms *terms)
{
    if (session->mysql == NULL)
        return;
    for (size_t i = 0; i < terms->call_count; i++) {
        struct prepared *prepared = &session->prepared[i];
        if (prepared->handle != NULL)
            mysql_stmt_close(prepared->handle);
        for (size_t j = 0; prepared->texts != NULL && j < terms->calls[i].count; j++)
            free(prepared->texts[j]);
        for (unsigned j = 0; j < prepared->column_count; j++)
            free(prepared->columns[j].bytes);
        free(prepared->numbers);
        free(prepared->texts);
        free(prepared->lengths);
        free(prepared->rooms);
        free(prepared->columns);
    }
    free(session->prepared);
    mysql_close(session->mysql);
    session->prepared = NULL;
    session->mysql = NULL;
}

static void keep(cJSON *row, const char *bytes, size_t length)
{
    char *text = bytes == NULL ? NULL : strndup(bytes, length);
    cJSON_AddItemToArray(row, text == NULL ? cJSON_CreateNull() : cJSON_CreateString(text));
    free(text);
}

bool session_say(struct session *session, const char *sql, size_t length, cJSON *rows,
                 struct failure *failure)
{
    if (mysql_real_query(session->mysql, sql, length) != 0)
        return session_failed(session, failure);
    MYSQL_RES *result = mysql_store_result(session->mysql);
    if (result == NULL)
        return mysql_field_count(session->mysql) == 0 || session_failed(session, failure);
    MYSQL_ROW row;
    while ((row = mysql_fetch_row(result)) != NULL) {
        if (rows == NULL)
            continue;
        unsigned long *lengths = mysql_fetch_lengths(result);
        cJSON *kept = cJSON_CreateArray();
        for (unsigned i = 0; i < mysql_num_fields(result); i++)
            keep(kept, row[i], lengths[i]);
        cJSON_AddItemToArray(rows, kept);
    }
    mysql_free_result(result);
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

/* Puts a call's values where they are bound; a text that is longer than all before it is bound anew. */
static bool put_values(struct prepared *prepared, const struct call *call, const char **at, const char *end)
{
    bool moved = false;
    for (size_t i = 0; i < call->count; i++) {
        size_t length;
        const char *field = next_field(at, end, &length);
        if (call->types[i] == 'i') {
            prepared->numbers[i] = strtoll(field, NULL, 10);
            continue;
        }
        if (length > prepared->rooms[i]) {
            free(prepared->texts[i]);
            prepared->rooms[i] = 2 * length + 64;
            prepared->texts[i] = allocate(prepared->rooms[i]);
            moved = true;
        }
        if (length > 0)
            memcpy(prepared->texts[i], field, length);
        prepared->lengths[i] = length;
    }
    return !moved || bind_values(prepared, call);
}

static bool run_prepared(struct prepared *prepared, cJSON *rows, struct failure *failure)
{
    int status;
    if (mysql_stmt_execute(prepared->handle) != 0)
        return statement_failed(prepared, failure);
    if (prepared->column_count == 0)
        return true;
    if (mysql_stmt_store_result(prepared->handle) != 0)
        return statement_failed(prepared, failure);
    while ((status = mysql_stmt_fetch(prepared->handle)) == 0 || status == MYSQL_DATA_TRUNCATED) {
        if (rows == NULL)
            continue;
        cJSON *kept = cJSON_CreateArray();
        for (unsigned i = 0; i < prepared->column_count; i++) {
            const struct column *column = &prepared->columns[i];
            keep(kept, column->is_null ? NULL : column->bytes, column->length);
        }
        cJSON_AddItemToArray(rows, kept);
    }
    mysql_stmt_free_result(prepared->handle);
    return status == MYSQL_NO_DATA || statement_failed(prepared, failure);
}

bool session_run(struct session *session, const struct terms *terms, size_t call, const char **at,
                 const char *end, cJSON *rows, struct failure *failure)
{
    struct prepared *prepared = &session->prepared[call];
    if (!terms->calls[call].prepared) {
        size_t length;
        const char *sql = next_field(at, end, &length);
        return session_say(session, sql, length, rows, failure);
    }
    return (put_values(prepared, &terms->calls[call], at, end) || statement_failed(prepared, failure)) &&
           run_prepared(prepared, rows, failure);
}

bool session_is_open(const struct session *session) { return session->mysql != NULL; }

void library_takes(cJSON *takes) { (void)takes; }

void library_start(void) { mysql_library_init(0, NULL, NULL); }

const char *library_version(void) { return mysql_get_client_info(); }

char *library_mark(char *to, int number)
{
    (void)number;
    return stpcpy(to, "?");
}

void session_view(const struct session *session, cJSON *answer)
{
#ifdef MARIADB_BASE_VERSION
    const char *cipher = mysql_get_ssl_cipher(session->mysql), *version = NULL;
    if (cipher == NULL || mariadb_get_infov(session->mysql, MARIADB_CONNECTION_TLS_VERSION, &version) != 0) {
        cJSON_AddNullToObject(answer, "view");
        return;
    }
    cJSON *view = cJSON_AddObjectToObject(answer, "view");
    cJSON_AddStringToObject(view, "version", version == NULL ? "" : version);
    cJSON_AddStringToObject(view, "cipher", cipher);
#else
    (void)session, (void)answer; /* it tells the cipher, and not the version */
#endif
}
