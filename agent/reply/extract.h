/* Source code, edits and JSON out of a model's reply. Pure functions, which fuzz targets run.
 *
 * kf_extract_source finds the candidate in fenced blocks (several, nested, unclosed, or no block):
 * the longest block that defines `entry`, else the longest one tagged as CUDA or C, else the whole
 * reply if it looks like code. CUDA in a string of a Python program does not count. For a task of
 * PyTorch kf_extract_candidate accepts a Python program, too. kf_extract_apply applies
 * search/replace edits (<<<<<<< SEARCH /
 * ======= / >>>>>>> REPLACE) to a parent source. It tries an exact match, then ignores white space.
 * If an edit does not apply, the error quotes the line for the next prompt. kf_extract_json reads
 * the JSON object of a critic and tolerates the errors that models make. */
#ifndef KFORGE_EXTRACT_H
#define KFORGE_EXTRACT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "kforge/error.h"

#define KF_REPLY_BYTES (8u << 20)
/* Limit of one object. A longer one counts as cut off there. */
#define KF_ANSWER_JSON_BYTES (256u << 10)

/* Returns the source, malloc'd. NULL with KF_ERROR_INPUT, which says what the reply holds instead.
 */
char *kf_extract_source(const char *reply, size_t size, const char *entry, kf_error *error);
/* The class that a solution in Python defines. */
#define KF_SOLUTION_CLASS "ModelNew"
/* Returns the source of a whole reply, as kf_extract_source. `torch`: the task is one of PyTorch,
 * and the source may be Python; *python says whether it is. Edits have no source here. */
char *kf_extract_candidate(const char *reply, size_t size, const char *entry, bool torch,
                           bool *python, kf_error *error);
/* Returns what the environment id of a verdict ends with in a store: "" if the source was judged in
 * the language that its text shows. One text may be valid in both languages, and a verdict counts
 * for one of them. */
const char *kf_language_mark(const char *source, size_t size, bool python);
/* True if the source with a verdict of this environment was judged as Python. For one that was not
 * judged ("" or NULL) it is a guess. */
bool kf_judged_as_python(const char *environment, const char *source, size_t size);
/* True if the reply holds at least one search/replace edit. */
bool kf_extract_has_edits(const char *reply, size_t size);
/* Returns the parent with all edits applied, malloc'd. *applied counts the edits. */
char *kf_extract_apply(const char *parent, const char *reply, size_t size, int *applied,
                       kf_error *error);
/* Returns the longest JSON object of the reply, from a fence or from the text. Release it with
 * cJSON_Delete. Accepts comments, trailing commas, single and typographic quotes, quotes and line
 * breaks within texts, bare keys, True and None, NaN (as null), and an end that was cut off. Of a
 * repeated key cJSON_GetObjectItem finds the first. At most KF_JSON_DEPTH levels. NULL with
 * KF_ERROR_INPUT if there is no object. */
cJSON *kf_extract_json(const char *reply, size_t size, kf_error *error);

#endif
