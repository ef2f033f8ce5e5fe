/* SQL functions.
 *
 *   kf_plain(size, codec, data)        Returns the text as a blob.
 *   kf_sound(hash, size, codec, data)  Returns data, if it unpacks to a text of this SHA-256 (NULL:
 *                                      of any).
 *   kf_equal(a, b)                     Returns nothing, if the two numbers are equal.
 *
 * Otherwise they fail with SQLITE_CORRUPT. */
#include "internal.h"

#include <string.h>

static char *unpack(sqlite3_context *context, sqlite3_value **values, size_t *size)
{
    kf_store *store = sqlite3_user_data(context);
    kf_packed packed = {.size = sqlite3_value_int64(values[0]),
                        .codec = sqlite3_value_int(values[1]),
                        .data = sqlite3_value_blob(values[2]),
                        .data_size = (size_t)sqlite3_value_bytes(values[2])};
    char *text = kf_unpack_bytes(store, &packed, size, NULL);
    if (!text) sqlite3_result_error_code(context, SQLITE_CORRUPT);
    return text;
}

static void plain(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    size_t size;
    char *text = unpack(context, values, &size);
    if (text) sqlite3_result_blob64(context, text, size, free);
}

static void sound(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    size_t size;
    kf_autofree char *text = unpack(context, values + 1, &size);
    if (!text) return;
    if (sqlite3_value_type(values[0]) != SQLITE_NULL) {
        kf_hash hash = kf_hash_bytes(text, size);
        if (sqlite3_value_bytes(values[0]) != KF_HASH_SIZE ||
            memcmp(sqlite3_value_blob(values[0]), hash.bytes, KF_HASH_SIZE) != 0) {
            sqlite3_result_error_code(context, SQLITE_CORRUPT);
            return;
        }
    }
    sqlite3_result_value(context, values[3]);
}

static void equal(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    if (sqlite3_value_int64(values[0]) != sqlite3_value_int64(values[1]))
        sqlite3_result_error_code(context, SQLITE_CORRUPT);
}

bool kf_functions(kf_store *store, kf_error *error)
{
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    return (sqlite3_create_function(store->db, "kf_plain", 3, flags, store, plain, NULL, NULL) ==
                SQLITE_OK &&
            sqlite3_create_function(store->db, "kf_sound", 4, flags, store, sound, NULL, NULL) ==
                SQLITE_OK &&
            sqlite3_create_function(store->db, "kf_equal", 2, flags, store, equal, NULL, NULL) ==
                SQLITE_OK) ||
           kf_sql_fail(store, "opening", error);
}
