/* Statements prepared on a connection, with the memory that their values and columns are bound to. */
#ifndef PREPARED_H
#define PREPARED_H

#include "driver.h"

struct prepared;

/* Places for each of the job's statements, none prepared yet. */
struct prepared *prepared_places(const struct job *job);
void prepared_close(struct prepared *places, const struct job *job);

/* Tells a failure by the library's number and words. */
void say_driver_failed(struct failure *failure, unsigned code, const char *words);

#endif
