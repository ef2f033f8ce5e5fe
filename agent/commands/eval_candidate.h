/* The candidates of `kforge eval`: files, the standard input, candidates of the store, and the
 * source in a model's reply. */
#ifndef KFORGE_EVAL_CANDIDATE_H
#define KFORGE_EVAL_CANDIDATE_H

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/job.h"

typedef struct kf_eval_candidate {
    /* In messages: "mine.cu", "c4", "the standard input". Borrowed. */
    const char *name;
    /* The source is a file of the user. The compiler's messages are about its lines. */
    bool is_file;
    char *source;
    size_t size;
    bool python;
    /* Of a stored candidate. */
    char *flags[KF_JOB_FLAGS];
    size_t flag_count;
} kf_eval_candidate;

/* Reads a candidate: a path, "-" for the standard input, or "c4" for a candidate of the store if
 * there is no file of that name. `torch`: the task is one of PyTorch. Release in either case. */
bool kf_eval_candidate_read(const char *word, bool torch, const char *store,
                            kf_eval_candidate *candidate, kf_error *error);
/* Takes the source from the reply in the file `path` ("-": the standard input). *no_source: the
 * reply holds no usable source, and *error says why. */
bool kf_eval_candidate_from_reply(const char *path, const kf_task *task,
                                  kf_eval_candidate *candidate, bool *no_source, kf_error *error);
void kf_eval_candidate_free(kf_eval_candidate *candidate);

#endif
