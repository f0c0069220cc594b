// The page of a file that a server shares with the laboratory: found and mapped when a library is loaded into it.
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

// The file's path is behind `named_by` ("TLSTAX_…=") in the environment, as the loader hands it over to a constructor:
// getenv may not be ready yet. Null where there is none, or it cannot be mapped.
static void *shared_page(char **environment, const char *named_by, size_t bytes) {
    const char *path = 0;
    for (; *environment && !path; environment++) {
        const char *place = *environment, *name = named_by;
        while (*name && *place == *name) {
            place++;
            name++;
        }
        path = *name ? 0 : place;
    }
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) {
        return 0;
    }
    void *mapped = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return mapped == MAP_FAILED ? 0 : mapped;
}
