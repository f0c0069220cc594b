/* Connections of the client library: opened with what the job says, and asked. */
#include "driver.h"

#include <errmsg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "options.h"
#include "prepared.h"

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

void say_driver_failed(struct failure *failure, unsigned code, const char *words)
{
    const char *kind = kind_of(code, words);
    failure_say(failure, kind, LIBRARY " says: %s", words);
    failure->code = code;
    failure->lost = strcmp(kind, "server_error") != 0;
}

static bool failed(struct session *session, struct failure *failure)
{
    say_driver_failed(failure, mysql_errno(session->mysql), mysql_error(session->mysql));
    return false;
}

bool session_open(struct session *session, const struct job *job, struct failure *failure)
{
    session->fresh = true;
    session->prepared = prepared_places(job);
    session->mysql = mysql_init(NULL);
    options_apply_tls(session->mysql, &job->tls);
    options_apply(session->mysql, job->options);
    if (mysql_real_connect(session->mysql, job->host, job->user, job->password, job->database, job->port,
                           job->socket_path, 0) == NULL) {
        failed(session, failure);
        session_close(session, job);
        return false;
    }
    return true;
}

bool session_greet(struct session *session, const struct job *job, struct failure *failure)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, job->on_connect) if (!session_say(session, each->valuestring,
                                                               strlen(each->valuestring), NULL,
                                                               failure)) return false;
    return true;
}

void session_close(struct session *session, const struct job *job)
{
    if (session->mysql == NULL)
        return;
    prepared_close(session->prepared, job);
    mysql_close(session->mysql);
    session->prepared = NULL;
    session->mysql = NULL;
}

static void keep_row(cJSON *rows, MYSQL_ROW row, const unsigned long *lengths, unsigned columns)
{
    cJSON *kept = cJSON_CreateArray();
    for (unsigned i = 0; i < columns; i++) {
        if (row[i] == NULL) {
            cJSON_AddItemToArray(kept, cJSON_CreateNull());
            continue;
        }
        char *text = strndup(row[i], lengths[i]);
        cJSON_AddItemToArray(kept, cJSON_CreateString(text));
        free(text);
    }
    cJSON_AddItemToArray(rows, kept);
}

bool session_say(struct session *session, const char *sql, size_t length, cJSON *rows,
                 struct failure *failure)
{
    if (mysql_real_query(session->mysql, sql, length) != 0)
        return failed(session, failure);
    MYSQL_RES *result = mysql_store_result(session->mysql);
    if (result == NULL)
        return mysql_field_count(session->mysql) == 0 || failed(session, failure);
    MYSQL_ROW row;
    while ((row = mysql_fetch_row(result)) != NULL)
        if (rows != NULL)
            keep_row(rows, row, mysql_fetch_lengths(result), mysql_num_fields(result));
    mysql_free_result(result);
    return true;
}

#ifdef MARIADB_BASE_VERSION
const bool client_tells = true;

cJSON *session_client_view(const struct session *session)
{
    const char *cipher = mysql_get_ssl_cipher(session->mysql), *version = NULL;
    if (cipher == NULL || mariadb_get_infov(session->mysql, MARIADB_CONNECTION_TLS_VERSION, &version) != 0)
        return NULL;
    cJSON *view = cJSON_CreateObject();
    cJSON_AddStringToObject(view, "version", version == NULL ? "" : version);
    cJSON_AddStringToObject(view, "cipher", cipher);
    cJSON_AddNullToObject(view, "resumed");
    return view;
}
#else
const bool client_tells = false; /* it tells the cipher, and not the version */

cJSON *session_client_view(const struct session *session)
{
    (void)session;
    return NULL;
}
#endif
