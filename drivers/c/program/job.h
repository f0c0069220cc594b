/* The job as it is read from one line of JSON, checked at the door. */
#ifndef JOB_H
#define JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "statement.h"

enum tls_mode { TLS_UNSET, TLS_REQUIRED, TLS_OFF, TLS_ON };
enum verify { VERIFY_NONE, VERIFY_CA, VERIFY_IDENTITY };

struct tls {
    enum tls_mode mode;
    enum verify verify;
    char versions[40]; /* as the libraries take them: TLSv1.2,TLSv1.3; empty where nothing is said */
    const char *trusted_ca_file, *ca_file, *certificate_file, *key_file;
};

struct job {
    const char *host, *socket_path;
    unsigned port;
    const char *user, *password, *database;
    struct tls tls;
    bool reconnect;
    struct statement *statements;
    size_t statement_count;
    const cJSON *on_connect, *cpus, *options;
    size_t connections;
    double warmup_s, duration_s, timeout_s, steady_within_s;
    int64_t operations; /* -1 for as many as the time allows */
    uint64_t seed;
    size_t row_samples; /* 0 where a statement changes data */
};

/* Reads the job; a bad one ends the process. */
void job_read(struct job *job, const char *line);

#endif
