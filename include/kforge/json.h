/* Strict reading of JSON: cJSON with limits, and errors with their place.
 *
 * kf_json_parse refuses hostile or broken files: more than the given bytes, more than KF_JSON_DEPTH
 * levels, a key twice in one object, text after the value, NUL bytes, invalid UTF-8.
 *
 * kf_json_object starts a reader of one object. The reader knows its field path
 * ("workloads[2].params.rows"), and every error contains it. The reader also knows the keys that
 * were read, and kf_json_finish complains of any other key, with the nearest known one. After a
 * failure a reader ignores further reads and returns defaults, so a loader can read all fields and
 * test once.
 *
 * A reader borrows the tree and belongs to one thread at a time.
 */
#ifndef KFORGE_JSON_H
#define KFORGE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

/* most levels of nesting */
#define KF_JSON_DEPTH 64
/* most different keys that one reader reads */
#define KF_JSON_KEYS 128
/* limit for files that people write, in bytes */
#define KF_JSON_TASK_BYTES (1 << 20)

KF_DEFINE_AUTO(cJSON, cJSON_Delete)

/* Parses `size` bytes. `where` names the source in errors ("tasks/x/task.json"). The caller frees
 * with cJSON_Delete. Errors: KF_ERROR_INPUT with line and column, KF_ERROR_LIMIT beyond `limit`
 * bytes (0: no limit), KF_ERROR_MEMORY. */
cJSON *kf_json_parse(const char *text, size_t size, size_t limit, const char *where,
                     kf_error *error);

typedef struct kf_json_reader {
    /* borrowed */
    const cJSON *object;
    /* name of the file; borrowed */
    const char *where;
    /* field path of this object, "" at the top */
    char path[256];
    /* keys that were read; borrowed */
    const char *known[KF_JSON_KEYS];
    int known_count;
    /* the first failure of this reader or its children */
    kf_error *error;
    bool failed;
} kf_json_reader;

/* Starts reading `object`. Complains if it is not an object. `path` is "" at the top. */
kf_json_reader kf_json_object(const cJSON *object, const char *where, const char *path,
                              kf_error *error);
/* Read required and optional (`_or`) fields. Strings are borrowed from the tree. Integers must be
 * exact, and numbers within [low, high]. */
const char *kf_json_string(kf_json_reader *reader, const char *key);
const char *kf_json_string_or(kf_json_reader *reader, const char *key, const char *fallback);
int64_t kf_json_integer_or(kf_json_reader *reader, const char *key, int64_t low, int64_t high,
                           int64_t fallback);
double kf_json_number_or(kf_json_reader *reader, const char *key, double low, double high,
                         double fallback);
bool kf_json_boolean_or(kf_json_reader *reader, const char *key, bool fallback);
/* Read a field of any type, an array or an object. An absent field gives NULL. `_or_null` functions
 * complain of another type. */
const cJSON *kf_json_any(kf_json_reader *reader, const char *key);
const cJSON *kf_json_array_or_null(kf_json_reader *reader, const char *key);
const cJSON *kf_json_object_or_null(kf_json_reader *reader, const char *key);
/* Fails with "WHERE: PATH.KEY: TEXT" as KF_ERROR_INPUT. `key` is NULL for the object itself.
 * Returns false. */
bool kf_json_complain(kf_json_reader *reader, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Complains of the first key that was not read, with the nearest known one. False if the reader has
 * failed. */
bool kf_json_finish(kf_json_reader *reader);

/* Adds `item` to `parent`, under `key` or, without a key, at the end of an array. Frees the item if
 * that fails. */
bool kf_json_put(cJSON *parent, const char *key, cJSON *item);
/* Reads the text of a field. Returns `fallback` if `object` is NULL or no object, or if the field
 * is absent or no text. */
const char *kf_json_get_text(const cJSON *object, const char *key, const char *fallback);
/* Write and read a double without losing a bit. NaN and infinities are the strings "nan", "inf" and
 * "-inf". */
void kf_json_add_number(cJSON *object, const char *key, double value);
double kf_json_get_number(const cJSON *object, const char *key, double fallback);
/* Prints a parsed value on one line without losing a bit of its numbers. They are raw items
 * afterwards. The caller frees the text with free. NULL: out of memory. */
char *kf_json_print_exact(cJSON *json);

#endif
