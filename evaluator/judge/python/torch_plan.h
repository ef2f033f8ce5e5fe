/* What a runner in Python loads: one JSON text with the problem file, the solution where there is
 * one, and what the task says about their arguments (evaluator/torch/runner.py reads it). Made for
 * one workload, whose shapes it holds. */
#ifndef KFORGE_TORCH_PLAN_H
#define KFORGE_TORCH_PLAN_H

#include "device.h"

typedef struct kf_torch_request {
    const kf_task *task;
    const kf_problem *problem;
    int workload;
    const char *device; /* its kind: "cpu" */
    kf_role role;
    const kf_task_file *file; /* the problem file */
    /* loading it runs KernelBench's protocol, and nothing else will be asked (kernelbench.py) */
    bool claim;
    bool untimed;  /* of that: no timing */
    bool compiled; /* a baseline through torch.compile */
    /* convolutions and recurrent layers are computed in f32, also where PyTorch's defaults have
     * tf32 */
    bool full_f32;
    uint32_t own_seed;     /* not 0: the module keeps what its constructor draws under this seed,
                              whatever the arguments are (frozen.py) */
    bool other_mode;       /* it evaluates where the task's trains, and the other way round */
    const char *candidate; /* path of the solution; NULL for the task's own roles */
} kf_torch_request;

/* Is the task's module in evaluation mode? */
bool kf_torch_evaluates(const kf_task *task);
/* The plan as text; malloc'd, NULL with the error. */
char *kf_torch_plan(const kf_torch_request *request, kf_error *error);
/* The plans of all workloads that apply to a device of this kind for a solution, as one JSON list:
 * what is compiled may depend on their shapes. As kf_torch_plan. */
char *kf_torch_plans(const kf_task *task, const char *kind, const char *candidate, kf_error *error);
/* The plan into a runner's inbox, and a candidate's extensions. */
bool kf_torch_give(kf_runner *runner, const kf_torch_request *request, kf_error *error);
/* What the crew knows a task's own runners in Python by: task and baseline; NULL: the default one,
 * or the oracle. They load the plan of each workload anew; but a baseline through torch.compile can
 * be compiled only once in a process, so there the workload is part of it. */
void kf_torch_key(const kf_task *task, kf_role role, const char *baseline, int workload, char *key,
                  size_t size);
/* The problem file of a task: its oracle's, else its baseline's; NULL when neither is one. */
const kf_task_file *kf_torch_file(const kf_task *task);

#endif
