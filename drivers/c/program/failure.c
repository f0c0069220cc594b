/* What went wrong, in the contract's words, and how it is told. */
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *fault_of(const char *kind)
{
    static const char *const faults[][2] = {
        {"bad_job", "job"},        {"access_denied", "job"}, {"resolve", "job"},
        {"connect", "network"},    {"timeout", "network"},   {"limits", "client"},
        {"internal", "client"},    {"no_tls", "server"},     {"tls_handshake", "server"},
        {"certificate", "server"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(faults[i][0], kind) == 0)
            return faults[i][1];
    return "server";
}

void failure_say(struct failure *failure, const char *kind, const char *format, ...)
{
    va_list arguments;
    failure->kind = kind;
    failure->code = 0;
    failure->lost = true;
    va_start(arguments, format);
    vsnprintf(failure->message, sizeof failure->message, format, arguments);
    va_end(arguments);
}

void say(cJSON *event)
{
    char *text = cJSON_PrintUnformatted(event);
    if (text == NULL || puts(text) == EOF || fflush(stdout) == EOF)
        _exit(1);
    cJSON_free(text);
    cJSON_Delete(event);
}

_Noreturn void die(const struct failure *failure)
{
    cJSON *event = cJSON_CreateObject();
    cJSON_AddStringToObject(event, "event", "error");
    cJSON_AddStringToObject(event, "kind", failure->kind);
    cJSON_AddStringToObject(event, "fault", fault_of(failure->kind));
    cJSON_AddBoolToObject(event, "fatal", true);
    cJSON_AddStringToObject(event, "message", failure->message);
    if (failure->code != 0)
        cJSON_AddNumberToObject(event, "code", failure->code);
    fprintf(stderr, "%s\n", failure->message);
    say(event);
    _exit(1);
}

_Noreturn void refuse(const char *format, ...)
{
    struct failure failure = {.kind = "bad_job"};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure.message, sizeof failure.message, format, arguments);
    va_end(arguments);
    die(&failure);
}

void *allocate(size_t bytes)
{
    static const struct failure none = {.kind = "limits", .message = "this machine has no memory left"};
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        die(&none);
    return memory;
}
