/* What went wrong, in the contract's words, and how it is told. */
#ifndef FAILURE_H
#define FAILURE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

enum { WORDS_SIZE = 1024 };

/* A failure: `code` is the MySQL error number, 0 for none; `lost` says that the connection is of no more use.
 */
struct failure {
    const char *kind;
    unsigned code;
    bool lost;
    char message[WORDS_SIZE];
};

/* Fills a failure of this kind with a sentence. */
void failure_say(struct failure *failure, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes one event as a line; takes the JSON. The process ends when nobody reads it. */
void say(cJSON *event);

/* Tells a fatal failure and ends the process with status 1. */
_Noreturn void die(const struct failure *failure);

/* A fatal bad_job with this sentence. */
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* malloc of zeroed memory that ends the process where there is none. */
void *allocate(size_t bytes);

#endif
