// A server that names no key exchange groups: what it agrees on is then what its TLS library has.
//
// What is taken away: MySQL up to 9.7 tells OpenSSL at its start that it takes P-256, P-384 and P-521 and no
// other group (SSL_CTX_set1_groups(3)). Nothing that a user can set changes that: the server's call comes after
// openssl.cnf was read. A client that sends its key share for another group, as all of OpenSSL's do by default
// (X25519, from OpenSSL 3.5 on X25519MLKEM768 beside it), is therefore asked for a second ClientHello. With this
// library in front, the server's list does not reach OpenSSL, and OpenSSL keeps its own, as in a server that
// names none (MariaDB's). So it is the library that says which groups there are, whichever it is.
//
// Whom it reaches, when it is loaded before libssl: whatever calls SSL_CTX_ctrl by its name across files, which is
// what OpenSSL's macros for groups come down to. Of the many things that this function does, only the three ways
// of naming groups are kept from it; each answers 1, as if it had been done. Whom it does reach in a server is
// asked of the loader: `reached` in specimens/loading.py. In a server that names no groups it changes nothing.
//
// One name of the C library is asked for, dlsym, without a version, so every C library of this century can load it.

// As in OpenSSL's ssl.h, and in <dlfcn.h> with _GNU_SOURCE.
#define SSL_CTRL_SET_TMP_ECDH 4
#define SSL_CTRL_SET_GROUPS 91
#define SSL_CTRL_SET_GROUPS_LIST 92
#define RTLD_NEXT ((void *)-1l)

extern void *dlsym(void *handle, const char *name);

typedef long Control(void *context, int command, long number, void *pointer);

// As OpenSSL's (SSL_CTX_ctrl(3)): what it answers depends on the command; 0 where there is no libssl behind.
long SSL_CTX_ctrl(void *context, int command, long number, void *pointer) {
    switch (command) {
    case SSL_CTRL_SET_TMP_ECDH:
    case SSL_CTRL_SET_GROUPS:
    case SSL_CTRL_SET_GROUPS_LIST:
        return 1;
    default:
        break;
    }
    // Asked for each time: this happens a few times at a server's start, and keeping it would need a lock.
    Control *next = (Control *)dlsym(RTLD_NEXT, "SSL_CTX_ctrl");
    return next ? next(context, command, number, pointer) : 0;
}
