/* Views of what the store and task folders hold, as text or JSON; what `list`, `show` and `task show` share. Figures that are not known are "-" in
 * text and null in JSON. */
#ifndef KFORGE_SHOW_H
#define KFORGE_SHOW_H

#include <cjson/cJSON.h>

#include "command.h"
#include "kforge/buffer.h"
#include "kforge/json.h"
#include "kforge/store.h"
#include "kforge/task.h"

typedef struct kf_view {
    FILE *out;
    int width;  /* 0: nothing is cut */
    bool color; /* bold titles */
    bool json;
} kf_view;

static inline kf_view kf_view_of(const kf_invocation *invocation, bool json)
{
    return (kf_view){.out = invocation->output, .width = invocation->width, .color = invocation->color, .json = json};
}

bool kf_show_task(const kf_view *view, const kf_task *task, kf_error *error);

typedef struct kf_show_run_limits {
    int64_t top, attempts; /* best candidates and latest attempts to show */
} kf_show_run_limits;
bool kf_show_run(const kf_view *view, kf_store *store, const kf_store_run *run, const kf_show_run_limits *limits, kf_error *error);

/* The family tree of a run; `format`: "text", "dot", "svg". */
bool kf_show_tree(const kf_view *view, kf_store *store, const kf_store_run *run, const char *format, kf_error *error);

/* `samples`: the raw timings as well. JSON always has source and verdict, samples included. */
bool kf_show_candidate(const kf_view *view, kf_store *store, const kf_store_candidate *candidate, bool samples, kf_error *error);
/* Figures, findings and the compiler's words of a verdict as text. */
void kf_show_verdict(const kf_view *view, const kf_verdict *verdict);
/* The source alone; control characters are taken out where it goes to a terminal (`view->width` is not 0). */
bool kf_show_source(const kf_view *view, kf_store *store, const kf_store_candidate *candidate, kf_error *error);

/* ---- pieces ---- */

/* "finished"; a run whose process is gone without a word is "died". */
const char *kf_run_state(const kf_store_run *run);
void kf_heading(const kf_view *view, const char *text);
/* Takes `json` over, prints it and a newline. KF_ERROR_MEMORY when it is NULL. */
bool kf_print_json(FILE *out, cJSON *json, kf_error *error);
void kf_add_figure(cJSON *object, const char *key, double value);           /* null for NaN */
void kf_add_interval(cJSON *object, const char *key, kf_interval interval); /* {"value","low","high"}, null for NaN */
void kf_add_embedded(cJSON *object, const char *key, const char *json);     /* JSON text from the store; null for "" */
void kf_flags_text(const char *json, kf_buffer *text);                      /* ["-DA=1","-G"] as "-DA=1 -G" */
cJSON *kf_run_json(const kf_store_run *run);

/* Opens the store for reading. *store stays NULL, without an error, when `path` is NULL and there is no store yet at the default place. */
bool kf_open_to_read(const char *path, kf_store **store, kf_error *error);
/* The task of a stored bundle. */
kf_task *kf_stored_task(kf_store *store, const char *hash, kf_error *error);

#endif
