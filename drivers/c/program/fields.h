/* A JSON object of the job read field by field; what is missing or left over ends the process as a bad job.
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <cjson/cJSON.h>
#include <stdint.h>

/* Each field is taken out of the object; it stays where it was in memory for as long as the process lives. */
cJSON *take(cJSON *object, const char *name);
cJSON *take_or_null(cJSON *object, const char *name);
char *take_text(cJSON *object, const char *name);
char *take_text_or_null(cJSON *object, const char *name);
int64_t take_integer(cJSON *object, const char *name);
double take_number(cJSON *object, const char *name, double otherwise);

/* Refuses a field that is neither absent nor null, false or empty. */
void refuse_field(cJSON *object, const char *name, const char *why);
void nothing_left(const cJSON *object, const char *where);

#endif
