/* Statements with placeholders, and the values that are drawn for each run of one. */
#ifndef STATEMENT_H
#define STATEMENT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum draw_kind { UNIFORM_INT, SEQUENCE, OFFSET, DIGITS, ONE_OF };

/* How a value is drawn. A sequence is shared by all connections. */
struct parameter {
    char *name;
    enum draw_kind kind;
    int64_t low, high;
    _Atomic int64_t next;
    size_t of;
    const char *template;
    char **values;
    size_t value_count;
    size_t text_size; /* the longest text and its end, 0 for a number */
};

/* Texts and values in turn: `texts[0]`, the value of `slots[0]`, `texts[1]` ... */
struct statement {
    char **texts;
    size_t *slots;
    size_t slot_count;
    struct parameter *parameters;
    size_t parameter_count;
    int repeat;
    bool prepared;
    bool is_select;
};

struct value {
    bool is_text;
    int64_t number;
    const char *text;
};

/* Compiles a statement of the job; a bad one ends the process. */
void statement_compile(struct statement *statement, cJSON *document, bool prepared);

/* Draws a value for each parameter, texts into `*scratch`; false when a sequence has run out. */
bool statement_draw(struct statement *statement, struct value *values, uint64_t *random, char **scratch);

/* Scratch memory that the texts of one draw take. */
size_t statement_scratch(const struct statement *statement);

/* Text that grows. */
struct text {
    char *bytes;
    size_t length, size;
};

void text_append(struct text *text, const char *bytes, size_t length);

/* The statement with the values put in, or with a question mark for each where `values` is NULL. */
void statement_write(const struct statement *statement, const struct value *values, struct text *text);

#endif
