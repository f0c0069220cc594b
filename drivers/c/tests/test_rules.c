/* The rules that need no server: steady warm-ups, statements and their literals, and a histogram for Python
 * to read. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "statement.h"
#include "steady.h"

static void fill(double *costs_us, double before, double after)
{
    for (int i = 0; i < 10; i++)
        costs_us[i] = i < 5 ? before : after;
}

static void test_steady(void)
{
    double costs_us[10];
    fill(costs_us, 10, 10);
    assert(!is_steady(costs_us, 9));
    assert(is_steady(costs_us, 10));
    fill(costs_us, 10, 9.4);
    assert(!is_steady(costs_us, 10));
    fill(costs_us, 10, 9.6);
    assert(is_steady(costs_us, 10));
    fill(costs_us, INFINITY, INFINITY);
    assert(!is_steady(costs_us, 10));
}

static void test_statement(void)
{
    static const char document[] = "{\"sql\": \"{{{id}, {high}, {word}, {back}\", \"parameters\": {"
                                   "\"high\": {\"kind\": \"offset\", \"of\": \"id\", \"by\": 9},"
                                   "\"id\": {\"kind\": \"sequence\", \"first\": 5, \"last\": 5},"
                                   "\"word\": {\"kind\": \"one_of\", \"values\": [\"it's\"]},"
                                   "\"back\": {\"kind\": \"one_of\", \"values\": [\"a\\\\\"]}}}";
    struct statement statement = {0};
    struct value values[4];
    struct text text = {0};
    uint64_t random = 1;
    char scratch[64], *at = scratch;
    statement_compile(&statement, cJSON_Parse(document), false);
    assert(statement_draw(&statement, values, &random, &at));
    statement_write(&statement, values, &text);
    assert(strcmp(text.bytes, "{5, 14, 'it''s', _utf8mb4 0x615c") == 0);
    statement_write(&statement, NULL, &text);
    assert(strcmp(text.bytes, "{?, ?, ?, ?") == 0);
    at = scratch;
    assert(!statement_draw(&statement, values, &random, &at));
}

/* Prints the encoding of every number of standard input. */
int main(void)
{
    struct histogram histogram = {0};
    uint64_t value_ns;
    test_steady();
    test_statement();
    while (scanf("%" SCNu64, &value_ns) == 1)
        histogram_record(&histogram, value_ns);
    puts(histogram_encoded(&histogram));
    return 0;
}
