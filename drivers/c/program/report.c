/* The measured window's numbers, in the contract's words. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

void add_counts(cJSON *event, const char *name, int64_t connections)
{
    cJSON *counts = cJSON_AddObjectToObject(event, name);
    cJSON_AddNumberToObject(counts, "connections", (double)connections);
    cJSON_AddArrayToObject(counts, "handshakes");
    cJSON_AddObjectToObject(counts, "authentications");
}

static void add_histograms(cJSON *event, const struct crew *crew)
{
    cJSON *told = cJSON_AddObjectToObject(event, "histograms_ns");
    for (size_t phase = 0; phase < PHASES; phase++) {
        struct histogram sum = {0};
        for (size_t i = 0; i < crew->count; i++)
            histogram_add(&sum, &crew->workers[i].tally.histograms[phase]);
        if (sum.total > 0) {
            char *encoded = histogram_encoded(&sum);
            cJSON_AddStringToObject(told, phase_names[phase], encoded);
            free(encoded);
        }
        free(sum.counts);
    }
}

static cJSON *error_of(cJSON *errors, const struct error_count *met)
{
    cJSON *each;
    cJSON_ArrayForEach(each, errors)
    {
        const cJSON *code = cJSON_GetObjectItem(each, "code");
        unsigned known = cJSON_IsNumber(code) ? (unsigned)code->valuedouble : 0;
        if (known == met->code && strcmp(cJSON_GetObjectItem(each, "kind")->valuestring, met->kind) == 0)
            return each;
    }
    cJSON *error = cJSON_CreateObject();
    cJSON_AddStringToObject(error, "kind", met->kind);
    cJSON_AddItemToObject(error, "code", met->code == 0 ? cJSON_CreateNull() : cJSON_CreateNumber(met->code));
    cJSON_AddNumberToObject(error, "count", 0);
    cJSON_AddItemToArray(errors, error);
    return error;
}

static void add_errors(cJSON *event, const struct crew *crew)
{
    cJSON *errors = cJSON_AddArrayToObject(event, "errors");
    for (size_t i = 0; i < crew->count; i++) {
        const struct error_count *kinds = crew->workers[i].tally.kinds;
        for (size_t j = 0; j < MOST_ERRORS && kinds[j].kind != NULL; j++) {
            cJSON *count = cJSON_GetObjectItem(error_of(errors, &kinds[j]), "count");
            cJSON_SetNumberValue(count, count->valuedouble + (double)kinds[j].count);
        }
    }
}

static void add_samples(cJSON *event, const struct crew *crew)
{
    cJSON *samples = cJSON_AddArrayToObject(event, "row_samples");
    for (size_t i = 0; i < crew->count; i++) {
        cJSON *kept = crew->workers[i].samples, *sample;
        while ((sample = cJSON_DetachItemFromArray(kept, 0)) != NULL)
            cJSON_AddItemToArray(samples, sample);
    }
}

cJSON *done_event(const struct crew *crew, const struct window *window)
{
    const struct sums sums = sums_of(crew);
    int64_t lifetime = 0;
    for (size_t i = 0; i < crew->count; i++)
        lifetime += crew->workers[i].opened;
    cJSON *event = cJSON_CreateObject();
    cJSON_AddStringToObject(event, "event", "done");
    cJSON_AddNumberToObject(event, "elapsed_s", window->elapsed_s);
    cJSON_AddNumberToObject(event, "operations", (double)sums.operations);
    cJSON_AddNumberToObject(event, "scheduled", (double)sums.started);
    cJSON_AddNumberToObject(event, "skipped", 0);
    add_counts(event, "window", sums.connections);
    add_counts(event, "lifetime", lifetime);
    add_histograms(event, crew);
    cJSON *cpu = cJSON_AddObjectToObject(event, "cpu");
    cJSON_AddNumberToObject(cpu, "total_us", window->cpu_us);
    cJSON_AddNumberToObject(cpu, "user_us", window->user_us);
    cJSON_AddNumberToObject(cpu, "system_us", window->system_us);
    cJSON_AddNullToObject(event, "wire");
    add_errors(event, crew);
    add_samples(event, crew);
    return event;
}
