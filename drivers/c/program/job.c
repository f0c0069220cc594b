/* The job as it is read from one line of JSON, checked at the door. */
#include "job.h"

#include <stdio.h>
#include <string.h>

#include "failure.h"
#include "fields.h"

static void read_endpoint(struct job *job, cJSON *endpoint)
{
    const char *kind = take_text(endpoint, "kind");
    if (strcmp(kind, "tcp") == 0) {
        job->host = take_text(endpoint, "host");
        job->port = (unsigned)take_integer(endpoint, "port");
    } else if (strcmp(kind, "unix") == 0) {
        job->socket_path = take_text(endpoint, "path");
    } else {
        refuse("endpoint.kind is neither tcp nor unix: %s", kind);
    }
    nothing_left(endpoint, "endpoint");
}

static void list_versions(struct tls *tls, const char *lowest, const char *highest)
{
    static const char *const versions[] = {"1.0", "1.1", "1.2", "1.3"};
    bool within = lowest == NULL;
    size_t length = 0;
    if (lowest == NULL && highest == NULL)
        return;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        within = within || strcmp(versions[i], lowest) == 0;
        if (within)
            length += (size_t)snprintf(tls->versions + length, sizeof tls->versions - length, "%sTLSv%s",
                                       length > 0 ? "," : "", versions[i]);
        if (highest != NULL && strcmp(versions[i], highest) == 0)
            return;
    }
    if (!within || highest != NULL)
        refuse("tls: a version of this job is unknown");
}

static void read_tls_on(struct job *job, cJSON *document)
{
    static const char *const untold[] = {"cipher_list", "ciphersuites", "groups",     "resumption",
                                         "library",     "weak_dh",      "keylog_file"};
    struct tls *tls = &job->tls;
    tls->mode = TLS_ON;
    for (size_t i = 0; i < sizeof untold / sizeof *untold; i++)
        refuse_field(document, untold[i], "this driver is not told of it");
    const char *server_name = take_text_or_null(document, "server_name");
    if (server_name != NULL && (job->host == NULL || strcmp(server_name, job->host) != 0))
        refuse("tls.server_name: this driver verifies the host that it connects to, and no other");
    const char *lowest = take_text_or_null(document, "min_version");
    list_versions(tls, lowest, take_text_or_null(document, "max_version"));
    const char *verify = take_text_or_null(document, "verify");
    if (verify != NULL && strcmp(verify, "none") != 0)
        tls->verify = strcmp(verify, "identity") == 0 ? VERIFY_IDENTITY : VERIFY_CA;
    tls->ca_file = take_text_or_null(document, "ca_file");
    tls->certificate_file = take_text_or_null(document, "certificate_file");
    tls->key_file = take_text_or_null(document, "key_file");
}

static void read_tls(struct job *job, cJSON *document)
{
    const char *mode = take_text(document, "mode");
    if (strcmp(mode, "unset") == 0)
        job->tls.mode = TLS_UNSET;
    else if (strcmp(mode, "required") == 0)
        job->tls.mode = TLS_REQUIRED;
    else if (strcmp(mode, "off") == 0)
        job->tls.mode = TLS_OFF;
    else if (strcmp(mode, "on") == 0)
        read_tls_on(job, document);
    else
        refuse("tls.mode is not one of unset, required, off and on: %s", mode);
    if (job->tls.mode == TLS_UNSET || job->tls.mode == TLS_REQUIRED)
        job->tls.trusted_ca_file = take_text_or_null(document, "trusted_ca_file");
    nothing_left(document, "tls");
}

static void read_workload(struct job *job, cJSON *workload)
{
    refuse_field(workload, "mix", "a driver runs statements, not a mix of transactions");
    refuse_field(workload, "storm", "a driver runs statements, not a storm");
    const char *protocol = take_text_or_null(workload, "protocol");
    bool prepared = protocol != NULL && strcmp(protocol, "prepared") == 0;
    job->reconnect = cJSON_IsTrue(take_or_null(workload, "reconnect"));
    job->on_connect = take_or_null(workload, "on_connect");
    cJSON *statements = take(workload, "statements"), *each;
    job->statements = allocate((size_t)cJSON_GetArraySize(statements) * sizeof *job->statements);
    cJSON_ArrayForEach(each, statements)
    {
        struct statement *made = &job->statements[job->statement_count++];
        statement_compile(made, each, prepared);
        if (!made->is_select)
            job->row_samples = 0;
    }
    if (job->statement_count == 0)
        refuse("the workload has no statements");
    nothing_left(workload, "workload");
}

static void read_driver(struct job *job, cJSON *driver)
{
    if (driver == NULL)
        return;
    job->options = take_or_null(driver, "options");
    job->steady_within_s = take_number(driver, "steady_within_s", 0);
    if (take_number(driver, "batch", 1) > 1)
        refuse("batch: libmariadb and libmysqlclient hand over one statement at a time here");
    nothing_left(driver, "driver");
}

void job_read(struct job *job, const char *line)
{
    cJSON *document = cJSON_Parse(line);
    if (!cJSON_IsObject(document))
        refuse("the job is no JSON object");
    if (take_integer(document, "schema") != 2)
        refuse("the job is of another version of the contract than 2, which this client knows");
    read_endpoint(job, take(document, "endpoint"));
    cJSON *account = take(document, "account");
    job->user = take_text(account, "user");
    job->password = take_text(account, "password");
    job->database = take_text_or_null(account, "database");
    nothing_left(account, "account");
    read_tls(job, take(document, "tls"));
    job->row_samples = (size_t)take_number(document, "row_samples", 16);
    read_workload(job, take(document, "workload"));
    cJSON *schedule = take_or_null(document, "schedule");
    if (schedule != NULL && strcmp(take_text(schedule, "mode"), "closed") != 0)
        refuse("a driver works in a closed loop only");
    refuse_field(document, "reset", "a driver does all operations in one go and puts no data back");
    job->connections = (size_t)take_integer(document, "connections");
    job->cpus = take_or_null(document, "cpus");
    job->warmup_s = take_number(document, "warmup_s", 0.1);
    job->duration_s = take_number(document, "duration_s", 1);
    job->operations = (int64_t)take_number(document, "operations", -1);
    job->timeout_s = take_number(document, "timeout_s", 10);
    job->seed = (uint64_t)take_number(document, "seed", 0);
    read_driver(job, take_or_null(document, "driver"));
    take_or_null(document, "rounds");
    take_or_null(document, "threads");
    take_or_null(document, "source_addresses");
    take_or_null(document, "attributes");
    nothing_left(document, "the job");
}
