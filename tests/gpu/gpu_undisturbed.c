/* Do the judge's defences disturb honest candidates? The speedup of each seed as the judge gives it, with all defences on, beside the quotient of the same two
 * binaries' times as measured plainly (gpu_plain.h): one process, no sandbox, no stopping, poison, guards, digests, hidden sets. The plain measurement
 * is taken three times of both in turns and the medians are compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "gpu_check.h"
#include "gpu_plain.h"
#include "judge_internal.h"
#include "kforge/file.h"
#include "kforge/stats.h"

#define TURNS 3
#define MOST 128
#define ALLOWED 0.01

/* In a folder of its own: a library of the same path would be the one that is loaded already. */
static plain_entry build_plain(kf_judge *judge, const kf_task *task, const kf_task_file *file, kf_error *error)
{
    char *directory = kf_directory_temporary("kforge-plain", error);
    kf_build_request request = {
        .task = task, .source = file->text, .size = file->size, .name = file->name, .seconds = 60, .directory = directory};
    kf_build build = {0};
    bool ok = directory && judge->device->operations->build(judge->device, &request, &build, error) && build.ok;
    plain_entry entry = ok ? plain_load(build.binary) : NULL;
    kf_build_free(&build);
    if (directory) kf_directory_remove(directory, NULL);
    free(directory);
    return entry;
}

/* One timed workload of one seed: the quotient judged / plain; NaN where one of them is not to be had. */
static double compare(kf_judge *judge, const kf_task *task, const char *name, const kf_problem *problem,
                      const kf_workload_verdict *found, const plain_entry entries[2])
{
    double plain[2][TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        plain[0][turn] = plain_seconds(judge, entries[0], problem, found->baseline_seconds);
        plain[1][turn] = plain_seconds(judge, entries[1], problem, found->candidate_seconds);
    }
    double quotient = kf_median(plain[0], TURNS) / kf_median(plain[1], TURNS), ratio = found->speedup.value / quotient;
    printf("  %-12s %-22s %-10s judged %7.3fx [%.3f %.3f]  plain %7.3fx (%.2f / %.2f us)  %+6.2f %%\n", kf_task_name(task), name,
           problem->workload, found->speedup.value, found->speedup.low, found->speedup.high, quotient,
           kf_median(plain[0], TURNS) * 1e6, kf_median(plain[1], TURNS) * 1e6, 100 * (ratio - 1));
    return ratio;
}

static size_t check_task(kf_judge *judge, const char *task_path, double seconds, double *ratios, size_t room)
{
    kf_error error = {0};
    kf_task *task = kf_task_load(task_path, &error);
    plain_entry entries[2] = {NULL, NULL};
    kf_problem *problem = calloc(1, sizeof *problem);
    size_t count = 0;
    if (task && problem) entries[0] = build_plain(judge, task, kf_task_baseline(task), &error);
    if (!entries[0]) printf("  %s: %s\n", task_path, error.text);
    for (int seed = 0; entries[0] && seed < kf_task_seed_count(task); seed++) {
        const kf_task_file *file = kf_task_seed(task, seed);
        kf_task *own = kf_task_load(task_path, &error); /* a job keeps its task */
        kf_job *job = own ? kf_job_new("undisturbed", own, file->text, file->size, NULL, 0, &error) : NULL;
        if (!job) break;
        if (seconds > 0) job->options.seconds = seconds;
        kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
        bool right = verdict && verdict->status == KF_CORRECT;
        entries[1] = right ? build_plain(judge, task, file, &error) : NULL;
        if (!entries[1]) printf("  %s %s: %s\n", kf_task_name(task), file->name, verdict && !right ? verdict->message : error.text);
        for (size_t i = 0; entries[1] && i < verdict->workload_count && count < room; i++) {
            const kf_workload_verdict *found = &verdict->workloads[i];
            bool applies;
            if (!found->timed) continue;
            for (int w = 0; w < kf_task_workload_count(task); w++)
                if (kf_task_resolve(task, w, "cuda", problem, &applies, NULL) && applies &&
                    strcmp(problem->workload, found->workload) == 0)
                    break;
            ratios[count++] = compare(judge, task, file->name, problem, found, entries);
            break; /* the first timed workload is the task's main one */
        }
        kf_verdict_free(verdict);
        kf_job_free(job);
    }
    free(problem);
    kf_task_free(task);
    return count;
}

int check_undisturbed(kf_judge *judge, int count, char *const *tasks, double seconds)
{
    double ratios[MOST], deviations[MOST];
    size_t found = 0, within = 0;
    for (int i = 0; i < count; i++) found += check_task(judge, tasks[i], seconds, ratios + found, MOST - found);
    for (size_t i = 0; i < found; i++) {
        deviations[i] = fabs(ratios[i] - 1);
        within += deviations[i] <= ALLOWED;
    }
    printf("  defences: %zu of %zu speedups within %.0f %% of the plain ones, quotient's median %.4f, deviation median %.2f %%\n",
           within, found, 100 * ALLOWED, kf_median(ratios, found), 100 * kf_median(deviations, found));
    return found == 0 || within < found;
}
