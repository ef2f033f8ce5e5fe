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
void kf_heading(const kf_view *view, const char *text);
/* Prints `json` and a newline. Takes it over. KF_ERROR_MEMORY if it is NULL. */
bool kf_print_json(FILE *out, cJSON *json, kf_error *error);
/* NaN becomes null. */
void kf_add_figure(cJSON *object, const char *key, double value);
/* Adds {"value","low","high"}. NaN becomes null. */
void kf_add_interval(cJSON *object, const char *key, kf_interval interval);
/* Adds JSON text from the store. "" becomes null. */
void kf_add_embedded(cJSON *object, const char *key, const char *json);
/* Writes ["-DA=1","-G"] as "-DA=1 -G". */
void kf_flags_text(const char *json, kf_buffer *text);
cJSON *kf_run_json(const kf_store_run *run);

/* Opens the store for reading. *store stays NULL, without an error, if `path` is NULL and there is
 * no store at the default place. */
bool kf_open_to_read(const char *path, kf_store **store, kf_error *error);
/* False with KF_ERROR_INPUT if a model of a stored run is a command that is not allowed (trust.h).
 */
bool kf_check_commands(const char *store, const char *const *models, size_t count, kf_error *error);
/* Allows commands that the user gave, so that their runs can be resumed. A failure only means that
 * they have to be given again then. */
void kf_allow_commands(const char *store, const char *const *models, size_t count);
/* Returns the task of a stored bundle. */
kf_task *kf_stored_task(kf_store *store, const char *hash, kf_error *error);

#endif
