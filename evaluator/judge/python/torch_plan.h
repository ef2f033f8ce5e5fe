/* The plan that a runner in Python loads: one JSON text with the problem file, the solution of a
 * candidate, and the task's arguments (evaluator/torch/runner.py reads it). A plan is for one
 * workload, and holds its shapes. */
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
    /* True if loading it runs KernelBench's protocol. Its runner serves nothing else
     * (kernelbench.py). */
    bool claim;
    bool untimed;  /* of that: no timing */
    bool compiled; /* a baseline through torch.compile */
    /* True if convolutions and recurrent layers are computed in f32, even if PyTorch's default is
     * tf32. */
    bool full_f32;
    /* If not 0, the module keeps the weights that its constructor draws under this seed
     * (frozen.py). */
    uint32_t own_seed;
    /* Each call's results are copied, before the next call begins. */
    bool copies;
    /* The opposite of the task's mode. */
    bool other_mode;
    /* Path of the solution. NULL for the task's own roles. */
    const char *candidate;
} kf_torch_request;

/* True if the task's module is in evaluation mode. */
bool kf_torch_evaluates(const kf_task *task);
/* Returns the plan as text. The caller frees it. */
char *kf_torch_plan(const kf_torch_request *request, kf_error *error);
/* Returns the plans of a solution for all workloads of this kind of device, as one JSON list, since
 * compiled code may depend on shapes. The caller frees it. */
char *kf_torch_plans(const kf_task *task, const char *kind, const char *candidate, kf_error *error);
/* Copies the plan and a candidate's extensions into a runner's inbox. */
bool kf_torch_give(kf_runner *runner, const kf_torch_request *request, kf_error *error);
/* Writes the key by which the runner pool knows a task's own runners in Python: task and baseline.
 * `baseline` NULL: the default one, or the oracle. A runner loads a new plan for each workload.
 * Only a baseline through torch.compile can compile just once in a process, so its key has the
 * workload, too. */
void kf_torch_key(const kf_task *task, kf_role role, const char *baseline, int workload, char *key,
                  size_t size);
/* Returns the problem file of a task: its oracle or its baseline. NULL if neither is one. */
const kf_task_file *kf_torch_file(const kf_task *task);

#endif
