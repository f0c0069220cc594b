/* All workers, each a thread of its own, set to work together for one span of time after the other. */
#include "crew.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "laboratory.h"

enum { LOOK_MS = 1000 };

static void *serve(void *argument)
{
    struct hand *hand = argument;
    struct crew *crew = hand->crew;
    const uint64_t one = 1;
    for (;;) {
        while (sem_wait(&hand->gate) != 0)
            ;
        crew->task(crew, hand->worker);
        hand->worker->busy_since_ns = 0;
        if (atomic_fetch_sub(&crew->working, 1) > 1)
            continue;
        crew->finished = moment_now();
        if (write(crew->all_done, &one, sizeof one) != sizeof one)
            abort();
    }
    return NULL;
}

void crew_make(struct crew *crew)
{
    static const struct failure none = {.kind = "limits", .message = "this machine gives us no more threads"};
    pthread_t thread;
    crew->workers = allocate(crew->count * sizeof *crew->workers);
    crew->hands = allocate(crew->count * sizeof *crew->hands);
    crew->all_done = eventfd(0, EFD_CLOEXEC);
    for (size_t i = 0; i < crew->count; i++) {
        struct hand *hand = &crew->hands[i];
        worker_make(&crew->workers[i], &crew->shared, i);
        hand->crew = crew;
        hand->worker = &crew->workers[i];
        sem_init(&hand->gate, 0, 0);
        if (pthread_create(&thread, NULL, serve, hand) != 0)
            die(&none);
        pthread_detach(thread);
    }
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

/* Waits until all have done their task; standard input is watched meanwhile. */
static void watch(struct crew *crew, void (*look)(struct crew *))
{
    struct pollfd files[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = crew->all_done, .events = POLLIN}};
    uint64_t next_look_ns = now_ns() + LOOK_MS * 1000000ULL, done = 0;
    while (done == 0) {
        uint64_t now = now_ns();
        int left_ms = now >= next_look_ns ? 0 : (int)((next_look_ns - now) / 1000000 + 1);
        poll(files, 2, left_ms);
        if ((files[0].revents & (POLLIN | POLLHUP)) != 0)
            take_in();
        if ((files[1].revents & POLLIN) != 0 && read(crew->all_done, &done, sizeof done) == sizeof done)
            return;
        if (now_ns() < next_look_ns)
            continue;
        next_look_ns += LOOK_MS * 1000000ULL;
        check_timeouts(crew);
        if (look != NULL)
            look(crew);
    }
}

void crew_run(struct crew *crew, void (*task)(struct crew *, struct worker *), void (*look)(struct crew *))
{
    crew->task = task;
    crew->working = crew->count;
    for (size_t i = 0; i < crew->count; i++)
        sem_post(&crew->hands[i].gate);
    watch(crew, look);
}
