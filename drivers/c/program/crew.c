/* All workers, set to work together for a span of time, watched from the main thread. */
#include "crew.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LOOK_MS = 1000 };

char *read_line(void)
{
    /* Byte by byte: what follows the line stays where poll sees it. */
    struct text line = {0};
    char byte;
    for (;;) {
        ssize_t got = read(STDIN_FILENO, &byte, 1);
        if (got <= 0)
            _exit(1);
        if (byte == '\n')
            return line.bytes == NULL ? strdup("") : line.bytes;
        text_append(&line, &byte, 1);
    }
}

void wait_for_end(void)
{
    char bytes[256];
    while (read(STDIN_FILENO, bytes, sizeof bytes) > 0)
        ;
}

struct errand {
    struct crew *crew;
    struct worker *worker;
    void (*task)(struct crew *, struct worker *);
    int done;
};

static void *do_errand(void *argument)
{
    struct errand *errand = argument;
    const uint64_t one = 1;
    errand->task(errand->crew, errand->worker);
    errand->worker->busy_since_ns = 0;
    if (write(errand->done, &one, sizeof one) != sizeof one)
        abort();
    mysql_thread_end();
    return NULL;
}

static void check_timeouts(const struct crew *crew)
{
    struct failure failure;
    double timeout_s = crew->shared.job->timeout_s;
    uint64_t now = now_ns();
    for (size_t i = 0; i < crew->count; i++) {
        uint64_t since_ns = crew->workers[i].busy_since_ns;
        if (since_ns != 0 && now > since_ns && (double)(now - since_ns) > timeout_s * 1e9) {
            failure_say(&failure, "timeout", "the server has not answered within %g s", timeout_s);
            die(&failure);
        }
    }
}

/* Waits until so many errands are done; standard input is watched meanwhile. */
static void watch(struct crew *crew, int done, size_t count, void (*look)(struct crew *))
{
    struct pollfd files[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = done, .events = POLLIN}};
    uint64_t next_look_ns = now_ns() + LOOK_MS * 1000000ULL, finished = 0, more;
    while (finished < count) {
        uint64_t now = now_ns();
        int left_ms = now >= next_look_ns ? 0 : (int)((next_look_ns - now) / 1000000 + 1);
        poll(files, 2, left_ms);
        if ((files[0].revents & (POLLIN | POLLHUP)) != 0) {
            char byte;
            if (read(STDIN_FILENO, &byte, 1) <= 0)
                _exit(1);
        }
        if ((files[1].revents & POLLIN) != 0 && read(done, &more, sizeof more) == sizeof more)
            finished += more;
        if (now_ns() < next_look_ns)
            continue;
        next_look_ns += LOOK_MS * 1000000ULL;
        check_timeouts(crew);
        if (look != NULL && finished < count)
            look(crew);
    }
}

void crew_run(struct crew *crew, void (*task)(struct crew *, struct worker *), void (*look)(struct crew *))
{
    static const struct failure none = {.kind = "limits", .message = "this machine gives us no more threads"};
    pthread_t *threads = allocate(crew->count * sizeof *threads);
    struct errand *errands = allocate(crew->count * sizeof *errands);
    int done = eventfd(0, EFD_CLOEXEC);
    for (size_t i = 0; i < crew->count; i++) {
        errands[i] = (struct errand){crew, &crew->workers[i], task, done};
        if (pthread_create(&threads[i], NULL, do_errand, &errands[i]) != 0)
            die(&none);
    }
    watch(crew, done, crew->count, look);
    for (size_t i = 0; i < crew->count; i++)
        pthread_join(threads[i], NULL);
    close(done);
    free(threads);
    free(errands);
}
