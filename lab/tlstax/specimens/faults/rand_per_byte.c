// Costly random numbers, as in MySQL 5.6.6: each byte of a RAND_bytes call by itself from the kernel's device.
//
// What is imitated (MySQL bug 66567): create_random_string() called my_rnd_ssl() once for each of the
// scramble's characters, my_rnd_ssl() called yaSSL's RAND_bytes(), and that made a new generator every
// time: the kernel's random device was opened, a seed of 32 bytes was read, the device was closed (read off
// mysqld 5.6.14, which still has these functions; its logins call RAND_bytes() once). So there are three
// system calls a character here too. A getrandom(2) a byte would be another fault: one call in place of three,
// a tenth of the time on the machine where both were measured (0.35 and 3.4 us a byte), and lost in the noise.
// MySQL 9.7 draws 21 bytes a login: about 70 us beside the 250 us that a whole connection costs it there.
//
// Whom it reaches, when it is loaded before libcrypto: whatever calls RAND_bytes by its name across files. That
// is the server's program, for the scramble of each login, and with OpenSSL 1.1.1 also libssl (session ids,
// hello randoms, tickets). From OpenSSL 3.0 on, libssl calls RAND_bytes_ex, which is out of reach. A libcrypto
// that binds its own calls within itself (-Bsymbolic, OpenSSL's default on Linux) is out of reach, too; Debian's
// is not. Whom it does reach in a server is asked of the loader: `reached` in specimens/loading.py. MariaDB 11.8
// calls it, too, but not in a login: its scramble comes of a generator of its own.
//
// The bytes are the kernel's, and so as good as before: what is planted is the cost. Nothing but three names
// of the C library is asked for, without versions, so every C library can load it.
#include <fcntl.h>
#include <unistd.h>

// 256 bits, what a generator is keyed with.
#define SEED_BYTES 32

// As OpenSSL's: `wanted` bytes into `bytes`; 1 where that succeeded, else 0.
int RAND_bytes(unsigned char *bytes, int wanted) {
    for (int place = 0; place < wanted; place++) {
        unsigned char seed[SEED_BYTES];
        int device = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
        if (device < 0) {
            return 0;
        }
        ssize_t got = read(device, seed, sizeof seed);
        close(device);
        if (got != (ssize_t)sizeof seed) {
            return 0;
        }
        bytes[place] = seed[0];
    }
    return 1;
}
