#include "counters.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_SECONDS 20.0 /* kernels that take long are repeated a dozen times */

/* The first timed workload: the one that a task calls its main one. */
static bool choose_workload(const kf_judge *judge, const kf_task *task, kf_problem *problem)
{
    for (int workload = 0; workload < kf_task_workload_count(task); workload++) {
        bool applies;
        if (kf_task_resolve(task, workload, judge->device->operations->kind, problem, &applies, NULL) && applies &&
            problem->timed && !problem->hidden)
            return true;
    }
    return false;
}

bool kf_judge_count(kf_judge *judge, const kf_job *job, const char *binary, kf_verdict *verdict, const volatile int *stop,
                    kf_error *error)
{
    if (!job->options.counters || strcmp(job->options.counters, "none") == 0) return true;
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    if (!problem) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    kf_counting counting = {
        .problem = problem,
        .binary = binary,
        .wanted = job->options.counters,
        .origin = {.candidate = verdict->source_hash, .code = verdict->code_hash, .workload = "", .build = verdict->build},
        .seconds = COUNT_SECONDS,
        .crew = judge->crew,
        .strict_sandbox = job->options.strict_sandbox,
        .stop = stop};
    cJSON *taken;
    if (!judge->device->operations->count)
        taken = kf_counters_note(&counting.origin, "the CPU device has no hardware counters", "--device cuda has them");
    else if (verdict->status != KF_CORRECT || !binary)
        taken = kf_counters_note(&counting.origin, "only what correct candidates do is counted", "");
    else if (!choose_workload(judge, job->task, problem))
        taken = kf_counters_note(&counting.origin, "the task has no timed workload on this device", "");
    else {
        counting.origin.workload = problem->workload;
        taken = judge->device->operations->count(judge->device, &counting, error);
        if (!taken) return false;
    }
    cJSON_Delete(verdict->counters);
    verdict->counters = taken;
    return taken || kf_fail(error, KF_ERROR_MEMORY, "out of memory for counters");
}
