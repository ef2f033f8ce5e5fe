/* The result of `kforge optimize`: the best candidate as a file, the command that continues the
 * run, text or JSON, and the exit status. */
#ifndef KFORGE_OPTIMIZE_RESULT_H
#define KFORGE_OPTIMIZE_RESULT_H

#include <stdbool.h>
#include <stdio.h>

#include "kforge/buffer.h"
#include "kforge/store.h"
#include "search.h"

typedef struct kf_optimize_result {
    /* Set by the caller: */
    const kf_search_result *result;
    const char *task; /* name of the task */
    /* the task as on the command line */
    const char *named;
    /* as on the command line; NULL if not given */
    const char *store, *output;
    /* The run has models. */
    bool models;
    /* Prints one line, and the reason of a failure. */
    bool quiet;
    /* The reason of the end was printed when it happened. */
    bool reason_was_shown;
    /* Set by the functions below: */
    kf_store_candidate best;
    /* file of the best candidate; the command */
    char *path, *resume;
    /* compiler flags that the source does not have; what disturbed timing, set by the caller */
    kf_buffer flags, noise;
} kf_optimize_result;

/* True if the best candidate can be written to `output`, or to the usual place if `output` is NULL.
 * Call it before a search. `run` may be "" for a new one. Writes nothing. */
bool kf_optimize_result_has_place(const char *output, const char *task, const char *run,
                                  kf_error *error);
void kf_optimize_result_clear(kf_optimize_result *outcome);
/* Fills `resume` with the command that continues the run, with a larger budget if it is spent. */
bool kf_optimize_result_word_resume(kf_optimize_result *outcome, const char *store_path,
                                    kf_error *error);
/* Writes the best candidate to its file, if there is one, and prints the result. */
bool kf_optimize_result_report(kf_optimize_result *outcome, kf_store *store, bool json, FILE *out,
                               kf_error *error);
/* Returns one of KF_EXIT_… (command.h). */
int kf_optimize_result_status(const kf_search_result *result);

#endif
