/* The window: what was done in each slice, and in all of them together. */
#ifndef WINDOW_H
#define WINDOW_H

#include "crew.h"

/* What was done since the warm-up, over all workers. */
struct sums {
    int64_t started, operations, errors, connections;
    uint64_t latency_ns;
};

struct window {
    double elapsed_s, cpu_us, user_us, system_us; /* within slices */
    size_t slices;
    struct moment begin; /* of the latest slice */
    struct sums before;  /* it */
};

struct sums sums_of(const struct crew *crew);

void window_begin(struct window *window, const struct crew *crew);

/* Seconds that have passed within slices, the present one among them. */
double window_passed_s(const struct window *window);

/* Ends a slice of this length; its event. */
cJSON *window_end(struct window *window, const struct crew *crew, double length_s);

#endif
