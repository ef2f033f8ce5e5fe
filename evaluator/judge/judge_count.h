/* Hardware counters of a candidate that was judged: another runner, another buffers, after the
 * verdict. See kforge/counters.h. */
#ifndef KFORGE_JUDGE_COUNT_H
#define KFORGE_JUDGE_COUNT_H

#include "counting.h"
#include "judge_internal.h"
#include "kforge/counters.h"

/* Counts where the job asks for it and the candidate is correct, into verdict->counters: counters,
 * or a note of what is in the way. False only on the caller's stop flag (KF_ERROR_BUSY) or without
 * memory. */
bool kf_judge_count(kf_judge *judge, const kf_job *job, const char *binary, kf_verdict *verdict,
                    const volatile int *stop, kf_error *error);

#endif
