/* The brief verdict: what an agent or a person needs to write the next candidate, in about 120
 * tokens. Pure functions of a verdict, for `kforge eval`, its --brief, the job API and the tools of
 * `kforge mcp`. The functions do not keep the verdict. Threads may call them at once.
 *
 * JSON: {"status","ok","speedup","summary","errors","next","candidate"}
 *   speedup    [value, low, high] in four digits, null for a figure that is unknown; null if the
 *              candidate is not correct or was not timed
 *   summary    the verdict in one line: the place, index, expected and found value of a mismatch
 *   errors     at most KF_BRIEF_ERRORS of {"line","col","text"}, of the candidate's own file
 *   next       one sentence: what to do now
 *   candidate  as given, else the first 12 digits of the source's hash, else null */
#ifndef KFORGE_VERDICT_BRIEF_H
#define KFORGE_VERDICT_BRIEF_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "kforge/verdict.h"

/* The status of a reply without usable code. No verdict has it. */
#define KF_STATUS_NO_SOURCE "no_source"

#define KF_BRIEF_ERRORS 3

/* One error of the compiler. */
typedef struct kf_source_error {
    /* In the candidate's file, from 1. `column` 0: unknown. */
    long line, column;
    /* The compiler's words in one line. */
    char text[200];
} kf_source_error;

/* Reads the compiler's errors in the candidate's file from the verdict's build log, in the order of
 * the log. Returns their number, at most `most`. 0 if the verdict has no such errors. */
size_t kf_verdict_errors(const kf_verdict *verdict, kf_source_error *errors, size_t most);

/* Returns the verdict in one line, without the next step. The caller frees; NULL without memory. */
char *kf_verdict_summary(const kf_verdict *verdict);

/* Returns one sentence with the next step, for every status and rule. The caller frees; NULL
 * without memory. */
char *kf_verdict_next(const kf_verdict *verdict);

/* How `kforge eval` carries out the next step: by timing, by timing for longer, with the figures of
 * each workload, or with a check of addresses. KF_NEXT_NOTHING for steps that change the source or
 * the machine. */
typedef enum kf_next_action {
    KF_NEXT_NOTHING,
    KF_NEXT_TIME,
    KF_NEXT_LONGER,
    KF_NEXT_PROFILE,
    KF_NEXT_ADDRESS,
} kf_next_action;
kf_next_action kf_verdict_next_action(const kf_verdict *verdict);

/* Returns the brief verdict. `candidate` is an id as the tools take it ("c38"), or NULL. Release
 * with cJSON_Delete; NULL without memory. */
cJSON *kf_verdict_brief(const kf_verdict *verdict, const char *candidate);

/* Returns the brief verdict of a reply without usable code: status KF_STATUS_NO_SOURCE. `why` is
 * the message of kf_extract_candidate. NULL without memory. */
cJSON *kf_brief_no_source(const char *why);

#endif
