/* Lets one write fail as on a full disk: preloaded into programs, it counts what they write below a folder, all of them
   together, and has number FULL_AT of them fail with ENOSPC. FULL_BELOW is the folder, FULL_IN the programs that count
   (their names between commas), FULL_COUNT a file of 8 bytes with the number so far. Without FULL_AT it only counts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static _Atomic long *count;
static const char *below;
static long fail_at = -1;

static int counts_here(void) {
    const char *programs = getenv("FULL_IN");
    char listed[4096], wanted[300];
    if (!programs || snprintf(listed, sizeof listed, ",%s,", programs) < 0) return 0;
    snprintf(wanted, sizeof wanted, ",%s,", program_invocation_short_name);
    return strstr(listed, wanted) != NULL;
}

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("FULL_COUNT"), *at = getenv("FULL_AT");
    below = getenv("FULL_BELOW");
    if (!file || !below || !counts_here()) return;
    int descriptor = open(file, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return;
    void *shared = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (shared != MAP_FAILED) count = shared;
    if (at) fail_at = atol(at);
}

static int is_full(const char *path) {
    if (!count || strncmp(path, below, strlen(below)) != 0) return 0;
    if (++*count != fail_at) return 0;
    errno = ENOSPC;
    return 1;
}

static int is_full_at(int descriptor) {
    char link[64], path[4096];
    struct stat about;
    if (!count || fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_full(path);
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define BY_DESCRIPTOR(type, name, parameters, arguments) \
    type name parameters { REAL(name); return is_full_at(descriptor) ? -1 : real arguments; }
#define BY_PATH(name, parameters, arguments) \
    int name parameters { REAL(name); return is_full(path) ? -1 : real arguments; }

BY_DESCRIPTOR(ssize_t, write, (int descriptor, const void *bytes, size_t size), (descriptor, bytes, size))
BY_DESCRIPTOR(ssize_t, writev, (int descriptor, const struct iovec *parts, int of), (descriptor, parts, of))
BY_DESCRIPTOR(ssize_t, pwrite, (int descriptor, const void *bytes, size_t size, off_t at), (descriptor, bytes, size, at))
BY_DESCRIPTOR(ssize_t, pwrite64, (int descriptor, const void *bytes, size_t size, off64_t at), (descriptor, bytes, size, at))
BY_DESCRIPTOR(int, fsync, (int descriptor), (descriptor))
BY_DESCRIPTOR(int, fdatasync, (int descriptor), (descriptor))
BY_DESCRIPTOR(int, ftruncate64, (int descriptor, off64_t size), (descriptor, size))
BY_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
BY_PATH(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode))

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t size, unsigned flags) {
    REAL(copy_file_range);
    return is_full_at(to) ? -1 : real(from, at, to, there, size, flags);
}

/* A file that is opened takes room where it is made by that. */
#define MAKES_A_FILE(name, parameters, last, arguments) \
    int name parameters { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | __O_TMPFILE)) { \
            va_list rest; \
            va_start(rest, last); \
            mode = va_arg(rest, mode_t); \
            va_end(rest); \
            if (access(path, F_OK) != 0 && is_full(path)) return -1; \
        } \
        return real arguments; \
    }

MAKES_A_FILE(open, (const char *path, int flags, ...), flags, (path, flags, mode))
MAKES_A_FILE(open64, (const char *path, int flags, ...), flags, (path, flags, mode))
MAKES_A_FILE(openat, (int folder, const char *path, int flags, ...), flags, (folder, path, flags, mode))
MAKES_A_FILE(openat64, (int folder, const char *path, int flags, ...), flags, (folder, path, flags, mode))
