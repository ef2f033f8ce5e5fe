/* KernelBench's own protocol on a solution in Python. It runs in a sandbox, in one process with the
 * solution. Its result is a claim next to the verdict, never a part of it
 * (docs/internals/pytorch.md). */
#ifndef KFORGE_KERNELBENCH_H
#define KFORGE_KERNELBENCH_H

#include "judge_internal.h"

/* Fills verdict->kernelbench of a job with options.torch, after all other steps. Does nothing for
 * other jobs. `binary`: the solution's file; NULL if its build failed. False: a fault of the
 * machine, the judge or the caller. */
bool kf_judge_kernelbench(kf_judge *judge, const kf_job *job, const char *binary,
                          kf_verdict *verdict, const volatile int *stop, kf_error *error);

#endif
