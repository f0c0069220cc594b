/* The adapter of C's client libraries: a thread for each connection, which does as the host orders (drivers/ADAPTERS.md). */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "adapter.h"

enum { BETWEEN_OPERATIONS = 0x1e, OTHER_TIMES = 4, LONGEST_MARK = 12 };

static struct terms terms;

/* A connection with its stock of operations and the times of what it did. */
struct worker {
    pthread_t thread;
    FILE *orders, *answers;
    struct session session;
    char *stock;
    size_t length, at, left;
    uint64_t opened;
    uint64_t *times;
    size_t time_count, time_room;
};

void failure_say(struct failure *failure, const char *kind, const char *format, ...)
{
    va_list arguments;
    *failure = (struct failure){.kind = kind, .by = "adapter"};
    va_start(arguments, format);
    vsnprintf(failure->words, sizeof failure->words, format, arguments);
    va_end(arguments);
}

void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        abort();
    return memory;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void add_failure(cJSON *answer, const struct failure *failure)
{
    cJSON *told = cJSON_AddObjectToObject(answer, "failure");
    cJSON_AddStringToObject(told, "kind", failure->kind);
    cJSON_AddStringToObject(told, "words", failure->words);
    cJSON_AddStringToObject(told, "by", failure->by);
    if (failure->state[0] != '\0')
        cJSON_AddStringToObject(told, "code", failure->state);
    else if (failure->code != 0)
        cJSON_AddNumberToObject(told, "code", failure->code);
}

static void say(FILE *file, cJSON *answer)
{
    char *text = cJSON_PrintUnformatted(answer);
    fprintf(file, "%s\n", text);
    fflush(file);
    cJSON_free(text);
    cJSON_Delete(answer);
}

static bool open_session(struct worker *worker, struct failure *failure)
{
    bool opened = session_open(&worker->session, &terms, failure);
    worker->opened += opened;
    return opened;
}

static bool operate(struct worker *worker, uint64_t began, struct failure *failure)
{
    const char *at = worker->stock + worker->at;
    const char *end = memchr(at, BETWEEN_OPERATIONS, worker->length - worker->at);
    uint64_t *times = worker->times + worker->time_count;
    end = end == NULL ? worker->stock + worker->length : end;
    worker->at = (size_t)(end - worker->stock) + 1;
    worker->left--;
    times[0] = times[1] = times[2] = began;
    if (!session_is_open(&worker->session)) {
        if (!open_session(worker, failure))
            return false;
        times[1] = now_ns();
        if (!session_greet(&worker->session, &terms, failure))
            return false;
        times[2] = now_ns();
    }
    times += 3;
    for (size_t call = 0; call < terms.call_count; call++) {
        if (!session_run(&worker->session, &terms, call, &at, end, NULL, failure))
            return false;
        *times++ = now_ns();
    }
    if (terms.reconnect)
        session_close(&worker->session, &terms);
    *times = terms.reconnect ? now_ns() : times[-1];
    worker->time_count += terms.call_count + OTHER_TIMES;
    return true;
}

static void work(struct worker *worker, uint64_t until, cJSON *answer)
{
    struct failure failure;
    uint64_t began, done = 0;
    while (worker->left > 0 && (began = now_ns()) < until) {
        if (!operate(worker, began, &failure)) {
            add_failure(answer, &failure);
            if (terms.reconnect || strcmp(failure.kind, "server_error") != 0)
                session_close(&worker->session, &terms);
            break;
        }
        done++;
    }
    cJSON_AddNumberToObject(answer, "operations", (double)done);
}

/* Puts operations behind the stock, and makes room for the times of all. */
static void take_operations(struct worker *worker, size_t count, char *body, size_t length)
{
    size_t rest = worker->left > 0 ? worker->length - worker->at : 0;
    char *stock = allocate(rest + length + 2);
    if (rest > 0)
        memcpy(stock, worker->stock + worker->at, rest);
    if (rest > 0 || worker->left > 0)
        stock[rest++] = BETWEEN_OPERATIONS;
    memcpy(stock + rest, body, length);
    free(worker->stock);
    worker->stock = stock;
    worker->length = rest + length;
    worker->at = 0;
    worker->left += count;
    worker->time_room = worker->time_count + worker->left * (terms.call_count + OTHER_TIMES);
    worker->times = realloc(worker->times, worker->time_room * sizeof *worker->times);
    if (worker->times == NULL)
        abort();
}

/* Writes the answer and all times behind it. */
static void report(struct worker *worker)
{
    char *body, *answer;
    size_t length;
    FILE *text = open_memstream(&body, &length);
    for (size_t i = 0; i < worker->time_count; i++)
        fprintf(text, "%llu ", (unsigned long long)worker->times[i]);
    fclose(text);
    if (asprintf(&answer, "{\"opened\": %llu, \"bytes\": %zu}\n", (unsigned long long)worker->opened, length) < 0)
        abort();
    fputs(answer, worker->answers);
    fwrite(body, 1, length, worker->answers);
    fflush(worker->answers);
    worker->time_count = 0;
    free(answer);
    free(body);
}

static void show_rows(struct worker *worker, int call, const char *body, size_t length, cJSON *answer)
{
    struct failure failure;
    cJSON *rows = cJSON_AddArrayToObject(answer, "rows");
    bool ran = call < 0 ? session_say(&worker->session, body, length, rows, &failure)
                        : session_run(&worker->session, &terms, (size_t)call, &body, body + length, rows, &failure);
    if (!ran)
        add_failure(answer, &failure);
}

static void open_and_tell(struct worker *worker, cJSON *answer)
{
    struct failure failure;
    if (open_session(worker, &failure) && session_greet(&worker->session, &terms, &failure)) {
        cJSON_AddStringToObject(answer, "version", library_version());
        session_view(&worker->session, answer);
        return;
    }
    add_failure(answer, &failure);
    session_close(&worker->session, &terms);
}

static void obey(struct worker *worker, const char *line)
{
    char word[16] = "", *body = NULL;
    long long first = 0;
    size_t length = 0;
    sscanf(line, "%15s %lld %zu", word, &first, &length);
    if (strcmp(word, "rows") == 0 || strcmp(word, "operations") == 0) {
        body = allocate(length + 1);
        if (fread(body, 1, length, worker->orders) != length)
            _exit(1);
    }
    if (strcmp(word, "report") == 0) {
        report(worker);
        return;
    }
    cJSON *answer = cJSON_CreateObject();
    if (strcmp(word, "work") == 0)
        work(worker, (uint64_t)first, answer);
    else if (strcmp(word, "operations") == 0)
        take_operations(worker, (size_t)first, body, length);
    else if (strcmp(word, "rows") == 0)
        show_rows(worker, (int)first, body, length, answer);
    else if (strcmp(word, "open") == 0)
        open_and_tell(worker, answer);
    else if (strcmp(word, "close") == 0)
        session_close(&worker->session, &terms);
    else if (strcmp(word, "empty") == 0)
        worker->left = 0;
    free(body);
    say(worker->answers, answer);
}

static void *serve(void *argument)
{
    char *line = NULL;
    size_t room = 0;
    struct worker *worker = argument;
    while (getline(&line, &room, worker->orders) > 0)
        obey(worker, line);
    return NULL;
}

static char *text_at(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static void read_call(struct call *call, const cJSON *told)
{
    const cJSON *pieces = cJSON_GetObjectItem(told, "pieces"), *piece;
    size_t length = 0;
    int number = 0;
    cJSON_ArrayForEach(piece, pieces) length += strlen(piece->valuestring) + LONGEST_MARK;
    char *at = call->sql = allocate(length + 1);
    cJSON_ArrayForEach(piece, pieces)
    {
        if (piece != pieces->child)
            at = library_mark(at, ++number);
        at = stpcpy(at, piece->valuestring);
    }
    call->types = text_at(told, "types");
    call->count = strlen(call->types);
    call->prepared = cJSON_IsTrue(cJSON_GetObjectItem(told, "prepared"));
}

static void read_terms(const cJSON *told)
{
    const cJSON *endpoint = cJSON_GetObjectItem(told, "endpoint");
    const cJSON *account = cJSON_GetObjectItem(told, "account");
    const cJSON *calls = cJSON_GetObjectItem(told, "calls"), *call;
    const cJSON *port = cJSON_GetObjectItem(endpoint, "port");
    terms.host = text_at(endpoint, "host");
    terms.socket_path = text_at(endpoint, "path");
    terms.port = port == NULL ? 0 : (unsigned)port->valueint;
    terms.user = text_at(account, "user");
    terms.password = text_at(account, "password");
    terms.database = text_at(account, "database");
    terms.tls = cJSON_GetObjectItem(told, "tls");
    terms.options = cJSON_GetObjectItem(told, "options");
    terms.on_connect = cJSON_GetObjectItem(told, "on_connect");
    terms.reconnect = cJSON_IsTrue(cJSON_GetObjectItem(told, "reconnect"));
    terms.calls = allocate((size_t)cJSON_GetArraySize(calls) * sizeof *terms.calls);
    cJSON_ArrayForEach(call, calls) read_call(&terms.calls[terms.call_count++], call);
}

int main(void)
{
    char *line = NULL, byte;
    size_t room = 0;
    struct failure failure;
    const cJSON *told, *channel;
    signal(SIGPIPE, SIG_IGN);
    if (getline(&line, &room, stdin) <= 0 || (told = cJSON_Parse(line)) == NULL)
        return 1;
    read_terms(told);
    cJSON *answer = cJSON_CreateObject();
    bool accepted = options_check(terms.options, &failure);
    if (accepted)
        library_takes(cJSON_AddArrayToObject(answer, "takes"));
    else
        add_failure(answer, &failure);
    say(stdout, answer);
    if (!accepted)
        return 0;
    library_start();
    cJSON_ArrayForEach(channel, cJSON_GetObjectItem(told, "channels"))
    {
        struct worker *worker = allocate(sizeof *worker);
        worker->orders = fdopen(cJSON_GetArrayItem(channel, 0)->valueint, "r");
        worker->answers = fdopen(cJSON_GetArrayItem(channel, 1)->valueint, "w");
        if (pthread_create(&worker->thread, NULL, serve, worker) != 0)
            return 1;
    }
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    _exit(0);
}
