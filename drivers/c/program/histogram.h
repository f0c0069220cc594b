/* Latencies counted in HdrHistogram's buckets, and its V2 encoding (DEFLATE, base64). */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

/* One histogram of nanoseconds with three significant digits. Zeroed memory is an empty one. */
struct histogram {
    uint32_t *counts;
    uint64_t total;
};

void histogram_record(struct histogram *histogram, uint64_t value_ns);
void histogram_add(struct histogram *sum, const struct histogram *part);
void histogram_clear(struct histogram *histogram);

/* The encoding, to be freed. */
char *histogram_encoded(const struct histogram *histogram);

#endif
