/* A thread's work: operations on a connection of its own, one after the other, each timed. */
#ifndef WORKER_H
#define WORKER_H

#include <stdatomic.h>

#include "clocks.h"
#include "driver.h"
#include "histogram.h"

enum phase { CONNECT, FIRST_QUERY, QUERY, CLOSE, OPERATION, PHASES };
enum { MOST_ERRORS = 32 };
extern const char *const phase_names[PHASES];

/* How often an error of one kind and code was met. */
struct error_count {
    const char *kind;
    unsigned code;
    int64_t count;
};

/* What a worker did in a slice of the warm-up, or in all of the window. */
struct tally {
    int64_t started, connections;
    uint64_t latency_ns; /* of the operations, together */
    _Atomic int64_t operations, errors;
    struct histogram histograms[PHASES];
    struct error_count kinds[MOST_ERRORS];
};

/* What all workers share. */
struct shared {
    const struct job *job;
    bool bounded;
    _Atomic int64_t left; /* operations that may still be started, where they are `bounded` */
    atomic_bool ended, is_fatal;
    _Atomic int failures_in_a_row;
    struct failure fatal;
};

struct worker {
    struct shared *shared;
    struct session session;
    struct tally tally;
    int64_t opened;
    uint64_t random;
    _Atomic uint64_t busy_since_ns; /* when it began what it waits for, 0 when nothing */
    size_t samples_wanted;
    cJSON *samples;
    struct value *values; /* of one operation, statement by statement */
    char *scratch;
    struct text sql;
    bool measuring;
};

void worker_make(struct worker *worker, struct shared *shared, size_t number);

/* Forgets what was done. */
void worker_clear(struct worker *worker, bool measuring);

/* Opens the worker's connection; false with the failure. */
bool worker_open(struct worker *worker, struct failure *failure);

/* Works until then, or until there is no more to do, or the job has failed. */
void worker_work(struct worker *worker, uint64_t until_ns);

#endif
