#include "judge_count.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device_work.h"
#include "input_generator.h"
#include "torch_plan.h"

/* The timeout of a command of a runner that counts. */
#define COUNT_SECONDS 20.0
/* And a call's time so many times: one that takes long is made once, and may take longer while it
 * is counted. */
#define COUNT_CALLS 20

/* Returns the first timed workload, which is the task's main one; -1 without one. */
static int choose_workload(const kf_judge *judge, const kf_task *task, kf_problem *problem)
{
    for (int workload = 0; workload < kf_task_workload_count(task); workload++) {
        bool applies;
        if (kf_task_resolve(task, workload, judge->device->operations->kind, problem, &applies,
                            NULL) &&
            applies && problem->timed && !problem->hidden)
            return workload;
    }
    return -1;
}

/* Returns the seconds of a call in the verdict; NaN if unknown. */
static double call_seconds(const kf_verdict *verdict, const char *workload)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (strcmp(verdict->workloads[i].workload, workload) == 0)
            return verdict->workloads[i].candidate_seconds;
    return NAN;
}

/* Adds the reason if the counters say nothing about the origin of the device time. */
static bool complete(cJSON *counters)
{
    const cJSON *note = cJSON_GetObjectItemCaseSensitive(counters, "note");
    return cJSON_HasObjectItem(counters, "work") ||
           kf_work_put_note(counters, cJSON_IsString(note) ? note->valuestring : "not measured");
}

bool kf_judge_counts_lines(const kf_job *job)
{
    for (size_t i = 0; i < job->flag_count; i++)
        if (strcmp(job->flags[i], "-lineinfo") == 0 ||
            strcmp(job->flags[i], "--generate-line-info") == 0)
            return true;
    return false;
}

bool kf_judge_count(kf_judge *judge, const kf_job *job, const char *binary, kf_verdict *verdict,
                    const volatile int *stop, kf_error *error)
{
    if (!job->options.counters || strcmp(job->options.counters, "none") == 0) return true;
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    if (!problem) return kf_fail_memory(error, "hardware counters");
    kf_counting counting = {.problem = problem,
                            .binary = binary,
                            .wanted = job->options.counters,
                            .lines = kf_judge_counts_lines(job),
                            .origin = {.candidate = verdict->source_hash,
                                       .code = verdict->code_hash,
                                       .workload = "",
                                       .build = verdict->build,
                                       .source = job->source,
                                       .python = job->options.torch},
                            .seconds = COUNT_SECONDS,
                            .pool = judge->pool,
                            .strict_sandbox = job->options.strict_sandbox,
                            .stop = stop};
    kf_torch_request torch = {.task = job->task,
                              .problem = problem,
                              .device = judge->device->operations->kind,
                              .role = KF_ROLE_CANDIDATE,
                              .file = kf_torch_file(job->task),
                              .full_f32 = kf_verdict_has_flag(verdict, KF_FLAG_FULL_F32),
                              .copies = kf_task_allows_aliasing(job->task),
                              .own_seed = kf_verdict_has_flag(verdict, KF_FLAG_FROZEN),
                              .candidate = binary};
    cJSON *taken;
    if (job->options.torch) counting.torch = &torch;
    if (!judge->device->operations->count)
        taken = kf_counters_note(&counting.origin, "the CPU device has no hardware counters",
                                 "--device cuda has them");
    else if (verdict->status != KF_CORRECT || !binary)
        taken =
            kf_counters_note(&counting.origin, "only what correct candidates do is counted", "");
    else if ((torch.workload = choose_workload(judge, job->task, problem)) < 0)
        taken =
            kf_counters_note(&counting.origin, "the task has no timed workload on this device", "");
    else if (kf_generator_is_needed(problem))
        taken = kf_counters_note(
            &counting.origin, "the problem's own generator makes inputs only for measurements", "");
    else {
        counting.origin.workload = problem->workload;
        counting.call_seconds = call_seconds(verdict, problem->workload);
        if (counting.call_seconds > 0) counting.seconds += COUNT_CALLS * counting.call_seconds;
        taken = judge->device->operations->count(judge->device, &counting, error);
        if (!taken) return false;
    }
    cJSON_Delete(verdict->counters);
    verdict->counters = taken;
    return (taken && complete(taken)) || kf_fail_memory(error, "counters");
}
