// A cost of known size: each call of send() first burns the CPU time that the laboratory asks for, and counts it.
//
// What is imitated: nothing in particular. A laboratory that finds costs must find one of one per cent, of which
// it is known how large it is. Two processes of one server differ by more than that from luck (where their memory
// lies), so the amount is no part of the process: it stands in a page of a file that the laboratory maps, too,
// and sets before each turn of a case. The same process burns in one case's turns and not in another's. In the
// same page the library counts its calls, what each of them was to burn, and what it has burned.
//
// Whom it reaches, when it is loaded before the C library: whatever calls send by its name across files. A server
// answers a client in plaintext with it: MySQL 9.7.4 and MariaDB 11.8.6 call it once a point select, neither more
// nor less. Over TLS OpenSSL answers with write(2), and nothing is burned.
//
// What is burned is CPU time. The clock is the monotonic one, which is read in some 25 ns without a system call;
// the thread's own CPU clock takes one, ten times as long. While the thread does not run, the monotonic clock goes
// on: a step between two readings that is longer than an interrupt takes was not spent here, and is not counted.
// What the burning was charged to the thread is counted beside it, by the thread's own clock before and after: an
// interrupt, or the time in which another machine had the processor, makes it dearer than what was burned. Each
// call reads it, whatever is to be burned, so that this is no difference between cases.
//
// Nothing but names of the C library is asked for, without versions, so every C library can load it.
#include <sys/socket.h>
#include <time.h>

#include "shared_page.h"

typedef unsigned long long Count;

// As `specimens/shared_pages.py` reads it. What is counted has a cache line of its own.
struct page {
    Count amount_ns;
    Count unused[7];
    Count calls;
    Count asked_ns;
    Count burned_ns;
    Count cpu_ns;
};

#define NAMED_BY "TLSTAX_BURN="

// Interrupts mostly take less, and are charged to whom they hit; an operation of another thread takes longer.
#define LONGEST_STEP_NS 10000

static struct page nowhere;
static struct page *page = &nowhere;

static Count read_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (Count)now.tv_sec * 1000000000 + (Count)now.tv_nsec;
}

// Where nothing is to be burned the clock is read once all the same: the first reading of an operation finds its
// code and data in no cache, which would be a cost that is not counted. So all that an amount adds is the steps.
// A profile knows it by its name, so it stays a function of its own.
__attribute__((noinline)) static Count burn(Count amount_ns) {
    Count burned_ns = 0, before_ns = read_ns(CLOCK_MONOTONIC);
    while (burned_ns < amount_ns) {
        Count after_ns = read_ns(CLOCK_MONOTONIC), step_ns = after_ns - before_ns;
        before_ns = after_ns;
        if (step_ns < LONGEST_STEP_NS) {
            burned_ns += step_ns;
        }
    }
    return burned_ns;
}

static void add(Count *to, Count amount) {
    __atomic_fetch_add(to, amount, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void find_page(int count, char **arguments, char **environment) {
    (void)count;
    (void)arguments;
    void *mapped = shared_page(environment, NAMED_BY, sizeof(struct page));
    if (mapped) {
        page = mapped;
    }
}

// As the C library's, which is sendto without an address (send(2)).
ssize_t send(int socket, const void *bytes, size_t length, int flags) {
    Count amount_ns = __atomic_load_n(&page->amount_ns, __ATOMIC_RELAXED);
    Count before_ns = read_ns(CLOCK_THREAD_CPUTIME_ID), burned_ns = burn(amount_ns);
    add(&page->cpu_ns, read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns);
    add(&page->burned_ns, burned_ns);
    add(&page->asked_ns, amount_ns);
    add(&page->calls, 1);
    return sendto(socket, bytes, length, flags, 0, 0);
}
