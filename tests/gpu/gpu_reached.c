/* Compares a candidate with the limits of the machine: the memory traffic of its main workload with
 * the judge's bandwidth of a copy, or its speed with that of a vendor's library. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device_cuda.h"
#include "gpu_check.h"
#include "judge_internal.h"
#include "kforge/file.h"

#define OF_COPYING 0.85
#define OF_VENDOR 0.60

int check_reached(kf_judge *judge, const char *task_path, const char *path, const char *baseline)
{
    kf_error error = {0};
    size_t size;
    kf_autofree char *source = kf_file_read(path, KF_SOURCE_BYTES, &size, &error);
    kf_task *task = source ? kf_task_load(task_path, &error) : NULL;
    kf_auto(kf_job) job = task ? kf_job_new("reached", task, source, size, NULL, 0, &error) : NULL;
    if (job && baseline && !kf_verdict_set_text(&job->options.baseline, baseline)) return 1;
    kf_auto(kf_verdict) verdict = job ? kf_judge_run(judge, job, NULL, &error) : NULL;
    if (!verdict || verdict->status != KF_CORRECT)
        return printf("  %s: %s\n", path, verdict ? verdict->message : error.text), 1;
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    const kf_workload_verdict *found = NULL;
    bool applies = false;
    for (size_t i = 0; i < verdict->workload_count && !found; i++)
        if (verdict->workloads[i].timed) found = &verdict->workloads[i];
    for (int w = 0; problem && found && w < kf_task_workload_count(task); w++)
        if (kf_task_resolve(task, w, "cuda", problem, &applies, NULL) && applies &&
            strcmp(problem->workload, found->workload) == 0)
            break;
    if (!found || !problem || !applies)
        return printf("  %s: nothing of it is timed\n", task_path), 1;
    double copying = ((kf_cuda_device *)judge->device)->bandwidth.copy,
           target = baseline ? OF_VENDOR : OF_COPYING;
    double reached =
        baseline ? found->speedup.value : problem->work_bytes / found->candidate_seconds / copying;
    char name[200];
    printf("  tuned %s: %.2f us\n", kf_task_name(task), found->candidate_seconds * 1e6);
    snprintf(name, sizeof name, "%s, of %s%s", kf_task_name(task),
             baseline ? baseline : "the bandwidth of copying", baseline ? "'s speed" : "");
    return !gpu_figure(name, 100 * reached, "%", GPU_AT_LEAST, 100 * target);
}
