/* A JSON object of the job read field by field; what is missing or left over ends the process as a bad job.
 */
#include "fields.h"

#include <math.h>

#include "failure.h"

cJSON *take_or_null(cJSON *object, const char *name)
{
    cJSON *field = cJSON_DetachItemFromObjectCaseSensitive(object, name);
    return cJSON_IsNull(field) ? NULL : field;
}

cJSON *take(cJSON *object, const char *name)
{
    cJSON *field = take_or_null(object, name);
    if (field == NULL)
        refuse("the job lacks %s", name);
    return field;
}

char *take_text_or_null(cJSON *object, const char *name)
{
    cJSON *field = take_or_null(object, name);
    if (field != NULL && !cJSON_IsString(field))
        refuse("%s is no text in this job", name);
    return field == NULL ? NULL : field->valuestring;
}

char *take_text(cJSON *object, const char *name)
{
    char *text = take_text_or_null(object, name);
    if (text == NULL)
        refuse("the job lacks %s", name);
    return text;
}

double take_number(cJSON *object, const char *name, double otherwise)
{
    cJSON *field = take_or_null(object, name);
    if (field == NULL)
        return otherwise;
    if (!cJSON_IsNumber(field))
        refuse("%s is no number in this job", name);
    return field->valuedouble;
}

int64_t take_integer(cJSON *object, const char *name)
{
    double number = take_number(object, name, NAN);
    if (isnan(number) || number != floor(number))
        refuse("%s is no whole number in this job", name);
    return (int64_t)number;
}

void refuse_field(cJSON *object, const char *name, const char *why)
{
    cJSON *field = take_or_null(object, name);
    if (field != NULL && !cJSON_IsFalse(field) && !(cJSON_IsArray(field) && field->child == NULL))
        refuse("%s: %s", name, why);
}

void nothing_left(const cJSON *object, const char *where)
{
    const cJSON *left = object == NULL ? NULL : object->child;
    if (left != NULL)
        refuse("%s has a field that this client does not know: %s", where, left->string);
}
