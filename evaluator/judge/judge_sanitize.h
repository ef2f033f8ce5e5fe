/* compute-sanitizer on a candidate that was found correct: memcheck, racecheck, initcheck over one
 * call of the smallest workload, in the sandbox. */
#ifndef KFORGE_JUDGE_SANITIZE_H
#define KFORGE_JUDGE_SANITIZE_H

#include "judge_internal.h"

/* Where the job asks for it and the candidate is correct: findings into the verdict (which may no
 * longer be correct then), and provenance.sanitizer: {"workload", "seconds", "tools": {"memcheck":
 * findings…}} or {"note", "remedy"}. False only on the caller's stop flag (KF_ERROR_BUSY) or
 * without memory. On the CPU device AddressSanitizer does this work (kf_job_options.asan). */
bool kf_judge_sanitize(kf_judge *judge, const kf_job *job, const char *binary, kf_verdict *verdict,
                       const volatile int *stop, kf_error *error);

#endif
