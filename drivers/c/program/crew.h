/* All workers, set to work together for a span of time, watched from the main thread. */
#ifndef CREW_H
#define CREW_H

#include "worker.h"

struct crew {
    struct shared shared;
    struct worker *workers;
    size_t count;
    uint64_t until_ns;
};

/* The next line of standard input, to be freed; the process ends where there is none. */
char *read_line(void);

/* Waits for the end of standard input. */
void wait_for_end(void);

/* Lets every worker do `task` in a thread of its own and waits for all; `look` is called once a second.
 * The process ends at once when standard input does, or when one waits for longer than the job allows. */
void crew_run(struct crew *crew, void (*task)(struct crew *, struct worker *), void (*look)(struct crew *));

#endif
