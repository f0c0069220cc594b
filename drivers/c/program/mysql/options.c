/* Options of the client library: the job's own, by the names of mysql.h, and those of TLS. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../adapter.h"

enum type { NONE, FLAG, NUMBER, TEXT };

/* What mysql_options takes, by name; both libraries have these. */
static const struct option {
    const char *name;
    enum mysql_option option;
    enum type type;
} options[] = {
#define OPTION(name, type) {#name, name, type}
    OPTION(MYSQL_OPT_CONNECT_TIMEOUT, NUMBER),
    OPTION(MYSQL_OPT_READ_TIMEOUT, NUMBER),
    OPTION(MYSQL_OPT_WRITE_TIMEOUT, NUMBER),
    OPTION(MYSQL_OPT_COMPRESS, NONE),
    OPTION(MYSQL_OPT_LOCAL_INFILE, NUMBER),
    OPTION(MYSQL_OPT_PROTOCOL, NUMBER),
    OPTION(MYSQL_OPT_MAX_ALLOWED_PACKET, NUMBER),
    OPTION(MYSQL_INIT_COMMAND, TEXT),
    OPTION(MYSQL_SET_CHARSET_NAME, TEXT),
    OPTION(MYSQL_READ_DEFAULT_FILE, TEXT),
    OPTION(MYSQL_READ_DEFAULT_GROUP, TEXT),
    OPTION(MYSQL_DEFAULT_AUTH, TEXT),
    OPTION(MYSQL_OPT_BIND, TEXT),
    OPTION(MYSQL_OPT_SSL_CA, TEXT),
    OPTION(MYSQL_OPT_SSL_CAPATH, TEXT),
    OPTION(MYSQL_OPT_SSL_CERT, TEXT),
    OPTION(MYSQL_OPT_SSL_KEY, TEXT),
    OPTION(MYSQL_OPT_SSL_CIPHER, TEXT),
    OPTION(MYSQL_OPT_TLS_VERSION, TEXT),
    OPTION(MYSQL_SERVER_PUBLIC_KEY, TEXT),
#ifdef MARIADB_BASE_VERSION
    OPTION(MYSQL_OPT_RECONNECT, FLAG),
    OPTION(MYSQL_OPT_SSL_ENFORCE, FLAG),
    OPTION(MYSQL_OPT_SSL_VERIFY_SERVER_CERT, FLAG),
#else
    OPTION(MYSQL_OPT_SSL_MODE, NUMBER),
    OPTION(MYSQL_OPT_TLS_CIPHERSUITES, TEXT),
    OPTION(MYSQL_OPT_COMPRESSION_ALGORITHMS, TEXT),
    OPTION(MYSQL_OPT_GET_SERVER_PUBLIC_KEY, FLAG),
    OPTION(MYSQL_OPT_SSL_SESSION_DATA, TEXT),
#endif
};

static const struct option *find(const char *name)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

static bool refuse(struct failure *failure, const char *name, const char *wanted, const char *word)
{
    failure_say(failure, "bad_job", "%s is %s, not %s", name, wanted, word);
    return false;
}

bool options_check(const cJSON *said, struct failure *failure)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, said)
    {
        char *end;
        const char *word = each->valuestring;
        const struct option *option = find(each->string);
        bool flag = strcasecmp(word, "true") == 0 || strcasecmp(word, "false") == 0 || strcmp(word, "1") == 0 ||
                    strcmp(word, "0") == 0;
        if (option == NULL) {
            failure_say(failure, "bad_job",
                        LIBRARY " has no option %s that can be said here: take a name of mysql.h, such as %s",
                        each->string, options[0].name);
            return false;
        }
        if (option->type == FLAG && !flag)
            return refuse(failure, option->name, "true or false", word);
        strtoul(word, &end, 10);
        if (option->type == NUMBER && (*word == '\0' || *end != '\0'))
            return refuse(failure, option->name, "a whole number", word);
    }
    return true;
}

static bool set(MYSQL *mysql, enum mysql_option option, const char *name, const void *value,
                struct failure *failure)
{
    if (mysql_options(mysql, option, value) == 0)
        return true;
    failure_say(failure, "bad_job", LIBRARY " refuses %s: %s", name,
                mysql_errno(mysql) != 0 ? mysql_error(mysql) : "unknown option");
    return false;
}

static bool set_own(MYSQL *mysql, const cJSON *said, struct failure *failure)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, said)
    {
        const struct option *option = find(each->string);
        const char *word = each->valuestring;
        unsigned number = (unsigned)strtoul(word, NULL, 10);
        char flag = strcasecmp(word, "true") == 0 || number == 1;
        const void *value = option->type == NONE   ? NULL
                            : option->type == FLAG ? (const void *)&flag
                            : option->type == TEXT ? (const void *)word
                                                   : (const void *)&number;
        if (!set(mysql, option->option, option->name, value, failure))
            return false;
    }
    return true;
}

/* A text of the job's TLS, where it says something. */
static bool set_text(MYSQL *mysql, enum mysql_option option, const char *name, const cJSON *text,
                     struct failure *failure)
{
    return !cJSON_IsString(text) || set(mysql, option, name, text->valuestring, failure);
}

static bool set_versions(MYSQL *mysql, const cJSON *versions, struct failure *failure)
{
    char words[64] = "";
    const cJSON *each;
    cJSON_ArrayForEach(each, versions)
    {
        strcat(words, *words == '\0' ? "TLSv" : ",TLSv");
        strcat(words, each->valuestring);
    }
    return *words == '\0' || set(mysql, MYSQL_OPT_TLS_VERSION, "MYSQL_OPT_TLS_VERSION", words, failure);
}

static bool is(const cJSON *word, const char *wanted)
{
    return cJSON_IsString(word) && strcmp(word->valuestring, wanted) == 0;
}

#ifdef MARIADB_BASE_VERSION
/* Verifying the chain and the host's name is one option here; where TLS is only required, its default holds. */
static bool set_mode(MYSQL *mysql, const cJSON *mode, const cJSON *verify, struct failure *failure)
{
    char enforced = !is(mode, "off"), verified = is(verify, "ca") || is(verify, "identity");
    return set(mysql, MYSQL_OPT_SSL_ENFORCE, "MYSQL_OPT_SSL_ENFORCE", &enforced, failure) &&
           (is(mode, "required") || set(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT,
                                        "MYSQL_OPT_SSL_VERIFY_SERVER_CERT", &verified, failure));
}
#else
static bool set_mode(MYSQL *mysql, const cJSON *mode, const cJSON *verify, struct failure *failure)
{
    unsigned number = is(mode, "off")          ? SSL_MODE_DISABLED
                      : is(verify, "ca")       ? SSL_MODE_VERIFY_CA
                      : is(verify, "identity") ? SSL_MODE_VERIFY_IDENTITY
                                               : SSL_MODE_REQUIRED;
    return set(mysql, MYSQL_OPT_SSL_MODE, "MYSQL_OPT_SSL_MODE", &number, failure);
}
#endif

bool options_apply(MYSQL *mysql, const struct terms *terms, struct failure *failure)
{
    const cJSON *tls = terms->tls, *mode = cJSON_GetObjectItem(tls, "mode");
    if (is(mode, "unset"))
        return set_own(mysql, terms->options, failure);
#define OF(name) cJSON_GetObjectItem(tls, name)
    return set_text(mysql, MYSQL_OPT_SSL_CA, "MYSQL_OPT_SSL_CA", OF("ca_file"), failure) &&
           set_text(mysql, MYSQL_OPT_SSL_CERT, "MYSQL_OPT_SSL_CERT", OF("certificate_file"), failure) &&
           set_text(mysql, MYSQL_OPT_SSL_KEY, "MYSQL_OPT_SSL_KEY", OF("key_file"), failure) &&
           set_versions(mysql, OF("versions"), failure) && set_mode(mysql, mode, OF("verify"), failure) &&
           set_own(mysql, terms->options, failure);
}
