/* When a warm-up has done its work: CPU time per operation no longer falls. */
#ifndef STEADY_H
#define STEADY_H

#include <stdbool.h>
#include <stddef.h>

/* Whether, of these costs per operation, one a slice, the median of the last five is at least 0.95 of the
 * median of the five before them (contract/README.md). An infinite cost is a slice in which nothing was done.
 */
bool is_steady(const double *costs_us, size_t count);

#endif
