/* What was negotiated, asked of each connection before measuring: the library's word and the server's. */
#ifndef PROOF_H
#define PROOF_H

#include "driver.h"

struct proof {
    cJSON *negotiated;
    char server_version[128];
};

/* Asks a connection; `*encrypted` is the server's word. Not to be called by two threads at once. */
bool proof_ask(struct proof *proof, struct session *session, bool *encrypted, struct failure *failure);

/* The OpenSSL that this process has mapped, or null. */
cJSON *tls_library(void);

#endif
