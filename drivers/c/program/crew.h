/* All workers, each a thread of its own, set to work together for one span of time after the other. */
#ifndef CREW_H
#define CREW_H

#include <semaphore.h>

#include "clocks.h"
#include "worker.h"

struct crew;

/* A worker's thread: it waits at `gate`, does what the crew is set to do, and waits again. */
struct hand {
    struct crew *crew;
    struct worker *worker;
    sem_t gate;
};

struct crew {
    struct shared shared;
    struct worker *workers;
    struct hand *hands;
    size_t count;
    void (*task)(struct crew *, struct worker *);
    uint64_t until_ns;
    _Atomic size_t working;
    struct moment finished; /* when the last worker had done its task */
    int all_done;           /* an eventfd: it says so */
};

/* Makes the workers and their threads, which stay. The crew's `count` and its job are there before. */
void crew_make(struct crew *crew);

/* Lets every worker do `task` and waits for all; `look` is called once a second. The process ends at once
 * when standard input does, or when one waits for longer than the job allows. */
void crew_run(struct crew *crew, void (*task)(struct crew *, struct worker *), void (*look)(struct crew *));

#endif
