/* JSON in, strictly: cJSON behind limits, with errors that name the place.
 *
 * kf_json_parse refuses what a hostile or broken file may hold: more than the given bytes, more
 * than KF_JSON_DEPTH levels, a key twice in one object, anything but white space behind the value,
 * NUL bytes, invalid UTF-8.
 *
 * kf_json_object walks a parsed object with a field path ("workloads[2].params.rows") so that every
 * message says where; it marks the keys that were read, and kf_json_finish names a key nobody asked
 * for together with the nearest known one. A reader that has failed ignores further reads
 * (returning defaults), so a loader can read everything and test once.
 */
#ifndef KFORGE_JSON_H
#define KFORGE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

#define KF_JSON_DEPTH 64             /* nesting levels accepted */
#define KF_JSON_KEYS 128             /* most distinct keys one reader can be asked for */
#define KF_JSON_TASK_BYTES (1 << 20) /* default size limit for files that people write */

KF_DEFINE_AUTO(cJSON, cJSON_Delete)

/* Parses `size` bytes. `where` names the source in errors ("tasks/x/task.json"). The caller frees
 * with cJSON_Delete. Errors: KF_ERROR_INPUT with line and column; KF_ERROR_LIMIT when over `limit`
 * bytes; KF_ERROR_MEMORY. */
cJSON *kf_json_parse(const char *text, size_t size, size_t limit, const char *where,
                     kf_error *error);

typedef struct kf_json_reader {
    const cJSON *object; /* borrowed */
    const char *where;   /* borrowed: file name */
    char path[256];      /* field path of this object, "" at the top */
    const char *known[KF_JSON_KEYS];
    int known_count;
    kf_error *error; /* first failure of this reader and its children */
    bool failed;
} kf_json_reader;

/* Starts reading `object`, which must be an object. `path` is "" at the top. */
kf_json_reader kf_json_object(const cJSON *object, const char *where, const char *path,
                              kf_error *error);
/* Required and optional fields. Strings are borrowed from the tree. Integers must be exact and
 * within [low, high]. */
const char *kf_json_string(kf_json_reader *reader, const char *key);
const char *kf_json_string_or(kf_json_reader *reader, const char *key, const char *fallback);
int64_t kf_json_integer_or(kf_json_reader *reader, const char *key, int64_t low, int64_t high,
                           int64_t fallback);
double kf_json_number_or(kf_json_reader *reader, const char *key, double low, double high,
                         double fallback);
bool kf_json_boolean_or(kf_json_reader *reader, const char *key, bool fallback);
/* A field of any type (NULL when absent) and typed containers. The `_or_null` forms accept absence,
 * not another type. */
const cJSON *kf_json_any(kf_json_reader *reader, const char *key);
const cJSON *kf_json_array_or_null(kf_json_reader *reader, const char *key);
const cJSON *kf_json_object_or_null(kf_json_reader *reader, const char *key);
/* Reports "WHERE: PATH.KEY: TEXT" as KF_ERROR_INPUT and marks the reader failed; `key` may be NULL
 * for the object itself. */
bool kf_json_complain(kf_json_reader *reader, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Complains of the first key that no call asked for, naming the nearest known one. Returns false
 * when the reader failed. */
bool kf_json_finish(kf_json_reader *reader);

/* Doubles survive a round trip bit for bit; NaN and infinities are written as the strings "nan",
 * "inf", "-inf" and read back. */
void kf_json_add_number(cJSON *object, const char *key, double value);
double kf_json_get_number(const cJSON *object, const char *key, double fallback);

/* The known word nearest to `word` by edit distance, or NULL when none is near; for "did you mean".
 */
const char *kf_nearest(const char *word, const char *const *known, size_t count);

#endif
