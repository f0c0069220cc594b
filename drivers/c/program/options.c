/* Options of the client library: the job's own, by the names of mysql.h, and those of TLS. */
#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "driver.h"

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
    refuse(LIBRARY " has no option %s that can be said here: take a name of mysql.h, such as %s", name,
           options[0].name);
}

static void check(const struct option *option, const char *word)
{
    char *end;
    bool flag = strcasecmp(word, "true") == 0 || strcasecmp(word, "false") == 0 || strcmp(word, "1") == 0 ||
                strcmp(word, "0") == 0;
    if (option->type == FLAG && !flag)
        refuse("%s is true or false, not %s", option->name, word);
    strtoul(word, &end, 10);
    if (option->type == NUMBER && (*word == '\0' || *end != '\0'))
        refuse("%s is a whole number, not %s", option->name, word);
}

void driver_check_options(const struct job *job)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, job->options) check(find(each->string), each->valuestring);
}

static void must(int status, MYSQL *mysql, const char *name)
{
    if (status != 0)
        refuse(LIBRARY " refuses %s: %s", name,
               mysql_errno(mysql) != 0 ? mysql_error(mysql) : "unknown option");
}

void options_apply(MYSQL *mysql, const cJSON *said)
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
        must(mysql_options(mysql, option->option, value), mysql, option->name);
    }
}

static void say_text(MYSQL *mysql, enum mysql_option option, const char *name, const char *text)
{
    if (text != NULL && *text != '\0')
        must(mysql_options(mysql, option, text), mysql, name);
}

#ifdef MARIADB_BASE_VERSION
/* Verifying the chain and the host's name is one option here; where TLS is only required, its default holds. */
static void say_mode(MYSQL *mysql, const struct tls *tls)
{
    char enforced = tls->mode != TLS_OFF, verified = tls->verify != VERIFY_NONE;
    must(mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &enforced), mysql, "MYSQL_OPT_SSL_ENFORCE");
    if (tls->mode == TLS_REQUIRED)
        return;
    must(mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verified), mysql,
         "MYSQL_OPT_SSL_VERIFY_SERVER_CERT");
}
#else
static void say_mode(MYSQL *mysql, const struct tls *tls)
{
    unsigned mode = tls->mode == TLS_OFF         ? SSL_MODE_DISABLED
                    : tls->verify == VERIFY_NONE ? SSL_MODE_REQUIRED
                    : tls->verify == VERIFY_CA   ? SSL_MODE_VERIFY_CA
                                                 : SSL_MODE_VERIFY_IDENTITY;
    must(mysql_options(mysql, MYSQL_OPT_SSL_MODE, &mode), mysql, "MYSQL_OPT_SSL_MODE");
}
#endif

void options_apply_tls(MYSQL *mysql, const struct tls *tls)
{
    if (tls->mode == TLS_UNSET)
        return;
    say_text(mysql, MYSQL_OPT_SSL_CA, "MYSQL_OPT_SSL_CA", tls->ca_file);
    say_text(mysql, MYSQL_OPT_SSL_CERT, "MYSQL_OPT_SSL_CERT", tls->certificate_file);
    say_text(mysql, MYSQL_OPT_SSL_KEY, "MYSQL_OPT_SSL_KEY", tls->key_file);
    say_text(mysql, MYSQL_OPT_TLS_VERSION, "MYSQL_OPT_TLS_VERSION", tls->versions);
    say_mode(mysql, tls);
}
