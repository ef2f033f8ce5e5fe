/* What came of a run that `kforge optimize` made: its best candidate as a file, the command that
 * goes on with it, both in words or as JSON, and the exit status. */
#ifndef KFORGE_OPTIMIZE_RESULT_H
#define KFORGE_OPTIMIZE_RESULT_H

#include <stdbool.h>
#include <stdio.h>

#include "kforge/buffer.h"
#include "kforge/store.h"
#include "search.h"

typedef struct kf_optimize_result {
    /* The caller's: */
    const kf_search_result *result;
    const char *task;           /* its name */
    const char *store, *output; /* as given on the command line; NULL: not given */
    /* Made by the functions below: */
    kf_store_candidate best;
    char *path, *resume; /* the best candidate's file; the command */
    kf_buffer flags;     /* compiler flags that the source does not say */
} kf_optimize_result;

/* Before a search: can its best be written to `output`, or where that is NULL to its usual place?
 * `run` may be "", a new one. Writes nothing. */
bool kf_optimize_result_has_place(const char *output, const char *task, const char *run,
                                  kf_error *error);
void kf_optimize_result_clear(kf_optimize_result *outcome);
/* Fills `resume`: the command that goes on with the run, with more of a budget where it is spent.
 */
bool kf_optimize_result_word_resume(kf_optimize_result *outcome, const char *store_path,
                                    kf_error *error);
/* Writes the best candidate to its file, if there is one, and says what was found. */
bool kf_optimize_result_report(kf_optimize_result *outcome, kf_store *store, bool json, FILE *out,
                               kf_error *error);
/* One of KF_EXIT_… (command.h). */
int kf_optimize_result_status(const kf_search_result *result);

#endif
