/* The measured window's numbers, in the contract's words. */
#ifndef REPORT_H
#define REPORT_H

#include "crew.h"

/* The clocks at one time: monotonic, and the process's CPU. */
struct moment {
    uint64_t at_ns, cpu_ns;
    double user_us, system_us;
};

struct moment moment_now(void);
cJSON *done_event(const struct crew *crew, const struct moment *begin, const struct moment *end);

#endif
