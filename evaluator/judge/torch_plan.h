/* What a runner in Python loads: one JSON text with the problem file, the solution where there is one, and what the task says about their arguments
 * (evaluator/torch/runner.py reads it). Made for one workload, whose shapes it holds. */
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
    bool claim;               /* loading it runs KernelBench's protocol, and nothing else will be asked (kernelbench.py) */
    bool untimed;             /* of that: no timing */
    bool compiled;            /* a baseline through torch.compile */
    const char *candidate;    /* path of the solution; NULL for the task's own roles */
} kf_torch_request;

/* The plan as text; malloc'd, NULL with the error. */
char *kf_torch_plan(const kf_torch_request *request, kf_error *error);
/* The plan into a runner's inbox, and a candidate's extensions. */
bool kf_torch_give(kf_peer *peer, const kf_torch_request *request, kf_error *error);
/* What the crew knows a task's own runners in Python by: task and baseline. They load the plan of each workload anew. */
void kf_torch_key(const kf_task *task, const char *baseline, char *key, size_t size);
/* Is what a crew knows a runner by such a key, or the path of a binary? */
bool kf_torch_is_key(const char *binary);
/* The problem file of a task: its oracle's, else its baseline's; NULL when neither is one. */
const kf_task_file *kf_torch_file(const kf_task *task);

#endif
