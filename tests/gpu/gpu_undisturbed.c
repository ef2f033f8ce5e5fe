/* Do the judge's defences disturb honest candidates? The speedup of each seed as the judge gives it, with all defences on, beside two others of the same
 * binaries.
 *
 * The first is of the very processes and buffers: at the end of each verdict batches of several lengths of both sides, without poison, guards, digests or
 * comparison. Through (calls, time) goes a line. Its slope is a call in the runner's process, where some code takes longer than in another; its intercept is
 * what a batch costs beside its calls, and should be what an empty one takes.
 *
 * The second is the quotient of their times as measured plainly (gpu_plain.h): another process, no sandbox, no stopping, no judge, one long batch behind the
 * other. It has what processes differ by, too: where memory lies, and how warm a chip is that works without a pause. The plain measurement is taken several times of both in turns; the medians are compared, and how far apart the middle half is says how exact
 * they are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_check.h"
#include "gpu_plain.h"
#include "kforge/file.h"
#include "kforge/stats.h"
#include "measure_internal.h"
#include "prepare.h"

#define TURNS 7 /* each in memory of its own: where that lies can make a difference of 5 % */
#define MOST 64
#define ALLOWED 0.01
#define HALF_WIDTH 0.002 /* that pairs go on for: a verdict usually leaves more open than what is looked for */
#define REPEATS 9
#define LENGTHS 3
#define FIRST_LENGTH 0.003 /* seconds; the others are twice and four times that */

typedef struct line {
    double call, fixed; /* seconds */
} line;

static struct {
    bool there;
    line sides[2];
    double empty;
} protocol;

static double batch(kf_run *r, kf_peer *peer, uint32_t count, bool null, int number)
{
    static uint32_t order[1024], next;
    kf_error error;
    for (uint32_t i = 0; i < count; i++) order[i] = next++ % r->set_count;
    kf_batch b = {.order = order, .count = count, .null = null, .timeout = 20, .answered = kf_run_glance_at_nothing};
    if (r->in_place && !null && !kf_run_refresh(r, 1000 + number, BASELINE, 0, &error)) return NAN;
    r->device->cool(r->sets, order, 1);
    return kf_peer_batch(peer, &b) == KF_PEER_OK ? b.seconds : NAN;
}

static void draw_lines(kf_run *r)
{
    double seconds[2][LENGTHS][REPEATS], empty[2 * LENGTHS * REPEATS];
    uint32_t counts[2][LENGTHS];
    size_t empties = 0;
    if (protocol.there) return; /* of the task's main workload */
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < LENGTHS; k++) {
            double calls = ceil(FIRST_LENGTH / kf_median(r->throughput[side].seconds, r->pairs)) * (1 << k);
            counts[side][k] = (uint32_t)fmin(calls, 1024);
        }
    for (int turn = 0; turn < REPEATS; turn++)
        for (int kind = 0; kind < 2 * LENGTHS; kind++) {
            int side = (kind + turn) % 2, k = (kind / 2 + turn) % LENGTHS;
            empty[empties++] = batch(r, r->oracle, 8, true, turn);
            seconds[side][k][turn] = batch(r, r->peers[side], counts[side][k], false, turn);
        }
    protocol.there = true;
    protocol.empty = kf_median(empty, empties);
    for (int side = 0; side < 2; side++) {
        const uint32_t *n = counts[side];
        double first = kf_median(seconds[side][0], REPEATS), last = kf_median(seconds[side][LENGTHS - 1], REPEATS);
        line *l = &protocol.sides[side];
        l->call = (last - first) / (n[LENGTHS - 1] - n[0]);
        l->fixed = first - l->call * n[0];
    }
}

/* Of the middle half, on either side of the median. */
static double spread(const double *values)
{
    return (kf_quantile(values, TURNS, 0.75) - kf_quantile(values, TURNS, 0.25)) / 2 / kf_median(values, TURNS);
}

/* Of the judged speedup and another; NaN where one of them is not to be had. */
typedef struct quotients {
    double same_processes, plain;
} quotients;

static const quotients unknown = {NAN, NAN};

typedef struct tally {
    size_t found, within;
    double ratios[MOST], deviations[MOST];
} tally;

static void count_quotient(tally *t, double ratio)
{
    if (isnan(ratio)) return;
    t->ratios[t->found] = ratio;
    t->deviations[t->found++] = fabs(ratio - 1);
    t->within += fabs(ratio - 1) <= ALLOWED;
}

static void say(const tally *t, const char *whose, const char *name)
{
    printf("  defences: %zu of %zu speedups within %.0f %% of those %s, quotient's median %.4f, deviation median %.2f %%\n",
           t->within, t->found, 100 * ALLOWED, whose, kf_median(t->ratios, t->found), 100 * kf_median(t->deviations, t->found));
    gpu_figure(name, t->found ? 100.0 * (double)t->within / (double)t->found : NAN, "%", GPU_AT_LEAST, 100);
}

static quotients compare(kf_judge *judge, const kf_prepared *p, const char *name, const kf_problem *problem,
                         const kf_workload_verdict *found)
{
    plain_entry entries[2] = {plain_load(p->trusted[KF_TRUSTED_BASELINE].binary.path), plain_load(p->candidate.binary)};
    double plain[2][TURNS];
    if (!entries[0] || !entries[1]) return printf("  %s: its binaries can't be loaded\n", name), unknown;
    for (int turn = 0; turn < TURNS; turn++)
        for (int side = 0; side < 2; side++)
            plain[side][turn] =
                plain_seconds(judge, entries[side], problem, side ? found->candidate_seconds : found->baseline_seconds);
    double quotient = kf_median(plain[0], TURNS) / kf_median(plain[1], TURNS), ratio = found->speedup.value / quotient;
    printf("  %-12s %-22s judged %7.4fx [%.4f %.4f] %d pairs, plain %7.4fx (%.2f / %.2f us, +-%.2f %% / %.2f %%): %+.2f %%\n",
           kf_task_name(p->job->task), name, found->speedup.value, found->speedup.low, found->speedup.high, found->pairs, quotient,
           kf_median(plain[0], TURNS) * 1e6, kf_median(plain[1], TURNS) * 1e6, 100 * spread(plain[0]), 100 * spread(plain[1]),
           100 * (ratio - 1));
    const line *b = &protocol.sides[0], *c = &protocol.sides[1];
    double same = protocol.there ? found->speedup.value / (b->call / c->call) : NAN;
    if (protocol.there)
        printf("  %36s in the runners' processes %.4fx (%.2f / %.2f us): %+.2f %%; beside calls %.0f / %.0f us, empty %.0f us\n",
               "", b->call / c->call, b->call * 1e6, c->call * 1e6, 100 * (same - 1), b->fixed * 1e6, c->fixed * 1e6,
               protocol.empty * 1e6);
    return (quotients){same, ratio};
}

static quotients one_candidate(kf_judge *judge, kf_prepared *p, const char *name)
{
    kf_error error = {0};
    kf_auto(kf_verdict) verdict = kf_judge_measure(judge, p, false, NULL, &error);
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    if (!problem || !verdict || verdict->status != KF_CORRECT)
        return printf("  %s: %s\n", name, verdict ? verdict->message : error.text), unknown;
    for (size_t i = 0; i < verdict->workload_count; i++) { /* the first timed workload is the task's main one */
        const kf_workload_verdict *found = &verdict->workloads[i];
        bool applies;
        if (!found->timed) continue;
        for (int w = 0; w < kf_task_workload_count(p->job->task); w++)
            if (kf_task_resolve(p->job->task, w, "cuda", problem, &applies, NULL) && applies &&
                strcmp(problem->workload, found->workload) == 0)
                return compare(judge, p, name, problem, found);
    }
    return unknown;
}

int check_undisturbed(kf_judge *judge, int count, char *const *tasks, double seconds)
{
    kf_prepared *prepared[MOST] = {0};
    kf_job *jobs[MOST] = {0};
    char names[MOST][64];
    kf_error error = {0};
    size_t used = 0;
    tally same = {0}, plain = {0};
    for (int i = 0; i < count; i++) {
        kf_task *task = kf_task_load(tasks[i], &error);
        if (!task) printf("  %s\n", error.text);
        for (int seed = 0; task && seed < kf_task_seed_count(task) && used < MOST; seed++) {
            const kf_task_file *file = kf_task_seed(task, seed);
            kf_task *own = kf_task_load(tasks[i], &error); /* a job keeps its task */
            jobs[used] = own ? kf_job_new("undisturbed", own, file->text, file->size, NULL, 0, &error) : NULL;
            if (!jobs[used]) continue;
            if (seconds > 0) jobs[used]->options.seconds = seconds;
            jobs[used]->options.half_width = HALF_WIDTH;
            snprintf(names[used], sizeof names[used], "%.60s", file->name);
            prepared[used] = kf_judge_prepare(judge, jobs[used], -1, &error); /* all are built at a time */
            if (prepared[used])
                used++;
            else
                kf_job_free(jobs[used]);
        }
        kf_task_free(task);
    }
    gpu_at_end = draw_lines;
    for (size_t i = 0; i < used; i++) {
        protocol.there = false;
        quotients q = one_candidate(judge, prepared[i], names[i]);
        kf_prepared_free(prepared[i]);
        kf_job_free(jobs[i]);
        count_quotient(&same, q.same_processes);
        count_quotient(&plain, q.plain);
    }
    gpu_at_end = NULL;
    say(&same, "without them in the same processes", "speedups within 1 % of those without them");
    say(&plain, "of a plain process", "speedups within 1 % of a plain process's");
    return same.found == 0 || same.found < used;
}
