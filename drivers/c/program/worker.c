/* A thread's work: operations on a connection of its own, one after the other, each timed. */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

enum { FAILURES_IN_A_ROW = 100 };

const char *const phase_names[PHASES] = {"connect", "first_query", "query", "close", "operation"};

void worker_make(struct worker *worker, struct shared *shared, size_t number)
{
    const struct job *job = shared->job;
    size_t values = 0, scratch = 0;
    for (size_t i = 0; i < job->statement_count; i++) {
        size_t times = (size_t)job->statements[i].repeat;
        values += times * job->statements[i].parameter_count;
        scratch += times * statement_scratch(&job->statements[i]);
    }
    worker->shared = shared;
    worker->random = job->seed * 0x9e3779b97f4a7c15ULL + (number << 32);
    worker->values = allocate(values * sizeof *worker->values);
    worker->scratch = allocate(scratch);
    worker->samples = cJSON_CreateArray();
    worker->samples_wanted =
        job->row_samples / job->connections + (number < job->row_samples % job->connections);
}

void worker_clear(struct worker *worker, bool measuring)
{
    struct tally *tally = &worker->tally;
    for (size_t i = 0; i < PHASES; i++)
        histogram_clear(&tally->histograms[i]);
    tally->started = tally->connections = 0;
    tally->latency_ns = 0;
    tally->operations = tally->errors = 0;
    memset(tally->kinds, 0, sizeof tally->kinds);
    worker->measuring = measuring;
}

bool worker_open(struct worker *worker, struct failure *failure)
{
    if (!session_open(&worker->session, worker->shared->job, failure))
        return false;
    worker->opened++;
    worker->tally.connections++;
    return true;
}

static uint64_t record(struct worker *worker, enum phase phase, uint64_t begun_ns)
{
    uint64_t took_ns = now_ns() - begun_ns;
    histogram_record(&worker->tally.histograms[phase], took_ns);
    return took_ns;
}

/* All values of an operation; false when a sequence has run out. */
static bool draw(struct worker *worker)
{
    const struct job *job = worker->shared->job;
    struct value *values = worker->values;
    char *scratch = worker->scratch;
    for (size_t i = 0; i < job->statement_count; i++) {
        for (int times = 0; times < job->statements[i].repeat; times++) {
            if (!statement_draw(&job->statements[i], values, &worker->random, &scratch))
                return false;
            values += job->statements[i].parameter_count;
        }
    }
    return true;
}

static cJSON *new_sample(struct worker *worker, const struct statement *statement, const struct value *values)
{
    if (!worker->measuring || (size_t)cJSON_GetArraySize(worker->samples) >= worker->samples_wanted)
        return NULL;
    statement_write(statement, values, &worker->sql);
    cJSON *sample = cJSON_CreateObject();
    cJSON_AddStringToObject(sample, "sql", worker->sql.bytes);
    cJSON_AddItemToArray(worker->samples, sample);
    return cJSON_AddArrayToObject(sample, "rows");
}

static bool run(struct worker *worker, size_t number, const struct value *values, struct failure *failure)
{
    const struct job *job = worker->shared->job;
    const struct statement *statement = &job->statements[number];
    cJSON *rows = new_sample(worker, statement, values);
    uint64_t begun_ns = now_ns();
    bool ran;
    if (statement->prepared) {
        ran = session_execute(&worker->session, job, number, values, rows, failure);
    } else {
        statement_write(statement, values, &worker->sql);
        ran = session_say(&worker->session, worker->sql.bytes, worker->sql.length, rows, failure);
    }
    if (!ran && rows != NULL)
        cJSON_DeleteItemFromArray(worker->samples, cJSON_GetArraySize(worker->samples) - 1);
    if (ran)
        record(worker, worker->session.fresh ? FIRST_QUERY : QUERY, begun_ns);
    worker->session.fresh = false;
    return ran;
}

static bool run_all(struct worker *worker, struct failure *failure)
{
    const struct job *job = worker->shared->job;
    const struct value *values = worker->values;
    for (size_t i = 0; i < job->statement_count; i++) {
        for (int times = 0; times < job->statements[i].repeat; times++) {
            if (!run(worker, i, values, failure))
                return false;
            values += job->statements[i].parameter_count;
        }
    }
    return true;
}

static bool operate(struct worker *worker, struct failure *failure)
{
    const struct job *job = worker->shared->job;
    uint64_t begun_ns = now_ns();
    if (worker->session.mysql == NULL) {
        if (!worker_open(worker, failure))
            return false;
        if (job->reconnect)
            record(worker, CONNECT, begun_ns);
        if (!session_greet(&worker->session, job, failure))
            return false;
    }
    if (!run_all(worker, failure))
        return false;
    if (job->reconnect) {
        uint64_t said_ns = now_ns();
        session_close(&worker->session, job);
        record(worker, CLOSE, said_ns);
    }
    worker->tally.latency_ns += record(worker, OPERATION, begun_ns);
    return true;
}

static void count_error(struct tally *tally, const struct failure *failure)
{
    tally->errors++;
    for (size_t i = 0; i < MOST_ERRORS; i++) {
        struct error_count *place = &tally->kinds[i];
        if (place->kind == NULL || i == MOST_ERRORS - 1)
            *place = (struct error_count){failure->kind, failure->code, place->count};
        if (strcmp(place->kind, failure->kind) == 0 && place->code == failure->code) {
            place->count++;
            return;
        }
    }
}

/* Counts a failure and leaves the connection fit for the next operation. */
static void fail(struct worker *worker, const struct failure *failure)
{
    struct shared *shared = worker->shared;
    count_error(&worker->tally, failure);
    if (failure->lost || shared->job->reconnect)
        session_close(&worker->session, shared->job);
    if (atomic_fetch_add(&shared->failures_in_a_row, 1) + 1 < FAILURES_IN_A_ROW)
        return;
    if (!atomic_exchange(&shared->is_fatal, true))
        shared->fatal = *failure;
    shared->ended = true;
}

static bool may_start(struct shared *shared)
{
    if (shared->ended)
        return false;
    return !shared->bounded || atomic_fetch_sub(&shared->left, 1) > 0;
}

void worker_work(struct worker *worker, uint64_t until_ns)
{
    struct shared *shared = worker->shared;
    struct failure failure;
    while (now_ns() < until_ns && may_start(shared)) {
        if (!draw(worker)) {
            shared->ended = true;
            return;
        }
        worker->tally.started++;
        worker->busy_since_ns = now_ns();
        if (operate(worker, &failure)) {
            worker->tally.operations++;
            shared->failures_in_a_row = 0;
        } else {
            fail(worker, &failure);
        }
        worker->busy_since_ns = 0;
    }
}
