/* What the laboratory says on standard input, line by line. The process ends at once when that ends. */
#include "laboratory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "statement.h"

static const double LONGEST_S = 365.0 * 24 * 3600; /* no time in the contract is longer */

static struct text arrived;

enum order order_of(const char *line, double *length_s)
{
    char word[5] = "", *end;
    size_t length;
    while (isspace((unsigned char)*line))
        line++;
    length = strcspn(line, " \t\r");
    if (length > 3)
        return NO_ORDER;
    memcpy(word, line, length);
    line += length;
    *length_s = strtod(line, &end);
    bool has_number = end != line;
    while (isspace((unsigned char)*end))
        end++;
    if (strcmp(word, "end") == 0 && !has_number && *end == '\0')
        return END;
    if (strcmp(word, "go") != 0)
        return NO_ORDER;
    /* What is no number (NaN) is neither more nor less. */
    return has_number && *end == '\0' && *length_s > 0 && *length_s <= LONGEST_S ? GO : BAD_GO;
}

void take_in(void)
{
    char bytes[4096];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0)
        _exit(1);
    text_append(&arrived, bytes, (size_t)got);
}

char *read_line(void)
{
    char *end;
    while (arrived.length == 0 || (end = memchr(arrived.bytes, '\n', arrived.length)) == NULL)
        take_in();
    size_t length = (size_t)(end - arrived.bytes);
    char *line = strndup(arrived.bytes, length);
    arrived.length -= length + 1;
    memmove(arrived.bytes, end + 1, arrived.length);
    return line;
}

enum order next_order(double *length_s)
{
    for (;;) {
        char *line = read_line();
        enum order order = order_of(line, length_s);
        if (order == BAD_GO)
            refuse("go needs the length of a slice in seconds, a year at most: %s", line);
        free(line);
        if (order != NO_ORDER)
            return order;
    }
}

void wait_for_end(void)
{
    char bytes[256];
    while (read(STDIN_FILENO, bytes, sizeof bytes) > 0)
        ;
}
