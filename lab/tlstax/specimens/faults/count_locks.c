// Counts locks: every mutex, read-write lock and spin lock that a server's connections take, and who takes it.
//
// What is counted are calls of the POSIX functions that take locks or wait, by their callers: five return
// addresses, the nearest first, which the laboratory turns into names. Of each it is counted how often somebody
// else had the lock (it was tried first, and that failed) and how often another thread had taken it last, so that
// it moved between processors. Only threads that serve connections count: those that have accepted one or asked
// who is at the other end of one. What a server does in the background goes with time, not with its load. In a
// program that is no server the page says that every thread counts, and for which side of a connection it works.
//
// What escapes: locks that glibc takes within itself (malloc's, stdio's), atomic operations and whatever a program
// builds of them, and mutexes of C11. A count says nothing about time: taking a lock is dearer while it is
// counted, and so the server is slower.
//
// The functions themselves are asked of the loader, in the default version that programs of today have. Nothing
// but names of the C library and of the unwinder is asked for, without versions, so every C library can load it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <time.h>
#include <unwind.h>

#include "shared_page.h"

typedef unsigned long long Count;

// As `specimens/shared_pages.py` reads them.
enum kind { MUTEX = 1, READ, WRITE, SPIN, WAIT, WAKE };
enum { OWN_FRAMES = 3, CALLERS = 5, SITES = 8190, LOCKS = 1 << 16, SIDE_SHIFT = 8 };

struct site {
    Count key;
    Count kind;
    Count callers[CALLERS];
    Count calls;
    Count contended;
    Count moved;
};

struct page {
    Count lost;
    Count planted;
    Count everyone;
    Count side;
    Count accepted;
    Count unused[11];
    struct site sites[SITES];
};

struct lock {
    const void *address;
    Count taken_by;
};

#define NAMED_BY "TLSTAX_LOCKS="
#define PER_THREAD static __thread __attribute__((tls_model("initial-exec")))

static struct page *page;
static struct lock locks[LOCKS];
PER_THREAD int is_busy;
PER_THREAD int serves;
PER_THREAD Count own_number;
static Count threads;

static void add(Count *to) {
    __atomic_fetch_add(to, 1, __ATOMIC_RELAXED);
}

// The next library's function of that name.
static void *next(const char *name, void **known) {
    void *found = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!found) {
        found = dlsym(RTLD_NEXT, name);
        __atomic_store_n(known, found, __ATOMIC_RELAXED);
    }
    return found;
}

#define NEXT(name) \
    static void *known_##name; \
    __typeof__(&name) next_##name = (__typeof__(&name))next(#name, &known_##name)

struct walk {
    int seen;
    Count callers[CALLERS];
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *given) {
    struct walk *walk = given;
    if (walk->seen >= OWN_FRAMES) {
        walk->callers[walk->seen - OWN_FRAMES] = _Unwind_GetIP(context);
    }
    walk->seen++;
    return walk->seen < OWN_FRAMES + CALLERS ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// One more call of this kind by who is on the stack now. The last frames are this library's own: this function,
// `counted`, and the function that was called; so neither of them may be part of another one.
__attribute__((noinline)) static void count(enum kind kind, int contended, int moved) {
    struct walk walk = {0};
    _Unwind_Backtrace(step, &walk);
    Count kind_of_side = kind | __atomic_load_n(&page->side, __ATOMIC_RELAXED) << SIDE_SHIFT;
    Count key = kind_of_side * 0x9e3779b97f4a7c15ull;
    for (int place = 0; place < CALLERS; place++) {
        key = (key ^ walk.callers[place]) * 0xff51afd7ed558ccdull;
        key ^= key >> 32;
    }
    key |= 1;
    for (unsigned tries = 0; tries < SITES; tries++) {
        struct site *site = &page->sites[(key + tries) % SITES];
        Count none = 0;
        if (__atomic_compare_exchange_n(&site->key, &none, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            site->kind = kind_of_side;
            for (int place = 0; place < CALLERS; place++) {
                site->callers[place] = walk.callers[place];
            }
            none = key;
        }
        if (none == key) {
            add(&site->calls);
            if (contended) {
                add(&site->contended);
            }
            if (moved) {
                add(&site->moved);
            }
            return;
        }
    }
    add(&page->lost);
}

static struct lock *lock_at(const void *address) {
    Count place = (Count)address * 0x9e3779b97f4a7c15ull >> 48;
    for (unsigned tries = 0; tries < 64; tries++) {
        struct lock *lock = &locks[(place + tries) % LOCKS];
        const void *none = 0;
        if (__atomic_load_n(&lock->address, __ATOMIC_RELAXED) == address ||
            __atomic_compare_exchange_n(&lock->address, &none, address, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            none == address) {
            return lock;
        }
    }
    return 0;
}

// Whether another thread took the lock last.
static int has_moved(const void *address) {
    struct lock *lock = lock_at(address);
    if (!lock) {
        return 0;
    }
    if (!own_number) {
        own_number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    }
    Count before = __atomic_exchange_n(&lock->taken_by, own_number, __ATOMIC_RELAXED);
    return before && before != own_number;
}

// What is made anew at a place has been taken by nobody.
static void forget(const void *address) {
    struct lock *lock = lock_at(address);
    if (lock) {
        __atomic_store_n(&lock->taken_by, 0, __ATOMIC_RELAXED);
    }
}

__attribute__((noinline)) static void counted(enum kind kind, const void *address, int contended) {
    int moved = address ? has_moved(address) : 0;
    if (page && (serves || page->everyone) && !is_busy) {
        is_busy = 1;
        count(kind, contended, moved);
        is_busy = 0;
    }
}

__attribute__((constructor)) static void find_page(int number, char **arguments, char **environment) {
    (void)number;
    (void)arguments;
    void *mapped = shared_page(environment, NAMED_BY, sizeof(struct page));
    if (mapped) {
        page = mapped;
    }
}

// A lock that can be tried is tried first: that it fails is what contention is.
#define TAKES(kind, name, trying, type) \
    int name(type *lock) { \
        NEXT(name); \
        NEXT(trying); \
        int is_free = next_##trying(lock) == 0; \
        int result = is_free ? 0 : next_##name(lock); \
        counted(kind, (const void *)lock, !is_free); \
        return result; \
    }

#define TRIES(kind, name, type) \
    int name(type *lock) { \
        NEXT(name); \
        int result = next_##name(lock); \
        counted(kind, (const void *)lock, result != 0); \
        return result; \
    }

#define MADE(name, type, attributes) \
    int name(type *lock, attributes given) { \
        NEXT(name); \
        forget((const void *)lock); \
        return next_##name(lock, given); \
    }

TAKES(MUTEX, pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_t)
TAKES(READ, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t)
TAKES(WRITE, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t)
TAKES(SPIN, pthread_spin_lock, pthread_spin_trylock, pthread_spinlock_t)
TRIES(MUTEX, pthread_mutex_trylock, pthread_mutex_t)
TRIES(READ, pthread_rwlock_tryrdlock, pthread_rwlock_t)
TRIES(WRITE, pthread_rwlock_trywrlock, pthread_rwlock_t)
TRIES(SPIN, pthread_spin_trylock, pthread_spinlock_t)
MADE(pthread_mutex_init, pthread_mutex_t, const pthread_mutexattr_t *)
MADE(pthread_rwlock_init, pthread_rwlock_t, const pthread_rwlockattr_t *)

int pthread_mutex_timedlock(pthread_mutex_t *lock, const struct timespec *until) {
    NEXT(pthread_mutex_trylock);
    NEXT(pthread_mutex_timedlock);
    int is_free = next_pthread_mutex_trylock(lock) == 0;
    int result = is_free ? 0 : next_pthread_mutex_timedlock(lock, until);
    counted(MUTEX, lock, !is_free);
    return result;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock) {
    NEXT(pthread_cond_wait);
    counted(WAIT, 0, 0);
    return next_pthread_cond_wait(condition, lock);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until) {
    NEXT(pthread_cond_timedwait);
    counted(WAIT, 0, 0);
    return next_pthread_cond_timedwait(condition, lock, until);
}

int pthread_cond_signal(pthread_cond_t *condition) {
    NEXT(pthread_cond_signal);
    counted(WAKE, 0, 0);
    return next_pthread_cond_signal(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    NEXT(pthread_cond_broadcast);
    counted(WAKE, 0, 0);
    return next_pthread_cond_broadcast(condition);
}

int sem_wait(sem_t *semaphore) {
    NEXT(sem_wait);
    counted(WAIT, 0, 0);
    return next_sem_wait(semaphore);
}

int sem_post(sem_t *semaphore) {
    NEXT(sem_post);
    counted(WAKE, 0, 0);
    return next_sem_post(semaphore);
}

// Takes as many locks as the laboratory plants for each connection, to see whether it finds them.
__attribute__((noinline)) void tlstax_planted_locks(void) {
    static pthread_mutex_t planted = PTHREAD_MUTEX_INITIALIZER;
    static void *known_unlock;
    __typeof__(&pthread_mutex_unlock) unlock = (__typeof__(unlock))next("pthread_mutex_unlock", &known_unlock);
    for (Count number = page ? page->planted : 0; number; number--) {
        pthread_mutex_lock(&planted);
        unlock(&planted);
    }
}

// A connection that was accepted, by which the laboratory knows that it is counted where it looks.
static void accepted(void) {
    if (page) {
        add(&page->accepted);
    }
    tlstax_planted_locks();
}

// Who accepts a connection, or asks where it comes from, serves connections.
int accept(int socket, struct sockaddr *address, socklen_t *length) {
    NEXT(accept);
    serves = 1;
    int result = next_accept(socket, address, length);
    if (result >= 0) {
        accepted();
    }
    return result;
}

int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags) {
    NEXT(accept4);
    serves = 1;
    int result = next_accept4(socket, address, length, flags);
    if (result >= 0) {
        accepted();
    }
    return result;
}

int getpeername(int socket, struct sockaddr *address, socklen_t *length) {
    NEXT(getpeername);
    serves = 1;
    return next_getpeername(socket, address, length);
}
