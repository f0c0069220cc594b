/* The window: what was done in each slice, and in all of them together. */
#include "window.h"

#include "report.h"

struct sums sums_of(const struct crew *crew)
{
    struct sums sums = {0};
    for (size_t i = 0; i < crew->count; i++) {
        const struct tally *tally = &crew->workers[i].tally;
        sums.started += tally->started;
        sums.operations += tally->operations;
        sums.errors += tally->errors;
        sums.connections += tally->connections;
        sums.latency_ns += tally->latency_ns;
    }
    return sums;
}

void window_begin(struct window *window, const struct crew *crew)
{
    window->begin = moment_now();
    window->before = sums_of(crew);
}

double window_passed_s(const struct window *window)
{
    return window->elapsed_s + (double)(now_ns() - window->begin.at_ns) / 1e9;
}

cJSON *window_end(struct window *window, const struct crew *crew, double length_s)
{
    const struct moment *begin = &window->begin, *end = &crew->finished;
    const struct sums *before = &window->before, now = sums_of(crew);
    double elapsed_s = now.started > before->started ? (double)(end->at_ns - begin->at_ns) / 1e9 : length_s;
    double cpu_us = (double)(end->cpu_ns - begin->cpu_ns) / 1e3;
    window->elapsed_s += elapsed_s;
    window->cpu_us += cpu_us;
    window->user_us += end->user_us - begin->user_us;
    window->system_us += end->system_us - begin->system_us;
    window->slices++;
    cJSON *event = cJSON_CreateObject();
    cJSON_AddStringToObject(event, "event", "slice");
    cJSON_AddNumberToObject(event, "elapsed_s", elapsed_s);
    cJSON_AddNumberToObject(event, "operations", (double)(now.operations - before->operations));
    cJSON_AddNumberToObject(event, "latency_sum_s", (double)(now.latency_ns - before->latency_ns) / 1e9);
    cJSON_AddNumberToObject(event, "cpu_us", cpu_us);
    add_counts(event, "counts", now.connections - before->connections);
    return event;
}
