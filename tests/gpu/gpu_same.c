/* The baseline against itself, job after job: whether the interval contains 1, the deviation of the
 * figure, and the jobs a second. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_check.h"
#include "judge_internal.h"
#include "kforge/file.h"
#include "kforge/stats.h"

#define AHEAD 9 /* jobs at hand, as a worker has them */
#define WARM 2  /* jobs that come before those that count */
#define MOST GPU_MAX_SAME
#define INSIDE 0.93
#define DEVIATION 0.005

typedef struct tally {
    int covered, seen, bad, pairs, sets;
    double values[MOST], deviations[MOST], widths[MOST], walls[MOST], call, built;
} tally;

static const kf_workload_verdict *main_workload(const kf_verdict *verdict)
{
    for (size_t i = 0; verdict && i < verdict->workload_count; i++)
        if (verdict->workloads[i].timed) return &verdict->workloads[i];
    return NULL;
}

static void take_down(tally *t, const char *task, const kf_verdict *verdict, const kf_error *error)
{
    const kf_workload_verdict *w =
        verdict && verdict->status == KF_CORRECT ? main_workload(verdict) : NULL;
    if (!w) {
        printf("  %s: %s\n", task, verdict ? verdict->message : error->text);
        t->bad++;
    } else if (t->seen < MOST) {
        t->covered += w->speedup.low <= 1 && w->speedup.high >= 1;
        t->widths[t->seen] = w->speedup.high - w->speedup.low;
        t->deviations[t->seen] = fabs(w->speedup.value - 1);
        t->values[t->seen] = w->speedup.value;
        t->walls[t->seen++] = verdict->judge_seconds;
        t->call = w->baseline_seconds;
        for (size_t i = 0; i < verdict->workload_count; i++)
            t->pairs += verdict->workloads[i].pairs, t->sets += verdict->workloads[i].sets;
    }
}

int check_same_in(gpu_pipeline *line)
{
    kf_job *jobs[AHEAD] = {0};
    kf_prepared *prepared[AHEAD] = {0};
    kf_error error = {0};
    tally *t = calloc(1, sizeof *t);
    double began = 0, waited = 0;
    int all = line->count + WARM, judged = 0;
    for (int i = 0; t && i < all + AHEAD && !t->bad; i++) {
        int at = i % AHEAD;
        if (prepared[at]) {
            double started = kf_now();
            while (!kf_prepared_is_built(prepared[at])) usleep(500);
            if (judged == WARM) {
                began = started;
                if (line->begin) line->begin(line->context);
            }
            if (judged >= WARM) waited += kf_now() - started;
            kf_verdict *verdict = kf_judge_measure(line->judge, prepared[at], true, NULL, &error);
            if (judged++ >= WARM) take_down(t, line->task, verdict, &error);
            if (verdict) t->built = verdict->build_seconds;
            kf_verdict_free(verdict);
            kf_prepared_free(prepared[at]);
            kf_job_free(jobs[at]);
            prepared[at] = NULL;
            jobs[at] = NULL;
        }
        if (i >= all || t->bad) continue;
        jobs[at] = gpu_variant(line->task, i, line->seconds, &error);
        if (!jobs[at] || !(prepared[at] = kf_judge_prepare(line->judge, jobs[at], -1, &error))) {
            printf("  %s: %s\n", line->task, error.text);
            t->bad++;
        }
    }
    line->wall = kf_now() - began;
    for (int i = 0; i < AHEAD; i++) {
        kf_prepared_free(prepared[i]);
        kf_job_free(jobs[i]);
    }
    int bad = t ? t->bad : 1;
    line->judged = t ? t->seen : 0;
    line->covered = t ? t->covered : 0;
    if (t) memcpy(line->deviations, t->deviations, sizeof line->deviations);
    if (line->judged) {
        size_t seen = (size_t)t->seen;
        double n = t->seen;
        printf("  same %-14s %9.2f us a call: 1 inside %d of %d, median %.4f, deviation median "
               "%.2f %%, interval width median %.2f "
               "%%; %.2f "
               "jobs a second, "
               "median %.3f s in the judge, %.3f s waiting for a build (%.2f s); %.1f pairs, %.0f "
               "sets a job\n",
               strrchr(line->task, '/') ? strrchr(line->task, '/') + 1 : line->task, t->call * 1e6,
               t->covered, t->seen, kf_median(t->values, seen),
               100 * kf_median(t->deviations, seen), 100 * kf_median(t->widths, seen),
               n / line->wall, kf_median(t->walls, seen), waited / n, t->built, t->pairs / n,
               t->sets / n);
    }
    free(t);
    return bad;
}

int check_same(kf_judge *judge, int count, char *const *tasks, int times, double seconds)
{
    kf_autofree double *deviations = calloc((size_t)count * MOST, sizeof *deviations);
    kf_autofree gpu_pipeline *line = calloc(1, sizeof *line);
    size_t seen = 0;
    int bad = 0, covered = 0;
    if (!deviations || !line) return 1;
    for (int i = 0; i < count; i++) {
        *line = (gpu_pipeline){.judge = judge,
                               .task = tasks[i],
                               .count = times < MOST ? times : MOST,
                               .seconds = seconds};
        bad += check_same_in(line);
        memcpy(deviations + seen, line->deviations, (size_t)line->judged * sizeof *deviations);
        seen += (size_t)line->judged;
        covered += line->covered;
    }
    printf("  all: %zu jobs of %d tasks\n", seen, count);
    gpu_figure("A/A, intervals that hold 1", 100.0 * covered / (double)seen, "%", GPU_AT_LEAST,
               100 * INSIDE);
    gpu_figure("A/A, median deviation", 100 * kf_median(deviations, seen), "%", GPU_AT_MOST,
               100 * DEVIATION);
    return bad;
}
