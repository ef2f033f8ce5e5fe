/* What KernelBench's own protocol says of a solution in Python, run in a sandbox with the solution
 * in the same process: a claim beside the verdict, never a part of it (docs/internals/pytorch.md).
 */
#ifndef KFORGE_KERNELBENCH_H
#define KFORGE_KERNELBENCH_H

#include "judge_internal.h"

/* Fills verdict->kernelbench of a job with options.torch, after everything else; does nothing for
 * other jobs. `binary` is the solution's file, NULL when it is none. False: machine, judge or
 * caller. */
bool kf_judge_kernelbench(kf_judge *judge, const kf_job *job, const char *binary,
                          kf_verdict *verdict, const volatile int *stop, kf_error *error);

#endif
