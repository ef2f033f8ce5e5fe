#include "kernelbench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extensions.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "torch_plan.h"

#define SECONDS 60.0
#define CLAIM_BYTES (64u << 10)
#define STEP 0.1 /* seconds between looks at the caller's stop flag */

static const char mark[] = "kforge-claim: ";

/* The last line that says it, as JSON; NULL when there is none. The solution may have written it. */
static cJSON *find_claim(const kf_buffer *output)
{
    kf_autofree char *text = output->size ? kf_text_clean(output->data, output->size, false) : NULL;
    const char *last = NULL;
    for (const char *at = text; at && (at = strstr(at, mark)); at += sizeof mark - 1) last = at + sizeof mark - 1;
    if (!last) return NULL;
    cJSON *claim = kf_json_parse(last, strcspn(last, "\n"), CLAIM_BYTES, "claim", NULL);
    if (cJSON_IsObject(claim)) return claim;
    cJSON_Delete(claim);
    return NULL;
}

static cJSON *without(const char *reason)
{
    kf_auto(cJSON) claim = cJSON_CreateObject();
    if (!claim || !cJSON_AddStringToObject(claim, "protocol", "kernelbench") || !cJSON_AddFalseToObject(claim, "compiled") ||
        !cJSON_AddFalseToObject(claim, "correctness") || !cJSON_AddStringToObject(claim, "error", reason))
        return NULL;
    return kf_steal(&claim);
}

/* The first timed workload: KernelBench knows one size. */
static int choose_workload(const kf_judge *judge, const kf_task *task, kf_problem *problem)
{
    for (int workload = 0; workload < kf_task_workload_count(task); workload++) {
        bool applies;
        if (kf_task_resolve(task, workload, judge->device->operations->kind, problem, &applies, NULL) && applies && problem->timed)
            return workload;
    }
    return -1;
}

static kf_sandbox *start(const kf_judge *judge, const kf_job *job, const char *folder, const char *path, double seconds,
                         kf_error *error)
{
    kf_runner_place place;
    if (!judge->device->operations->place(judge->device, KF_RUNNER_TORCH, &place, error)) return NULL;
    place.paths[place.path_count++] = (kf_sandbox_path){folder, KF_PATH_READ | KF_PATH_EXEC, false};
    place.limits.wall_seconds = seconds;
    bool gpu = strcmp(judge->device->operations->kind, "cuda") == 0;
    const char *const argv[] = {
        place.program, place.arguments[0], place.arguments[1], "kernelbench", gpu ? "--cuda" : path, gpu ? path : NULL, NULL};
    kf_sandbox_spec spec = {.argv = argv,
                            .environment = place.environment,
                            .directory = place.directory,
                            .paths = place.paths,
                            .path_count = place.path_count,
                            .limits = place.limits,
                            .seccomp = KF_SECCOMP_RUNNER,
                            .strict = job->options.strict_sandbox};
    kf_sandbox *sandbox = kf_sandbox_spawn(&spec, error);
    if (!sandbox) kf_fail_prefix(error, "KernelBench's protocol");
    return sandbox;
}

static cJSON *run(const kf_judge *judge, const kf_job *job, const char *binary, const char *plan, const volatile int *stop,
                  kf_error *error)
{
    kf_autofree char *folder = kf_directory_temporary("kforge-kernelbench", error);
    kf_autofree char *path = folder ? kf_path_join(folder, "plan.json") : NULL;
    double seconds = fmin(SECONDS, job->options.timeout_seconds);
    bool written = path && kf_file_write(path, plan, strlen(plan), error) && kf_extensions_copy(binary, folder, error);
    kf_sandbox *sandbox = written ? start(judge, job, folder, path, seconds, error) : NULL;
    cJSON *claim = NULL;
    bool stopped = false;
    while (sandbox && !stopped && !kf_sandbox_pump(sandbox, STEP)) stopped = stop && *stop;
    if (sandbox && !stopped && !(claim = find_claim(kf_sandbox_output(sandbox)))) {
        char words[256], reason[300];
        kf_sandbox_describe(kf_sandbox_outcome(sandbox), words, sizeof words);
        snprintf(reason, sizeof reason, "no result: %s", words);
        if (!(claim = without(reason))) kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    }
    if (stopped) kf_fail(error, KF_ERROR_BUSY, "interrupted");
    kf_sandbox_free(sandbox);
    if (folder) kf_directory_remove(folder, NULL);
    return claim;
}

bool kf_judge_kernelbench(kf_judge *judge, const kf_job *job, const char *binary, kf_verdict *verdict, const volatile int *stop,
                          kf_error *error)
{
    const kf_task_file *file = job->options.torch && job->options.kernelbench ? kf_torch_file(job->task) : NULL;
    kf_autofree kf_problem *problem = file ? calloc(1, sizeof *problem) : NULL;
    cJSON *claim = NULL;
    if (!file) return true;
    if (!problem) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
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
                                          .untimed = job->options.check_only,
                                          .candidate = binary};
        kf_autofree char *plan = kf_torch_plan(&request, error);
        if (!plan || !(claim = run(judge, job, binary, plan, stop, error))) return false;
    }
    cJSON_Delete(verdict->kernelbench);
    verdict->kernelbench = claim;
    return claim || kf_fail(error, KF_ERROR_MEMORY, "out of memory");
}
