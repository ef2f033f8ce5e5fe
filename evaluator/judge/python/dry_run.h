/* The dry run of a solution in Python that compiles when it is called (Triton, torch.compile): a
 * runner starts no programs, and the build jail has no GPU. So it is executed once beforehand, on
 * the device, in a jail where compilers may be started (evaluator/torch/dry_run.py).
 *
 * The jail has nothing of the host's to write to, sees no input of the judge's, and is gone before
 * anything is timed. What leaves it is one file of limited size, which nothing of the judge's
 * reads: it is put beside the solution's extensions, and from there into the inboxes of its own
 * runners. */
#ifndef KFORGE_JUDGE_DRY_RUN_H
#define KFORGE_JUDGE_DRY_RUN_H

#include "device.h"
#include "kforge/job.h"

/* For a solution that was built (build->binary) and compiles when it is called, unless it had its
 * dry run already; nothing else. Who measures on the device holds it reserved. build->report gets
 * "dry_run": {"seconds", "bytes", "note"}; one that fails is no verdict. False: machine, judge or
 * caller. */
bool kf_dry_run(kf_device *device, const kf_task *task, const kf_job_options *options,
                const volatile int *stop, kf_build *build, kf_error *error);

#endif
