/* The clocks that a slice is timed by: monotonic, and the process's CPU. */
#ifndef CLOCKS_H
#define CLOCKS_H

#include <stdint.h>

/* All of them at one time. The CPU's total is from a nanosecond clock, its parts as the kernel splits it. */
struct moment {
    uint64_t at_ns, cpu_ns;
    double user_us, system_us;
};

uint64_t now_ns(void);
struct moment moment_now(void);

#endif
