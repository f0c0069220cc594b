/* libmariadb or libmysqlclient behind tlstax's contract: `driver NAME` serves one job on standard input. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "laboratory.h"
#include "proof.h"
#include "report.h"
#include "steady.h"

enum { MOST_SLICES = 4096 };
static const uint64_t SLICE_NS = 100000000;

static struct proof proof;
static pthread_mutex_t proof_lock = PTHREAD_MUTEX_INITIALIZER;
static struct window window;

static uint64_t nanoseconds(double seconds) { return (uint64_t)(seconds * 1e9); }

/* Runs on the processors that the job names, and lets the runtime trust whom it says. */
static void take_the_machines_part(const struct job *job)
{
    cpu_set_t cpus;
    const cJSON *each;
    CPU_ZERO(&cpus);
    cJSON_ArrayForEach(each, job->cpus) if (each->valueint >= 0 && each->valueint < CPU_SETSIZE)
        CPU_SET((size_t)each->valueint, &cpus);
    if (cJSON_GetArraySize(job->cpus) > 0 && sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        refuse("cpus: this machine does not let us run on them");
    if (job->tls.trusted_ca_file != NULL) {
        setenv("SSL_CERT_FILE", job->tls.trusted_ca_file, 1);
        setenv("SSL_CERT_DIR", "/dev/null", 1);
    }
}

/* Opens a connection and asks it what was negotiated; with `reconnect` it is closed again. */
static void set_up(struct crew *crew, struct worker *worker)
{
    const struct job *job = crew->shared.job;
    struct failure failure;
    bool encrypted = false;
    worker->busy_since_ns = now_ns();
    bool up = worker_open(worker, &failure) && session_greet(&worker->session, job, &failure);
    pthread_mutex_lock(&proof_lock);
    if (!up || !proof_ask(&proof, &worker->session, &encrypted, &failure))
        die(&failure);
    if ((job->tls.mode == TLS_ON || job->tls.mode == TLS_REQUIRED) && !encrypted) {
        failure_say(&failure, "no_tls", LIBRARY " logged in in the clear, though TLS was asked for");
        die(&failure);
    }
    pthread_mutex_unlock(&proof_lock);
    if (job->reconnect)
        session_close(&worker->session, job);
}

static void work(struct crew *crew, struct worker *worker) { worker_work(worker, crew->until_ns); }

static void forget(struct crew *crew, bool measuring)
{
    for (size_t i = 0; i < crew->count; i++)
        worker_clear(&crew->workers[i], measuring);
}

/* Works until then; a job that has failed ends the process. */
static void work_until(struct crew *crew, uint64_t until_ns, void (*look)(struct crew *))
{
    crew->until_ns = until_ns;
    crew_run(crew, work, look);
    if (crew->shared.is_fatal)
        die(&crew->shared.fatal);
}

/* Warms up in slices until the job's work is steady, or the time for it is over. */
static bool warm_up_until_steady(struct crew *crew, cJSON *slices)
{
    double costs_us[MOST_SLICES];
    size_t count = 0;
    uint64_t begin_ns = now_ns(), limit_ns = nanoseconds(crew->shared.job->steady_within_s);
    while (!is_steady(costs_us, count) && now_ns() - begin_ns < limit_ns && count < MOST_SLICES) {
        if (crew->shared.ended)
            break;
        forget(crew, false);
        struct moment before = moment_now();
        work_until(crew, before.at_ns + SLICE_NS, NULL);
        struct moment after = moment_now();
        double cpu_us = (double)(after.cpu_ns - before.cpu_ns) / 1e3;
        int64_t operations = sums_of(crew).operations;
        costs_us[count++] = operations > 0 ? cpu_us / (double)operations : INFINITY;
        cJSON *slice = cJSON_CreateObject();
        cJSON_AddNumberToObject(slice, "elapsed_s", (double)(after.at_ns - begin_ns) / 1e9);
        cJSON_AddNumberToObject(slice, "operations", (double)operations);
        cJSON_AddNumberToObject(slice, "cpu_us", cpu_us);
        cJSON_AddItemToArray(slices, slice);
    }
    return is_steady(costs_us, count);
}

static void say_ready(struct crew *crew, const char *name)
{
    const struct job *job = crew->shared.job;
    cJSON *event = cJSON_CreateObject(), *slices = cJSON_CreateArray();
    cJSON *steady = cJSON_CreateNull();
    if (job->steady_within_s > 0)
        steady = cJSON_CreateBool(warm_up_until_steady(crew, slices));
    else if (job->warmup_s > 0)
        work_until(crew, now_ns() + nanoseconds(job->warmup_s), NULL);
    forget(crew, true);
    crew->shared.bounded = job->operations >= 0;
    crew->shared.left = job->operations;
    cJSON_AddStringToObject(event, "event", "ready");
    cJSON_AddStringToObject(event, "client", name);
    cJSON_AddStringToObject(event, "client_version", mysql_get_client_info());
    cJSON_AddNumberToObject(event, "pid", getpid());
    cJSON_AddStringToObject(event, "server_version", proof.server_version);
    cJSON_AddItemToObject(event, "tls_library", tls_library());
    cJSON_AddItemToObject(event, "negotiated", proof.negotiated);
    cJSON_AddItemToObject(event, "warmup", slices);
    cJSON_AddItemToObject(event, "steady", steady);
    say(event);
}

static void say_interval(struct crew *crew)
{
    static struct sums reported;
    const struct sums now = sums_of(crew);
    cJSON *event = cJSON_CreateObject();
    cJSON_AddStringToObject(event, "event", "interval");
    cJSON_AddNumberToObject(event, "elapsed_s", window_passed_s(&window));
    cJSON_AddNumberToObject(event, "operations", (double)(now.operations - reported.operations));
    cJSON_AddNumberToObject(event, "errors", (double)(now.errors - reported.errors));
    reported = now;
    say(event);
}

/* A slice for each `go`, until `end`. */
static void take_turns(struct crew *crew)
{
    double length_s;
    while (next_order(&length_s) == GO) {
        window_begin(&window, crew);
        work_until(crew, window.begin.at_ns + nanoseconds(length_s), say_interval);
        say(window_end(&window, crew, length_s));
    }
    if (window.slices == 0)
        refuse("end came before the first slice");
}

int main(int argc, char **argv)
{
    struct job job = {0};
    struct crew crew = {.shared = {.job = &job}};
    signal(SIGPIPE, SIG_IGN);
    job_read(&job, read_line());
    driver_check_options(&job);
    take_the_machines_part(&job);
    mysql_library_init(0, NULL, NULL);
    proof.negotiated = cJSON_CreateArray();
    crew.count = job.connections;
    crew_make(&crew);
    crew_run(&crew, set_up, NULL);
    say_ready(&crew, argc > 1 ? argv[1] : LIBRARY);
    take_turns(&crew);
    say(done_event(&crew, &window));
    wait_for_end();
    for (size_t i = 0; i < crew.count; i++)
        session_close(&crew.workers[i].session, &job);
    return 0;
}
