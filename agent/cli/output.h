/* Output that several commands share: the form of text, JSON with null for unknown figures, and the
 * store opened for reading. */
#ifndef KFORGE_OUTPUT_H
#define KFORGE_OUTPUT_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "command.h"
#include "kforge/buffer.h"
#include "kforge/json.h"
#include "kforge/store.h"
#include "kforge/task.h"
#include "terminal.h"

typedef struct kf_view {
    FILE *out;
    /* 0: no line is cut. */
    int width;
    /* Bold titles. */
    bool color;
    bool json;
    /* The candidate's file in messages of its compiler, which knows it as candidate.cu. NULL: as it
     * is. */
    const char *source_name;
    /* A sentence that stands above a verdict. Its findings leave it out. NULL: none. */
    const char *said;
} kf_view;

static inline kf_view kf_view_of(const kf_invocation *invocation, bool json)
{
    return (kf_view){.out = invocation->output,
                     .width = invocation->width,
                     .color = invocation->color,
                     .json = json};
}

/* Returns the state as in "finished". A run that ended without a final state is "died". */
const char *kf_run_state(const kf_store_run *run);
/* Returns the outcome in words: "measured again" for KF_ATTEMPT_REVERIFIED. An outcome that is also
 * a status of the interface keeps its name, for example "no_source". */
const char *kf_outcome_words(kf_attempt_outcome outcome);
/* Returns the proposer in words. A second measurement has no proposer but kforge itself. */
const char *kf_proposer_words(const char *proposer, const char *step);
void kf_heading(const kf_view *view, const char *text);

/* ---- JSON (docs/reference/json.md) ----------------------------------------------------------- */

/* Returns an object that starts with its "schema". NULL: out of memory. */
cJSON *kf_json_document(const char *schema);
/* Prints a document and a newline. Takes it over. KF_ERROR_MEMORY if it is NULL. */
bool kf_print_json(FILE *out, cJSON *json, kf_error *error);
/* Prints a "kforge-error/1". The text's first "WHERE: " parts and its end behind a ';' become
 * "where" and "hint". */
bool kf_print_json_error(FILE *out, const kf_error *failure, int status, kf_error *error);
#define KF_CANDIDATE_ID 32
/* Writes "c38", as commands take it, and returns `id`. */
const char *kf_candidate_id(int64_t candidate, char id[KF_CANDIDATE_ID]);
/* Reads "c12", the id of candidate 12. False for any other word. */
bool kf_candidate_parse(const char *word, int64_t *number);
/* Adds "c38". 0 becomes null. */
void kf_add_candidate(cJSON *object, const char *key, int64_t candidate);
/* Adds a time since 1970 as "2026-03-01T12:34:56.789Z". NaN becomes null. */
void kf_add_time(cJSON *object, const char *key, double seconds);
/* Reads such a time, or seconds since 1970 of an older version. NaN if it is neither. */
double kf_time_of(const cJSON *value);
/* NaN and infinities become null. */
void kf_add_figure(cJSON *object, const char *key, double value);
/* Adds {"value","low","high"}. NaN becomes null. */
void kf_add_interval(cJSON *object, const char *key, kf_interval interval);
/* Adds JSON text from the store. "" becomes null. */
void kf_add_embedded(cJSON *object, const char *key, const char *json);
/* Writes ["-DA=1","-G"] as "-DA=1 -G". */
void kf_flags_text(const char *json, kf_buffer *text);
/* Adds the keys of a run. */
void kf_add_run(cJSON *json, const kf_store_run *run);

/* Opens the store for reading. *store stays NULL, without an error, if `path` is NULL and there is
 * no store at the default place. */
bool kf_open_to_read(const char *path, kf_store **store, kf_error *error);
/* False with KF_ERROR_INPUT if a model of a stored run is a command that is not allowed
 * (trusted_commands.h).
 */
bool kf_check_commands(const char *store, const char *const *models, size_t count, kf_error *error);
/* Allows commands that the user gave, so that their runs can be resumed. A failure only means that
 * they have to be given again then. */
void kf_allow_commands(const char *store, const char *const *models, size_t count);
/* Returns the task of a stored bundle. */
kf_task *kf_stored_task(kf_store *store, const char *hash, kf_error *error);

#endif
