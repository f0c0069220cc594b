/* The rules that need no server: steady warm-ups, statements and their literals, what the laboratory orders,
 * and a histogram for Python to read. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "histogram.h"
#include "laboratory.h"
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

static void test_orders(void)
{
    static const char *const none[] = {"", "{}", "going 1", "the end", "end 1", "g"};
    static const char *const bad[] = {"go", "go soon", "go 0", "go -1", "go nan",
                                      "go inf", "go 1 2", "go 31536001"};
    double length_s;
    assert(order_of("go 0.02", &length_s) == GO && length_s == 0.02);
    assert(order_of("go 1e-3\r", &length_s) == GO && length_s == 1e-3);
    assert(order_of(" end ", &length_s) == END);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert(order_of(none[i], &length_s) == NO_ORDER);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert(order_of(bad[i], &length_s) == BAD_GO);
}

/* Lines are cut out of what arrives, however it arrives. */
static void test_lines(void)
{
    static const char first[] = "\ngo 0.5\ngo", second[] = " 2\nend\n";
    int input[2];
    double length_s;
    assert(pipe(input) == 0 && dup2(input[0], STDIN_FILENO) == STDIN_FILENO);
    assert(write(input[1], first, strlen(first)) == (ssize_t)strlen(first));
    assert(next_order(&length_s) == GO && length_s == 0.5);
    assert(write(input[1], second, strlen(second)) == (ssize_t)strlen(second));
    assert(next_order(&length_s) == GO && length_s == 2);
    assert(next_order(&length_s) == END);
    close(input[1]);
    wait_for_end();
}

/* Prints the encoding of every number of standard input. */
int main(void)
{
    struct histogram histogram = {0};
    uint64_t value_ns;
    test_steady();
    test_statement();
    test_orders();
    while (scanf("%" SCNu64, &value_ns) == 1)
        histogram_record(&histogram, value_ns);
    test_lines();
    puts(histogram_encoded(&histogram));
    return 0;
}
