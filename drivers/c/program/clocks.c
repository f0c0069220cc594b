/* The clocks that a slice is timed by: monotonic, and the process's CPU. */
#include "clocks.h"

#include <sys/resource.h>
#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double microseconds(struct timeval time) { return (double)time.tv_sec * 1e6 + (double)time.tv_usec; }

uint64_t now_ns(void) { return read_ns(CLOCK_MONOTONIC); }

struct moment moment_now(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (struct moment){
        .at_ns = now_ns(),
        .cpu_ns = read_ns(CLOCK_PROCESS_CPUTIME_ID),
        .user_us = microseconds(used.ru_utime),
        .system_us = microseconds(used.ru_stime),
    };
}
