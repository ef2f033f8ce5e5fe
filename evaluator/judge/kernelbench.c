#include "kernelbench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "torch_plan.h"

#define SECONDS 60.0
#define CLAIM_BYTES (64u << 10)
/* The result is at the end of the output. */
#define OUTPUT_BYTES (256u << 10)

static const char mark[] = "kforge-claim: ";

/* Returns the last line with a result, as JSON; NULL without one. The solution may have written it.
 */
static cJSON *find_claim(const char *text)
{
    const char *last = NULL;
    for (const char *at = text; at && (at = strstr(at, mark)); at += sizeof mark - 1)
        last = at + sizeof mark - 1;
    if (!last) return NULL;
    cJSON *claim = kf_json_parse(last, strcspn(last, "\n"), CLAIM_BYTES, "claim", NULL);
    if (cJSON_IsObject(claim)) return claim;
    cJSON_Delete(claim);
    return NULL;
}

static cJSON *without(const char *reason)
{
    kf_auto(cJSON) claim = cJSON_CreateObject();
    if (!claim || !cJSON_AddStringToObject(claim, "protocol", "kernelbench") ||
        !cJSON_AddFalseToObject(claim, "compiled") ||
        !cJSON_AddFalseToObject(claim, "correctness") ||
        !cJSON_AddStringToObject(claim, "error", reason))
        return NULL;
    return kf_steal(&claim);
}

/* Finds the first timed workload, since KernelBench has one size. */
static int choose_workload(const kf_judge *judge, const kf_task *task, kf_problem *problem)
{
    for (int workload = 0; workload < kf_task_workload_count(task); workload++) {
        bool applies;
        if (kf_task_resolve(task, workload, judge->device->operations->kind, problem, &applies,
                            NULL) &&
            applies && problem->timed)
            return workload;
    }
    return -1;
}

/* Sets the result from the output, or a note about the missing result. */
static cJSON *claim_of(kf_runner *runner, kf_runner_event event, kf_error *error)
{
    kf_autofree char *output = kf_runner_output(runner, OUTPUT_BYTES);
    cJSON *claim = output ? find_claim(output) : NULL;
    if (claim) return claim;
    kf_runner_explanation why;
    char reason[sizeof why.text + 16];
    kf_runner_explain(runner, event, "running KernelBench's protocol", &why);
    snprintf(reason, sizeof reason, "no result: %s",
             event == KF_RUNNER_OK ? "nothing was printed" : why.text);
    if (!(claim = without(reason))) kf_fail_memory(error, "a run by KernelBench's protocol");
    return claim;
}

/* Runs the protocol in an empty runner. Starting runners are paused meanwhile. */
static cJSON *run(kf_judge *judge, const kf_job *job, const kf_torch_request *request,
                  const volatile int *stop, kf_error *error)
{
    kf_runner_pool *pool = judge->pool;
    kf_auto(kf_runner) runner =
        kf_runner_pool_take(pool, KF_RUNNER_TORCH, job->options.strict_sandbox, stop, error);
    if (!runner) return kf_fail_prefix(error, "KernelBench's protocol"), NULL;
    if (!kf_torch_give(runner, request, error)) return NULL;
    kf_runner_pool_pause(pool);
    kf_runner_event event = kf_runner_load(runner, fmin(SECONDS, job->options.timeout_seconds));
    kf_runner_pool_resume(pool);
    if (event == KF_RUNNER_STOPPED) return kf_fail(error, KF_ERROR_BUSY, "interrupted"), NULL;
    if (event == KF_RUNNER_MACHINE) return kf_fail_copy(error, kf_runner_error(runner)), NULL;
    cJSON *claim = claim_of(runner, event, error);
    kf_runner_pool_retire(pool, kf_steal(&runner), event != KF_RUNNER_OK);
    return claim;
}

bool kf_judge_kernelbench(kf_judge *judge, const kf_job *job, const char *binary,
                          kf_verdict *verdict, const volatile int *stop, kf_error *error)
{
    const kf_task_file *file =
        job->options.torch && job->options.kernelbench ? kf_torch_file(job->task) : NULL;
    kf_autofree kf_problem *problem = file ? calloc(1, sizeof *problem) : NULL;
    cJSON *claim = NULL;
    if (!file) return true;
    if (!problem) return kf_fail_memory(error, "a run by KernelBench's protocol");
    int workload = choose_workload(judge, job->task, problem);
    if (!binary)
        claim = without(verdict->message ? verdict->message : "it is no solution");
    else if (workload < 0)
        claim = without("the task has no timed workload on this device");
    else if (verdict->status == KF_TIMEOUT)
        claim = without("not run: it did not end in time before");
    else if (verdict->status == KF_JUDGE_ERROR)
        claim = without("not run: the judge or the task failed before");
    else {
        const kf_torch_request request = {.task = job->task,
                                          .problem = problem,
                                          .workload = workload,
                                          .device = judge->device->operations->kind,
                                          .role = KF_ROLE_CANDIDATE,
                                          .file = file,
                                          .claim = true,
                                          .untimed = job->options.check_only,
                                          .candidate = binary};
        if (!(claim = run(judge, job, &request, stop, error))) return false;
    }
    cJSON_Delete(verdict->kernelbench);
    verdict->kernelbench = claim;
    return claim || kf_fail_memory(error, "a run by KernelBench's protocol");
}
