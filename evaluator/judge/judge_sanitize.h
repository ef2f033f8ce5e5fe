/* compute-sanitizer on a correct candidate: memcheck, racecheck and initcheck over one call of the
 * smallest workload, in the sandbox. */
#ifndef KFORGE_JUDGE_SANITIZE_H
#define KFORGE_JUDGE_SANITIZE_H

#include "judge_internal.h"

/* Runs the tools if the job asks for them and the candidate is correct. Adds findings to the
 * verdict, which may no longer be correct then. Sets provenance.sanitizer: {"workload", "seconds",
 * "tools":
 * {"memcheck": findings…}} or {"note", "remedy"}. False only for the caller's stop flag
 * (KF_ERROR_BUSY) or without memory. The CPU device uses AddressSanitizer (kf_job_options.asan). */
bool kf_judge_sanitize(kf_judge *judge, const kf_job *job, const char *binary, kf_verdict *verdict,
                       const volatile int *stop, kf_error *error);

#endif
