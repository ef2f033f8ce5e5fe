/* Getting code out of a model's reply. Pure: text in, text out; a fuzz target.
 *
 * kf_extract_source finds the candidate in fenced blocks (several, nested, unclosed, none): the
 * longest block that defines `entry`, else the longest one tagged as CUDA or C, else the whole
 * reply when it looks like code. kf_extract_apply applies search/replace edits
 * (<<<<<<< SEARCH / ======= / >>>>>>> REPLACE) to a parent source, exact match first, then tolerant
 * of white space; an edit that does not apply is an error that quotes the line it looked for, for
 * the next prompt. kf_extract_json reads the JSON object that a critic answers with, as leniently
 * as models write JSON.
 */
#ifndef KFORGE_EXTRACT_H
#define KFORGE_EXTRACT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "kforge/error.h"

#define KF_REPLY_BYTES (8u << 20)
/* of one object; what is longer counts as cut off there */
#define KF_ANSWER_JSON_BYTES (256u << 10)

/* The source as a malloc'd string; NULL with KF_ERROR_INPUT saying what was found instead. */
char *kf_extract_source(const char *reply, size_t size, const char *entry, kf_error *error);
/* True when the reply holds at least one search/replace edit. */
bool kf_extract_has_edits(const char *reply, size_t size);
/* The parent with all edits applied, malloc'd; *applied counts them. */
char *kf_extract_apply(const char *parent, const char *reply, size_t size, int *applied,
                       kf_error *error);
/* The longest JSON object of the reply, from a fence or from between sentences; the caller frees it
 * with cJSON_Delete. Understood: comments, trailing commas, single and typographic quotes, quotes
 * and line breaks within texts, bare keys, True and None, NaN (null), an end that was cut off. Of a
 * key that comes twice the first counts with cJSON_GetObjectItem. At most KF_JSON_DEPTH levels.
 * NULL with KF_ERROR_INPUT when there is none. */
cJSON *kf_extract_json(const char *reply, size_t size, kf_error *error);

#endif
