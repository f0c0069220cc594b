/* When a warm-up has done its work: CPU time per operation no longer falls. */
#include "steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARED = 5 };
static const double STEADY_AT_LEAST = 0.95;

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(const double *costs_us)
{
    double sorted[COMPARED];
    memcpy(sorted, costs_us, sizeof sorted);
    qsort(sorted, COMPARED, sizeof *sorted, ascending);
    return sorted[COMPARED / 2];
}

bool is_steady(const double *costs_us, size_t count)
{
    if (count < 2 * COMPARED)
        return false;
    double before = median(costs_us + count - 2 * COMPARED), after = median(costs_us + count - COMPARED);
    return isfinite(after) && after >= STEADY_AT_LEAST * before;
}
