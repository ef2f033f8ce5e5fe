/* Hardware counters of a judged candidate, with a runner and buffers of their own, after the
 * verdict (kforge/counters.h). */
#ifndef KFORGE_JUDGE_COUNT_H
#define KFORGE_JUDGE_COUNT_H

#include "counting.h"
#include "judge_internal.h"
#include "kforge/counters.h"

/* True if a job's candidate is built with source lines (-lineinfo). Counting samples them. */
bool kf_judge_counts_lines(const kf_job *job);

/* Counts if the job asks for counters and the candidate is correct. verdict->counters gets the
 * counters, or a note about a failure. False only for the caller's stop flag (KF_ERROR_BUSY) or
 * without memory. */
bool kf_judge_count(kf_judge *judge, const kf_job *job, const char *binary, kf_verdict *verdict,
                    const volatile int *stop, kf_error *error);

#endif
