// Asks a database five times by MySQL's or MariaDB's C library, as an advice says; WHAT, PORT, CA_FILE and the password are in the environment.
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 5 };

static void fail(MYSQL *handle) {
    fprintf(stderr, "%s\n", mysql_error(handle));
    exit(1);
}

#ifdef MARIADB_PACKAGE_VERSION
static void verify(MYSQL *handle, const char *ca_file) {
    my_bool yes = 1;
    mysql_optionsv(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
    mysql_optionsv(handle, MYSQL_OPT_SSL_CA, ca_file);
}
static void remember(MYSQL *handle, char **session) {
    (void)handle;
    (void)session;
}
static void offer(MYSQL *handle, char *session) {
    (void)handle;
    (void)session;
}
#else
static void verify(MYSQL *handle, const char *ca_file) {
    unsigned mode = SSL_MODE_VERIFY_IDENTITY;
    mysql_options(handle, MYSQL_OPT_SSL_MODE, &mode);
    mysql_options(handle, MYSQL_OPT_SSL_CA, ca_file);
}
static void remember(MYSQL *handle, char **session) {
    unsigned length = 0;
    char *found = mysql_get_ssl_session_data(handle, 0, &length);
    if (found == NULL) {
        fail(handle);
    }
    free(*session);
    *session = strdup(found);
    mysql_free_ssl_session_data(handle, found);
}
static void offer(MYSQL *handle, char *session) {
    if (session != NULL) {
        mysql_options(handle, MYSQL_OPT_SSL_SESSION_DATA, session);
    }
}
#endif

static MYSQL *opened(char *session) {
    MYSQL *handle = mysql_init(NULL);
    verify(handle, getenv("CA_FILE"));
    offer(handle, session);
    if (mysql_real_connect(handle, "127.0.0.1", "ann", getenv("TLSTAX_PASSWORD"), "lent",
                           (unsigned)atoi(getenv("PORT")), NULL, 0) == NULL) {
        fail(handle);
    }
    return handle;
}

static void ask(MYSQL *handle) {
    if (mysql_query(handle, "SELECT 1") != 0) {
        fail(handle);
    }
    mysql_free_result(mysql_store_result(handle));
}

static void keep(void) {
    MYSQL *handle = opened(NULL);
    for (int time = 0; time < TIMES; time++) {
        ask(handle);
        if (mysql_reset_connection(handle) != 0) {
            fail(handle);
        }
    }
    mysql_close(handle);
}

static void resume(void) {
    char *session = NULL;
    for (int time = 0; time < TIMES; time++) {
        MYSQL *handle = opened(session);
        ask(handle);
        remember(handle, &session);
        mysql_close(handle);
    }
    free(session);
}

int main(void) {
    if (strcmp(getenv("WHAT"), "pool") == 0) {
        keep();
    } else {
        resume();
    }
    return 0;
}
