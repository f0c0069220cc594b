/* Options of the client library: the job's own, by the names of mysql.h, and those of TLS. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <mysql.h>

#include "job.h"

/* Says what the job says of TLS; of `unset` nothing. */
void options_apply_tls(MYSQL *mysql, const struct tls *tls);

/* Says the job's own options, in their order. */
void options_apply(MYSQL *mysql, const cJSON *options);

#endif
