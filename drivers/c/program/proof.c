/* What was negotiated, asked of each connection before measuring: the library's word and the server's. */
#include "proof.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_at(const cJSON *row, int column)
{
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(row, column));
    return text == NULL ? "" : text;
}

static const char *said(const cJSON *rows, const char *name)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) if (strcmp(text_at(row, 0), name) == 0) return text_at(row, 1);
    return "";
}

static void add_rest(cJSON *view)
{
    static const char *const names[] = {"group", "hello_retry", "certificate_key", "certificate_sha256"};
    for (size_t i = 0; view != NULL && i < sizeof names / sizeof *names; i++)
        cJSON_AddNullToObject(view, names[i]);
}

static cJSON *server_view(const struct proof *proof, const cJSON *rows)
{
    const char *cipher = said(rows, "Ssl_cipher");
    if (*cipher == '\0')
        return NULL;
    cJSON *view = cJSON_CreateObject();
    cJSON_AddStringToObject(view, "version", said(rows, "Ssl_version"));
    cJSON_AddStringToObject(view, "cipher", cipher);
    if (strstr(proof->server_version, "MariaDB") != NULL) /* its counter stays 0 whatever happens */
        cJSON_AddNullToObject(view, "resumed");
    else
        cJSON_AddBoolToObject(view, "resumed", atoi(said(rows, "Ssl_sessions_reused")) > 0);
    return view;
}

static bool ask(struct session *session, const char *sql, cJSON *rows, struct failure *failure)
{
    return session_say(session, sql, strlen(sql), rows, failure);
}

static void add(struct proof *proof, cJSON *client, cJSON *server)
{
    cJSON *told = cJSON_CreateObject(), *known;
    add_rest(client);
    add_rest(server);
    cJSON_AddItemToObject(told, "client", client == NULL ? cJSON_CreateNull() : client);
    cJSON_AddItemToObject(told, "server", server == NULL ? cJSON_CreateNull() : server);
    cJSON_AddBoolToObject(told, "client_tells", client_tells);
    cJSON_ArrayForEach(known, proof->negotiated)
    {
        cJSON *count = cJSON_DetachItemFromObject(known, "connections");
        bool same = cJSON_Compare(known, told, true);
        cJSON_AddNumberToObject(known, "connections", count->valuedouble + (same ? 1 : 0));
        cJSON_Delete(count);
        if (same) {
            cJSON_Delete(told);
            return;
        }
    }
    cJSON_AddNumberToObject(told, "connections", 1);
    cJSON_AddItemToArray(proof->negotiated, told);
}

bool proof_ask(struct proof *proof, struct session *session, bool *encrypted, struct failure *failure)
{
    cJSON *version = cJSON_CreateArray(), *rows = cJSON_CreateArray();
    bool asked = ask(session, "SELECT VERSION()", version, failure) &&
                 ask(session, "SHOW SESSION STATUS LIKE 'Ssl%'", rows, failure);
    if (asked) {
        snprintf(proof->server_version, sizeof proof->server_version, "%s",
                 text_at(cJSON_GetArrayItem(version, 0), 0));
        cJSON *server = server_view(proof, rows);
        *encrypted = server != NULL;
        add(proof, session_client_view(session), server);
    }
    cJSON_Delete(version);
    cJSON_Delete(rows);
    return asked;
}

/* The path of the one mapped file whose name begins so, or an empty text. */
static void find_mapped(const char *name, char *path, size_t size)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    *path = '\0';
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        char *file = strchr(line, '/'), *base = file == NULL ? NULL : strrchr(file, '/') + 1;
        if (base == NULL || strncmp(base, name, strlen(name)) != 0)
            continue;
        file[strcspn(file, "\n")] = '\0';
        snprintf(path, size, "%s", file);
    }
    if (maps != NULL)
        fclose(maps);
}

cJSON *tls_library(void)
{
    char ssl[4096], crypto[4096];
    const char *(*tell)(int) = NULL;
    find_mapped("libssl.so", ssl, sizeof ssl);
    find_mapped("libcrypto.so", crypto, sizeof crypto);
    void *library = *crypto == '\0' ? NULL : dlopen(crypto, RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL)
        *(void **)&tell = dlsym(library, "OpenSSL_version");
    if (tell == NULL || *ssl == '\0')
        return cJSON_CreateNull();
    cJSON *told = cJSON_CreateObject();
    cJSON_AddStringToObject(told, "version", tell(0));
    cJSON_AddStringToObject(told, "libssl_path", ssl);
    cJSON_AddStringToObject(told, "libcrypto_path", crypto);
    return told;
}
