/* Refuses a store with other tables and indices than kforge makes.
 *
 * A store may come from elsewhere. A view in place of a table, a trigger, a generated column or an
 * index over an expression would run its author's SQL at every read or write, without an end if it
 * likes. So opening a store compares its schema with a new, empty one of the same version, before
 * it reads anything else. Comments and white space may differ. */
#include "internal.h"

#include <ctype.h>
#include <string.h>

#include "kforge/buffer.h"

/* Every object in order, the indices of constraints included. */
#define OBJECTS "SELECT type, name, tbl_name, sql FROM main.sqlite_schema ORDER BY type, name"

/* Appends SQL without comments and white space. Quoted names and texts stay as they are. */
static void append_plain(kf_buffer *out, const char *sql)
{
    for (const char *at = sql; *at; at++) {
        if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n");
            if (!*at) return;
        } else if (*at == '\'' || *at == '"' || *at == '`' || *at == '[') {
            const char *end = strchr(at + 1, *at == '[' ? ']' : *at);
            size_t size = end ? (size_t)(end - at) + 1 : strlen(at);
            kf_buffer_append(out, at, size);
            at += size - 1;
        } else if (isspace((unsigned char)*at)) {
            /* "a b" must not become "ab". */
            bool word = out->size && isalnum((unsigned char)out->data[out->size - 1]);
            const char *next = at + strspn(at, " \t\r\n");
            if (word && isalnum((unsigned char)*next)) kf_buffer_string(out, " ");
            at = next - 1;
        } else
            kf_buffer_append(out, at, 1);
    }
}

static const char *text_of(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text ? text : "";
}

/* Orders rows of two databases by type and name. */
static int order(sqlite3_stmt *a, sqlite3_stmt *b)
{
    int type = strcmp(text_of(a, 0), text_of(b, 0));
    return type ? type : strcmp(text_of(a, 1), text_of(b, 1));
}

/* True if both rows have the same table and the same SQL, but for comments and white space. */
static bool equal(sqlite3_stmt *a, sqlite3_stmt *b, bool *memory)
{
    kf_autobuffer one = {0}, other = {0};
    bool texts = sqlite3_column_type(a, 3) == sqlite3_column_type(b, 3);
    append_plain(&one, text_of(a, 3));
    append_plain(&other, text_of(b, 3));
    *memory = !one.failed && !other.failed;
    return *memory && texts && strcmp(text_of(a, 2), text_of(b, 2)) == 0 &&
           one.size == other.size && (!one.size || !memcmp(one.data, other.data, one.size));
}

static bool refuse(kf_store *store, sqlite3_stmt *object, const char *what, kf_error *error)
{
    char type[16], name[64];
    /* A text that could not be read for lack of memory looks like another one. */
    if (sqlite3_errcode(sqlite3_db_handle(object)) == SQLITE_NOMEM)
        return kf_fail_memory(error, "a schema");
    snprintf(type, sizeof type, "%s", text_of(object, 0));
    snprintf(name, sizeof name, "%s", text_of(object, 1));
    for (char *c = name; *c; c++)
        if (!isprint((unsigned char)*c)) *c = '?';
    for (char *c = type; *c; c++)
        if (!isprint((unsigned char)*c)) *c = '?';
    return kf_fail(error, KF_ERROR_INPUT,
                   "%s: %s %s %s: the store is damaged, or another program changed it: use a copy "
                   "that only kforge wrote",
                   store->path, type, name, what);
}

/* Walks over the objects of the store and of the new one, both in order. */
static bool compare(kf_store *store, sqlite3_stmt *here, sqlite3_stmt *made, kf_error *error)
{
    int left = sqlite3_step(here), right = sqlite3_step(made);
    while (left == SQLITE_ROW || right == SQLITE_ROW) {
        if (left != SQLITE_ROW && left != SQLITE_DONE) break;
        if (right != SQLITE_ROW && right != SQLITE_DONE) break;
        int way = left != SQLITE_ROW ? 1 : right != SQLITE_ROW ? -1 : order(here, made);
        bool memory = true;
        if (way < 0) return refuse(store, here, "is not one of kforge's", error);
        if (way > 0) return refuse(store, made, "is missing", error);
        if (!equal(here, made, &memory))
            return memory ? refuse(store, here, "differs from what kforge made", error)
                          : kf_fail_memory(error, "a schema");
        left = sqlite3_step(here);
        right = sqlite3_step(made);
    }
    if (right != SQLITE_DONE) return kf_fail_memory(error, "a schema");
    return left == SQLITE_DONE || kf_sql_fail(store, "opening", error);
}

bool kf_schema_objects_check(kf_store *store, int version, kf_error *error)
{
    sqlite3 *fresh = NULL;
    sqlite3_stmt *here = NULL, *made = NULL;
    bool ok = sqlite3_open_v2(":memory:", &fresh,
                              SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                              NULL) == SQLITE_OK ||
              kf_fail_memory(error, "a schema");
    ok = ok && kf_migrate_empty(fresh, version, error);
    if (ok && sqlite3_prepare_v2(fresh, OBJECTS, -1, &made, NULL) != SQLITE_OK)
        ok = kf_fail_memory(error, "a schema");
    if (ok && sqlite3_prepare_v2(store->db, OBJECTS, -1, &here, NULL) != SQLITE_OK)
        ok = kf_sql_fail(store, "opening", error);
    ok = ok && compare(store, here, made, error);
    sqlite3_finalize(here);
    sqlite3_finalize(made);
    sqlite3_close_v2(fresh);
    return ok;
}
