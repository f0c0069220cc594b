/* Statements with placeholders, and the values that are drawn for each run of one. */
#include "statement.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "failure.h"
#include "fields.h"

static uint64_t next_random(uint64_t *state)
{
    uint64_t mixed = (*state += 0x9e3779b97f4a7c15ULL); /* SplitMix64 */
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
}

static uint64_t below(uint64_t *state, uint64_t bound)
{
    return (uint64_t)((unsigned __int128)next_random(state) * bound >> 64);
}

static size_t find(const struct statement *statement, const char *name, size_t length)
{
    for (size_t i = 0; i < statement->parameter_count; i++) {
        const char *known = statement->parameters[i].name;
        if (known != NULL && strlen(known) == length && strncmp(known, name, length) == 0)
            return i;
    }
    refuse("placeholder {%.*s} has no parameter of that name", (int)length, name);
}

static void read_texts(struct parameter *made, cJSON *values)
{
    made->value_count = (size_t)cJSON_GetArraySize(values);
    made->values = allocate(made->value_count * sizeof *made->values);
    if (made->value_count == 0)
        refuse("one_of has no values");
    for (size_t i = 0; i < made->value_count; i++) {
        made->values[i] = cJSON_GetStringValue(cJSON_GetArrayItem(values, (int)i));
        if (made->values[i] == NULL)
            refuse("one_of has a value that is no text");
        size_t size = strlen(made->values[i]) + 1;
        made->text_size = size > made->text_size ? size : made->text_size;
    }
}

static void read_parameter(struct statement *statement, struct parameter *made, cJSON *document)
{
    const char *kind = take_text(document, "kind");
    if (strcmp(kind, "uniform_int") == 0) {
        made->kind = UNIFORM_INT;
        made->low = take_integer(document, "low");
        made->high = take_integer(document, "high");
        if (made->low > made->high)
            refuse("uniform_int has nothing between %" PRId64 " and %" PRId64, made->low, made->high);
    } else if (strcmp(kind, "sequence") == 0) {
        made->kind = SEQUENCE;
        atomic_init(&made->next, take_integer(document, "first"));
        made->high = take_integer(document, "last");
    } else if (strcmp(kind, "offset") == 0) {
        const char *of = take_text(document, "of");
        made->kind = OFFSET;
        made->of = find(statement, of, strlen(of));
        made->low = take_integer(document, "by");
    } else if (strcmp(kind, "digits") == 0) {
        made->kind = DIGITS;
        made->template = take_text(document, "template");
        made->text_size = strlen(made->template) + 1;
    } else if (strcmp(kind, "one_of") == 0) {
        made->kind = ONE_OF;
        read_texts(made, take(document, "values"));
    } else {
        refuse("a parameter is of a kind that this client does not know: %s", kind);
    }
    nothing_left(document, "parameter");
}

/* Cuts the SQL at its placeholders; a doubled brace is one. */
static void cut(struct statement *statement, const char *sql)
{
    size_t most = strlen(sql) + 1;
    statement->texts = allocate((most + 1) * sizeof *statement->texts);
    statement->slots = allocate(most * sizeof *statement->slots);
    char *text = allocate(most), *end = text;
    for (const char *at = sql; *at != '\0'; at++) {
        if ((*at == '{' || *at == '}') && at[1] == *at) {
            *end++ = *at++;
        } else if (*at == '{') {
            const char *close = strchr(at, '}');
            if (close == NULL)
                refuse("a placeholder is not closed in: %s", sql);
            statement->texts[statement->slot_count] = text;
            statement->slots[statement->slot_count++] = find(statement, at + 1, (size_t)(close - at - 1));
            text = end = allocate(most);
            at = close;
        } else if (*at == '}') {
            refuse("a brace stands alone (write it twice) in: %s", sql);
        } else {
            *end++ = *at;
        }
    }
    statement->texts[statement->slot_count] = text;
}

void statement_compile(struct statement *statement, cJSON *document, bool prepared)
{
    const char *sql = take_text(document, "sql");
    cJSON *parameters = take_or_null(document, "parameters");
    const char *own = take_text_or_null(document, "protocol");
    cJSON *repeat = take_or_null(document, "repeat");
    nothing_left(document, "statement");
    statement->repeat = repeat == NULL ? 1 : (int)cJSON_GetNumberValue(repeat);
    statement->prepared = own == NULL ? prepared : strcmp(own, "prepared") == 0;
    statement->parameter_count = (size_t)cJSON_GetArraySize(parameters);
    statement->parameters = allocate(statement->parameter_count * sizeof *statement->parameters);
    size_t number = 0;
    cJSON *each;
    cJSON_ArrayForEach(each, parameters) statement->parameters[number++].name = each->string;
    number = 0;
    cJSON_ArrayForEach(each, parameters) read_parameter(statement, &statement->parameters[number++], each);
    cut(statement, sql);
    statement->is_select =
        strncasecmp(statement->texts[0] + strspn(statement->texts[0], " \t\n"), "SELECT", 6) == 0;
}

static void draw_text(const struct parameter *parameter, char *text, uint64_t *random)
{
    if (parameter->kind == ONE_OF) {
        strcpy(text, parameter->values[below(random, parameter->value_count)]);
        return;
    }
    for (const char *at = parameter->template; *at != '\0'; at++)
        *text++ = *at == '#' ? (char)('0' + below(random, 10)) : *at;
    *text = '\0';
}

bool statement_draw(struct statement *statement, struct value *values, uint64_t *random, char **scratch)
{
    for (size_t i = 0; i < statement->parameter_count; i++) {
        struct parameter *parameter = &statement->parameters[i];
        struct value *value = &values[i];
        *value = (struct value){.is_text = parameter->text_size > 0};
        if (parameter->kind == UNIFORM_INT) {
            uint64_t span = (uint64_t)parameter->high - (uint64_t)parameter->low + 1;
            value->number =
                (int64_t)((uint64_t)parameter->low + (span == 0 ? next_random(random) : below(random, span)));
        } else if (parameter->kind == SEQUENCE) {
            value->number = atomic_fetch_add(&parameter->next, 1);
            if (value->number > parameter->high)
                return false;
        } else if (value->is_text) {
            draw_text(parameter, *scratch, random);
            value->text = *scratch;
            *scratch += parameter->text_size;
        }
    }
    /* What an offset counts from may be an offset itself, which stands anywhere. */
    for (size_t round = 0; round < statement->parameter_count; round++)
        for (size_t i = 0; i < statement->parameter_count; i++)
            if (statement->parameters[i].kind == OFFSET)
                values[i].number = values[statement->parameters[i].of].number + statement->parameters[i].low;
    return true;
}

size_t statement_scratch(const struct statement *statement)
{
    size_t bytes = 0;
    for (size_t i = 0; i < statement->parameter_count; i++)
        bytes += statement->parameters[i].text_size;
    return bytes;
}

void text_append(struct text *text, const char *bytes, size_t length)
{
    if (text->length + length + 1 > text->size) {
        text->size = 2 * (text->length + length + 1);
        text->bytes = realloc(text->bytes, text->size);
        if (text->bytes == NULL)
            abort();
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

/* A literal that means its text whatever the session's sql_mode says of backslashes. */
static void append_literal(struct text *text, const char *value)
{
    char two[3];
    if (strchr(value, '\\') != NULL) {
        text_append(text, "_utf8mb4 0x", 11);
        for (; *value != '\0'; value++) {
            snprintf(two, sizeof two, "%02x", (unsigned char)*value);
            text_append(text, two, 2);
        }
        return;
    }
    text_append(text, "'", 1);
    for (; *value != '\0'; value++)
        text_append(text, *value == '\'' ? "''" : value, *value == '\'' ? 2 : 1);
    text_append(text, "'", 1);
}

void statement_write(const struct statement *statement, const struct value *values, struct text *text)
{
    char number[24];
    text->length = 0;
    for (size_t i = 0; i <= statement->slot_count; i++) {
        text_append(text, statement->texts[i], strlen(statement->texts[i]));
        if (i == statement->slot_count)
            break;
        const struct value *value = values == NULL ? NULL : &values[statement->slots[i]];
        if (value == NULL) {
            text_append(text, "?", 1);
        } else if (value->is_text) {
            append_literal(text, value->text);
        } else {
            int length = snprintf(number, sizeof number, "%" PRId64, value->number);
            text_append(text, number, (size_t)length);
        }
    }
}
