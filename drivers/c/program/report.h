/* The measured window's numbers, in the contract's words. */
#ifndef REPORT_H
#define REPORT_H

#include "window.h"

/* What was opened: connections, for the library does not report the rest. */
void add_counts(cJSON *event, const char *name, int64_t connections);

cJSON *done_event(const struct crew *crew, const struct window *window);

#endif
