/* What came of a run that `kforge optimize` made: its best candidate as a file, the command that goes on with it, both in words or as JSON, and the exit
 * status. */
#ifndef KFORGE_OPTIMIZE_RESULT_H
#define KFORGE_OPTIMIZE_RESULT_H

#include <stdbool.h>
#include <stdio.h>

#include "kforge/buffer.h"
#include "kforge/store.h"
#include "search.h"

typedef struct kf_outcome {
    /* The caller's: */
    const kf_search_result *result;
    const char *task;           /* its name */
    const char *store, *output; /* as given on the command line; NULL: not given */
    /* Made by the functions below: */
    kf_store_candidate best;
    char *path, *resume; /* the best candidate's file; the command */
    kf_buffer flags;     /* compiler flags that the source does not say */
} kf_outcome;

/* Before a search: can its best be written to `output`, or where that is NULL to its usual place? `run` may be "", a new one. Writes nothing. */
bool kf_outcome_has_place(const char *output, const char *task, const char *run, kf_error *error);
void kf_outcome_clear(kf_outcome *outcome);
/* Fills `resume`: the command that goes on with the run, with more of a budget where it is spent. */
bool kf_outcome_word_resume(kf_outcome *outcome, const char *store_path, kf_error *error);
/* Writes the best candidate to its file, if there is one, and says what was found. */
bool kf_outcome_report(kf_outcome *outcome, kf_store *store, bool json, FILE *out, kf_error *error);
/* One of KF_EXIT_… (command.h). */
int kf_outcome_status(const kf_search_result *result);

#endif
