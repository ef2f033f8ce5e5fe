/* Tests that the judge's defences do not disturb honest candidates. The judge gives the speedup of
 * each seed with all defences on. The test compares it with two other speedups of the same
 * binaries.
 *
 * The first comes from the same processes and buffers. After each pair, and at the end if there are
 * few pairs, both sides run batches of two lengths, without poison, guards, digests or comparison.
 * A line is fitted through the points (calls, time). Its slope is the time of a call in the
 * runner's process, in which some code is slower than elsewhere. Its intercept is a batch's fixed
 * cost, which should equal that of an empty batch.
 *
 * The second is the quotient of the plainly measured times (gpu_plain.h): another process, no
 * sandbox, no stopping, no judge, long batches in a row. It includes the differences between
 * processes: addresses of memory, and the temperature of a chip that works without a pause. The
 * plain measurement runs several times for both sides in turns. The medians are compared. The
 * spread of the middle half shows how exact they are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_check.h"
#include "gpu_plain.h"
#include "kforge/file.h"
#include "kforge/stats.h"
#include "measure_internal.h"
#include "job_builds.h"

#define TURNS 7 /* each in memory of its own: where that lies can make a difference of 5 % */
#define MOST 64
#define ALLOWED 0.01
/* that pairs go on for: a verdict usually leaves more open than what is looked for */
#define HALF_WIDTH 0.002
/* turns of the protocol without defences, one after each pair; missing turns run at the end */
#define MIN_TURNS 15
#define MAX_TURNS 60
#define FIRST_LENGTH 0.003 /* seconds; the other is LONGER times that */
#define LONGER 4

typedef struct line {
    double call, fixed; /* seconds */
} line;

/* Covers one workload, measured in its runners' processes. */
static struct {
    /* by side: calls of the shorter and the longer batch; 0: not known yet */
    uint32_t counts[2][2];
    line turns[2][MAX_TURNS];
    double empty[4 * MAX_TURNS];
    size_t made, late; /* turns, and those of them behind all pairs */
    int workload;
    bool closed; /* the task's main workload is over */
} protocol;

static double batch(kf_measurement *r, kf_runner *runner, uint32_t count, bool null, size_t number)
{
    static uint32_t order[1024], next;
    kf_error error;
    for (uint32_t i = 0; i < count; i++) order[i] = next++ % r->set_count;
    kf_batch b = {.order = order,
                  .count = count,
                  .null = null,
                  .timeout = 20,
                  .answered = kf_measurement_snapshot_nothing};
    if (r->in_place && !null && !kf_measurement_refresh(r, 1000 + (int)number, BASELINE, 0, &error))
        return NAN;
    r->device->buffers.cache_flush(r->sets, order, 1);
    return kf_runner_batch(runner, &b) == KF_RUNNER_OK ? b.seconds : NAN;
}

/* Fits a line for each side. The time that this takes counts for neither side. */
static void draw_lines(kf_measurement *r)
{
    double began = kf_now(), seconds[2][2];
    size_t turn = protocol.made;
    if (protocol.closed || turn == MAX_TURNS || !kf_timing_record_pairs(&r->record)) return;
    protocol.workload = r->bench->workload;
    for (int side = 0; side < 2 && !protocol.counts[side][0]; side++) {
        double calls = ceil(FIRST_LENGTH / kf_median(r->record.batches[side].seconds,
                                                     r->record.batches[side].count));
        protocol.counts[side][0] = (uint32_t)fmin(calls, 1024.0 / LONGER);
        protocol.counts[side][1] = LONGER * protocol.counts[side][0];
    }
    /* the first side and the first length alternate */
    for (size_t kind = 0; kind < 4; kind++) {
        size_t side = (kind + turn) % 2, length = (kind / 2 + turn / 2) % 2;
        protocol.empty[4 * turn + kind] = batch(r, r->oracle, 8, true, turn);
        seconds[side][length] =
            batch(r, r->runners[side], protocol.counts[side][length], false, turn);
    }
    for (int side = 0; side < 2; side++) {
        const uint32_t *n = protocol.counts[side];
        line *l = &protocol.turns[side][turn];
        l->call = (seconds[side][1] - seconds[side][0]) / (n[1] - n[0]);
        l->fixed = seconds[side][0] - l->call * n[0];
    }
    protocol.made++;
    kf_clock_exclude(&r->bench->clock, KF_PAUSE_JOB, kf_now() - began);
}

static void draw_what_is_missing(kf_measurement *r)
{
    /* The judge also looks at a candidate's libraries when it loads. */
    if (!kf_timing_record_pairs(&r->record)) return;
    for (; !protocol.closed && protocol.made < MIN_TURNS; protocol.late++) draw_lines(r);
    protocol.closed = true;
}

/* A measuring that is made again has other processes. */
static void begin_anew(kf_workbench *bench)
{
    if (bench->result->timed && (!protocol.closed || bench->workload == protocol.workload))
        memset(&protocol, 0, sizeof protocol);
}

/* Medians of what the turns found, and of the quotients of each. */
static double quotient_of_lines(line sides[2])
{
    double calls[2][MAX_TURNS], fixed[2][MAX_TURNS], quotients[MAX_TURNS];
    for (size_t i = 0; i < protocol.made; i++) {
        for (int side = 0; side < 2; side++) {
            calls[side][i] = protocol.turns[side][i].call;
            fixed[side][i] = protocol.turns[side][i].fixed;
        }
        quotients[i] = calls[0][i] / calls[1][i];
    }
    for (int side = 0; side < 2; side++)
        sides[side] =
            (line){kf_median(calls[side], protocol.made), kf_median(fixed[side], protocol.made)};
    return kf_median(quotients, protocol.made);
}

/* Returns half the interquartile range, relative to the median. */
static double spread(const double *values)
{
    return (kf_quantile(values, TURNS, 0.75) - kf_quantile(values, TURNS, 0.25)) / 2 /
           kf_median(values, TURNS);
}

/* Quotients of the judged speedup and another, NaN if one of the two is missing. */
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
    printf("  defences: %zu of %zu speedups within %.0f %% of those %s, quotient's median %.4f, "
           "deviation median %.2f %%\n",
           t->within, t->found, 100 * ALLOWED, whose, kf_median(t->ratios, t->found),
           100 * kf_median(t->deviations, t->found));
    gpu_figure(name, t->found ? 100.0 * (double)t->within / (double)t->found : NAN, "%",
               GPU_AT_LEAST, 100);
}

static quotients compare(kf_judge *judge, const kf_prepared *p, const char *name,
                         const kf_problem *problem, const kf_workload_verdict *found)
{
    plain_entry entries[2] = {plain_load(p->trusted[KF_TRUSTED_BASELINE].binary.path),
                              plain_load(p->candidate.binary)};
    double plain[2][TURNS];
    if (!entries[0] || !entries[1])
        return printf("  %s: its binaries can't be loaded\n", name), unknown;
    for (int turn = 0; turn < TURNS; turn++)
        for (int side = 0; side < 2; side++)
            plain[side][turn] =
                plain_seconds(judge, entries[side], problem,
                              side ? found->candidate_seconds : found->baseline_seconds);
    double quotient = kf_median(plain[0], TURNS) / kf_median(plain[1], TURNS),
           ratio = found->speedup.value / quotient;
    printf("  %-12s %-22s judged %7.4fx [%.4f %.4f] %d pairs, plain %7.4fx (%.2f / %.2f us, +-%.2f "
           "%% / %.2f %%): %+.2f %%\n",
           kf_task_name(p->job->task), name, found->speedup.value, found->speedup.low,
           found->speedup.high, found->pairs, quotient, kf_median(plain[0], TURNS) * 1e6,
           kf_median(plain[1], TURNS) * 1e6, 100 * spread(plain[0]), 100 * spread(plain[1]),
           100 * (ratio - 1));
    if (!protocol.made) return (quotients){NAN, ratio};
    line sides[2];
    double lines = quotient_of_lines(sides), same = found->speedup.value / lines;
    printf("  %36s in the runners' processes %.4fx (%.2f / %.2f us, %zu turns, %zu of them late): "
           "%+.2f %%; "
           "beside calls %.0f / %.0f us, empty %.0f us\n",
           "", lines, sides[0].call * 1e6, sides[1].call * 1e6, protocol.made, protocol.late,
           100 * (same - 1), sides[0].fixed * 1e6, sides[1].fixed * 1e6,
           kf_median(protocol.empty, 4 * protocol.made) * 1e6);
    return (quotients){same, ratio};
}

static quotients one_candidate(kf_judge *judge, kf_prepared *p, const char *name)
{
    kf_error error = {0};
    kf_auto(kf_verdict) verdict = kf_judge_measure(judge, p, false, NULL, &error);
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    if (!problem || !verdict || verdict->status != KF_CORRECT)
        return printf("  %s: %s\n", name, verdict ? verdict->message : error.text), unknown;
    /* the first timed workload is the task's main one */
    for (size_t i = 0; i < verdict->workload_count; i++) {
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
            jobs[used] =
                own ? kf_job_new("undisturbed", own, file->text, file->size, NULL, 0, &error)
                    : NULL;
            if (!jobs[used]) continue;
            if (seconds > 0) jobs[used]->options.seconds = seconds;
            jobs[used]->options.half_width = HALF_WIDTH;
            snprintf(names[used], sizeof names[used], "%.60s", file->name);
            /* all are built at a time */
            prepared[used] = kf_judge_prepare(judge, jobs[used], -1, &error);
            if (prepared[used])
                used++;
            else
                kf_job_free(jobs[used]);
        }
        kf_task_free(task);
    }
    gpu_before = begin_anew;
    gpu_behind_pair = draw_lines;
    gpu_at_end = draw_what_is_missing;
    for (size_t i = 0; i < used; i++) {
        memset(&protocol, 0, sizeof protocol);
        quotients q = one_candidate(judge, prepared[i], names[i]);
        kf_prepared_free(prepared[i]);
        kf_job_free(jobs[i]);
        count_quotient(&same, q.same_processes);
        count_quotient(&plain, q.plain);
    }
    gpu_before = NULL;
    gpu_behind_pair = NULL;
    gpu_at_end = NULL;
    say(&same, "without them in the same processes", "speedups within 1 % of those without them");
    say(&plain, "of a plain process", "speedups within 1 % of a plain process's");
    return same.found == 0 || same.found < used;
}
