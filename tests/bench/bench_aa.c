/* A/A: the baseline judged as a candidate, a module of PyTorch's as a solution. How often does the
 * 95 % interval cover 1, and how far off is the median? bench_aa [RUNS [SECONDS [TASK…]]]: RUNS in
 * all, dealt over the tasks in turn. One line a task, then one with the figure. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/judge.h"
#include "kforge/stats.h"

#define MAX_TASKS 32

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static kf_job *baseline_job(kf_task *task, kf_error *error)
{
    const kf_task_file *baseline = kf_task_baseline(task);
    bool torch = baseline->kind == KF_SOURCE_TORCH;
    kf_autofree char *text = NULL;
    if (asprintf(&text, "%s%s", baseline->text, torch ? "\n\nModelNew = Model\n" : "") < 0)
        return NULL;
    kf_job *job = kf_job_new("aa", task, text, strlen(text), NULL, 0, error);
    if (!job || !torch) return job;
    job->options.torch = true;
    job->options.kernelbench = false;
    return job;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"tasks/axpy", "tasks/row_softmax", "tasks/transpose",
                                        "tasks/gemv", "tasks/histogram"};
    int runs = argc > 1 ? atoi(argv[1]) : 100, tasks = argc > 3 ? argc - 3 : 5, covered = 0,
        intervals = 0, failed = 0;
    double seconds = argc > 2 ? atof(argv[2]) : 0;
    kf_error error = {0};
    if (tasks > MAX_TASKS) tasks = MAX_TASKS;
    kf_judge *judge = kf_judge_new(&(kf_judge_settings){.device = getenv("KFORGE_DEVICE")}, &error);
    double *deviations = calloc((size_t)runs + 1, sizeof *deviations);
    if (!judge || !deviations) {
        fprintf(stderr, "bench_aa: %s\n", error.text);
        return 3;
    }
    double started = kf_now();
    for (int t = 0; t < tasks; t++) {
        kf_task *task = kf_task_load(argc > 3 ? argv[3 + t] : usual[t], &error);
        if (!task) {
            fprintf(stderr, "bench_aa: %s\n", error.text);
            return 2;
        }
        kf_job *job = baseline_job(task, &error);
        if (!job) return 2;
        if (seconds > 0) job->options.seconds = seconds;
        int mine = runs / tasks + (t < runs % tasks), hits = 0, seen = 0;
        double width = 0, *values = calloc((size_t)mine + 1, sizeof *values);
        if (!values) return 3;
        for (int run = 0; run < mine; run++) {
            kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
            if (!verdict || verdict->status != KF_CORRECT) {
                fprintf(stderr, "bench_aa: %s: %s\n", kf_task_name(task),
                        verdict ? verdict->message : error.text);
                failed++;
            } else {
                seen++;
                hits += verdict->speedup.low <= 1 && verdict->speedup.high >= 1;
                width += (verdict->speedup.high - verdict->speedup.low) / 2;
                values[seen - 1] = verdict->speedup.value;
                deviations[intervals + seen - 1] = fabs(verdict->speedup.value - 1);
            }
            kf_verdict_free(verdict);
        }
        printf("%-12s %d of %d intervals cover 1, mean half-width %.2f %%, median %.3f\n",
               kf_task_name(job->task), hits, seen, seen ? 100 * width / seen : NAN,
               kf_median(values, (size_t)seen));
        fflush(stdout);
        free(values);
        covered += hits;
        intervals += seen;
        kf_job_free(job);
    }
    qsort(deviations, (size_t)intervals, sizeof *deviations, by_value);
    printf("A/A on %s: %d of %d intervals cover 1 (%.0f %%), median deviation %.2f %%, %d without "
           "a verdict, %.1f s a run\n",
           kf_judge_hardware(judge), covered, intervals,
           intervals ? 100.0 * covered / intervals : NAN,
           intervals ? 100 * deviations[intervals / 2] : NAN, failed, (kf_now() - started) / runs);
    free(deviations);
    kf_judge_free(judge);
    return failed || covered < 0.93 * intervals;
}
