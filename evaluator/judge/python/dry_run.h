/* The dry run of a solution in Python that compiles when it is called (Triton, torch.compile). A
 * runner starts no programs, and the build jail has no GPU. So the solution is executed once
 * before, on the device, in a jail that may start compilers (evaluator/torch/dry_run.py).
 *
 * The jail can write to no folder of the host, sees no input of the judge, and ends before anything
 * is timed. One file of limited size leaves it. The judge does not read the file: it puts the file
 * into the folder of the solution's extensions, and from there into the inboxes of the solution's
 * own runners. */
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
