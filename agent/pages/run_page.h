/* The page of a run: `kforge watch` serves it live, `kforge show RUN --html` writes it as one file.
 * Both use the files in view/. Data is JSON with short keys, which only the page's script reads.
 *
 * Texts of candidates, models and compilers are hostile. They are cleaned (kf_text_clean), escaped
 * for a script element, and the script shows them as text alone. */
#ifndef KFORGE_RUN_PAGE_H
#define KFORGE_RUN_PAGE_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "kforge/buffer.h"
#include "kforge/error.h"
#include "kforge/store.h"

/* Most attempts of one answer. The script draws between two answers. */
#define KF_PAGE_ATTEMPTS 1000

/* Where a reader of a run stands: number of its last attempt, and id of its last model call. */
typedef struct kf_page_position {
    int64_t attempt, call;
} kf_page_position;

/* Sets *news if the run has more attempts than the reader at `position` has seen, or another state
 * than `state` (kf_run_state). Each failed call is an attempt, too. */
bool kf_page_is_news(kf_store *store, const char *run, const kf_page_position *position,
                     const char *state, bool *news, kf_error *error);
/* Returns the state of the run, at most `most` attempts after `position` (0: all), and the calls
 * after it. Moves `position`. The caller frees. */
cJSON *kf_page_news(kf_store *store, const char *run, kf_page_position *position, int64_t most,
                    kf_error *error);
/* Returns one attempt with its prompt, reply, source, verdict, and the difference from each parent.
 * KF_ERROR_INPUT if the run has no such attempt. The caller frees. */
cJSON *kf_page_attempt(kf_store *store, const char *run, int64_t number, kf_error *error);
/* Returns the timed workloads of the best candidate and the ceilings of its device, or NULL without
 * an error: no best, or the store lacks its task. The caller frees. */
cJSON *kf_page_roofline(kf_store *store, const kf_store_run *run, kf_error *error);

/* Appends the page. `data` NULL: the page asks its server. `details`: texts of attempts by number,
 * or NULL. They are apart because the page reads them later. */
bool kf_page_render(const cJSON *data, const cJSON *details, kf_buffer *out, kf_error *error);
/* Appends the page of a run with everything in it. Texts of attempts beyond some megabytes are left
 * out, and the page says so. */
bool kf_page_whole(kf_store *store, const char *run, kf_buffer *out, kf_error *error);
/* Appends JSON that can stand in a script element. */
bool kf_page_embed_json(const cJSON *json, kf_buffer *out);

#endif
