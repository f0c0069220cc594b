/* Statements prepared on a connection, with the memory that their values and columns are bound to. */
#include "prepared.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_COLUMN = 65536 };

#ifdef MARIADB_BASE_VERSION
typedef my_bool mark;
#else
typedef bool mark;
#endif

/* What a column is read into. */
struct column {
    char *bytes;
    unsigned long length;
    mark is_null;
};

struct prepared {
    MYSQL_STMT *handle;
    long long *numbers;
    char **texts;
    unsigned long *lengths;
    struct column *columns;
    unsigned column_count;
};

struct prepared *prepared_places(const struct job *job)
{
    return allocate(job->statement_count * sizeof(struct prepared));
}

static void release(struct prepared *prepared, size_t slot_count)
{
    for (size_t i = 0; prepared->texts != NULL && i < slot_count; i++)
        free(prepared->texts[i]);
    for (unsigned i = 0; i < prepared->column_count; i++)
        free(prepared->columns[i].bytes);
    free(prepared->numbers);
    free(prepared->texts);
    free(prepared->lengths);
    free(prepared->columns);
}

void prepared_close(struct prepared *places, const struct job *job)
{
    for (size_t i = 0; i < job->statement_count; i++) {
        if (places[i].handle != NULL)
            mysql_stmt_close(places[i].handle);
        release(&places[i], job->statements[i].slot_count);
    }
    free(places);
}

static bool failed(struct prepared *prepared, struct failure *failure)
{
    say_driver_failed(failure, mysql_stmt_errno(prepared->handle), mysql_stmt_error(prepared->handle));
    return false;
}

static bool bind_values(struct prepared *prepared, const struct statement *statement)
{
    size_t count = statement->slot_count;
    MYSQL_BIND *binds = allocate(count * sizeof *binds);
    prepared->numbers = allocate(count * sizeof *prepared->numbers);
    prepared->texts = allocate(count * sizeof *prepared->texts);
    prepared->lengths = allocate(count * sizeof *prepared->lengths);
    for (size_t i = 0; i < count; i++) {
        size_t size = statement->parameters[statement->slots[i]].text_size;
        prepared->texts[i] = allocate(size);
        binds[i].buffer_type = size > 0 ? MYSQL_TYPE_STRING : MYSQL_TYPE_LONGLONG;
        binds[i].buffer = size > 0 ? (void *)prepared->texts[i] : (void *)&prepared->numbers[i];
        binds[i].buffer_length = size;
        binds[i].length = &prepared->lengths[i];
    }
    bool bound = count == 0 || mysql_stmt_bind_param(prepared->handle, binds) == 0;
    free(binds);
    return bound;
}

static bool bind_columns(struct prepared *prepared)
{
    MYSQL_RES *told = mysql_stmt_result_metadata(prepared->handle);
    if (told == NULL)
        return true;
    prepared->column_count = mysql_num_fields(told);
    prepared->columns = allocate(prepared->column_count * sizeof *prepared->columns);
    MYSQL_BIND *binds = allocate(prepared->column_count * sizeof *binds);
    for (unsigned i = 0; i < prepared->column_count; i++) {
        struct column *column = &prepared->columns[i];
        unsigned long size = mysql_fetch_field_direct(told, i)->length + 1;
        size = size > LONGEST_COLUMN ? LONGEST_COLUMN : size < 64 ? 64 : size;
        column->bytes = allocate(size);
        binds[i].buffer_type = MYSQL_TYPE_STRING;
        binds[i].buffer = column->bytes;
        binds[i].buffer_length = size;
        binds[i].length = &column->length;
        binds[i].is_null = &column->is_null;
    }
    mysql_free_result(told);
    bool bound = mysql_stmt_bind_result(prepared->handle, binds) == 0;
    free(binds);
    return bound;
}

static bool prepare(struct session *session, struct prepared *prepared, const struct statement *statement,
                    struct failure *failure)
{
    struct text sql = {0};
    statement_write(statement, NULL, &sql);
    prepared->handle = mysql_stmt_init(session->mysql);
    bool made = mysql_stmt_prepare(prepared->handle, sql.bytes, sql.length) == 0 &&
                bind_values(prepared, statement) && bind_columns(prepared);
    free(sql.bytes);
    if (made)
        return true;
    failed(prepared, failure);
    mysql_stmt_close(prepared->handle);
    release(prepared, statement->slot_count);
    *prepared = (struct prepared){0};
    return false;
}

static void keep_row(const struct prepared *prepared, cJSON *rows)
{
    cJSON *kept = cJSON_CreateArray();
    for (unsigned i = 0; i < prepared->column_count; i++) {
        const struct column *column = &prepared->columns[i];
        char *text = strndup(column->bytes, column->length);
        cJSON_AddItemToArray(kept, column->is_null ? cJSON_CreateNull() : cJSON_CreateString(text));
        free(text);
    }
    cJSON_AddItemToArray(rows, kept);
}

bool session_execute(struct session *session, const struct job *job, size_t number,
                     const struct value *values, cJSON *rows, struct failure *failure)
{
    const struct statement *statement = &job->statements[number];
    struct prepared *prepared = &session->prepared[number];
    if (prepared->handle == NULL && !prepare(session, prepared, statement, failure))
        return false;
    for (size_t i = 0; i < statement->slot_count; i++) {
        const struct value *value = &values[statement->slots[i]];
        if (value->is_text) {
            prepared->lengths[i] = strlen(value->text);
            memcpy(prepared->texts[i], value->text, prepared->lengths[i]);
        } else {
            prepared->numbers[i] = value->number;
        }
    }
    if (mysql_stmt_execute(prepared->handle) != 0)
        return failed(prepared, failure);
    if (prepared->column_count == 0)
        return true;
    if (mysql_stmt_store_result(prepared->handle) != 0)
        return failed(prepared, failure);
    int status;
    while ((status = mysql_stmt_fetch(prepared->handle)) == 0 || status == MYSQL_DATA_TRUNCATED)
        if (rows != NULL)
            keep_row(prepared, rows);
    mysql_stmt_free_result(prepared->handle);
    return status == MYSQL_NO_DATA || failed(prepared, failure);
}
