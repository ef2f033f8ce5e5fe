/* One batch: what comes before it, the clock around it, what it broke, what came out. The order of
 * batches is the business of measure.c. */
#include "measure_internal.h"
#include "memory_settle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* seconds of the baseline's: beside longer ones what is cold is nothing */
#define REHEARSED_CALL 0.02
/* of work left beside the stream, and as a part of the batch, that makes a finding */
#define GAP_SECONDS 0.0005
#define GAP_PART 0.05
/* a waking may take this times the baseline's quickest, and WAKING_SECONDS, before it counts */
#define WAKING_FACTOR 4.0
#define WAKING_SECONDS 0.0001
#define TIMEOUT_FACTOR 100.0
#define MIN_TIMEOUT 1.0 /* seconds; a first call may have to build tables */
#define FIRST_SECONDS                                                                             \
    30.0 /* the same for a solution in Python, until a pair is timed: cuDNN tries its algorithms, \
            kernels are compiled, graphs are captured, and that for each way that it goes */
/* seconds of a workload that its device's memory is waited for, or as many as are for timing */
#define MAX_SETTLE_SECONDS 4.0
/* who has had less than this times the baseline's time, and MIN_TIMEOUT, is not too slow by that */
#define FAIR_FACTOR 10.0

static bool add_sample(kf_measurement *r, char side, int pair, const kf_batch *batch)
{
    kf_sample sample = {.side = side,
                        .pair = pair,
                        .calls = (int)batch->count,
                        .seconds = batch->seconds,
                        .claimed = batch->claimed};
    r->device->sample(r->bench->device, &sample);
    return kf_workload_add_sample(r->bench->result, &sample);
}

uint64_t kf_measurement_draw(kf_measurement *r, const char *purpose, int number)
{
    char label[48];
    snprintf(label, sizeof label, "%.24s/%d", purpose, r->bench->attempt);
    return kf_secret_draw(r->bench->secret, label, (uint32_t)r->bench->workload, (uint32_t)number);
}

static double many_times_the_baseline(const kf_measurement *r, double factor, uint32_t calls)
{
    double seconds = MIN_TIMEOUT + factor * r->baseline_call * calls;
    return r->bench->options->asan ? 10 * seconds : seconds;
}

double kf_measurement_timeout(const kf_measurement *r, kf_side side, uint32_t calls)
{
    if (side == BASELINE) return 60;
    double seconds = many_times_the_baseline(r, TIMEOUT_FACTOR, calls);
    bool python = r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH;
    if (python && kf_timing_record_pairs(&r->record) == 0) seconds = fmax(seconds, FIRST_SECONDS);
    double left = kf_measurement_time_left(r);
    return fmin(seconds, left > 0.1 ? left : 0.1);
}

static bool has_gap(const kf_batch *batch)
{
    return batch->gap > GAP_SECONDS && batch->gap > GAP_PART * batch->seconds;
}

/* Work beside the stream that a call left behind is in the time, but the contract is that the
 * stream waits for it. What the runner says is enough here: it has nothing to gain from saying it.
 * One batch may have been held up by the machine, most of them can't. */
static bool check_gap(kf_measurement *r, const kf_batch *batch)
{
    r->gap_batches++;
    r->gaps += has_gap(batch);
    if (r->gaps < 2 || 2 * r->gaps < r->gap_batches) return true;
    r->over = true;
    return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_CONTRACT_VIOLATION,
                                  KF_BLAME_CANDIDATE, "stream.left", batch->gap, 0,
                                  "the device was busy for %.3g s more after the stream was done: "
                                  "outputs have to be final when it is",
                                  batch->gap) != NULL;
}

/* Between waking and the request a runner has nothing to do, but a candidate's signal handler finds
 * inputs that are ready. What goes beyond the baseline's quickest waking is therefore time like any
 * other, on both sides. */
static void charge_late(const kf_measurement *r, kf_side side, kf_batch *batch)
{
    const kf_wakings *idle = &r->record.idle_wakings;
    double quickest = side == CANDIDATE && idle->count ? kf_median(idle->seconds, idle->count)
                                                       : r->record.wakings[BASELINE].quickest;
    double free_of_charge = fmin(batch->waking, WAKING_FACTOR * quickest + WAKING_SECONDS);
    batch->seconds += batch->waking - free_of_charge;
    /* kf_measurement_conclude compares what is left with the baseline's */
    batch->waking = free_of_charge;
}

static void charge_waking(kf_measurement *r, kf_side side, kf_batch *batch)
{
    kf_wakings_append(&r->record.wakings[side], batch->waking, batch->worked);
    charge_late(r, side, batch);
}

typedef struct snapshot {
    kf_measurement *r;
    const uint32_t *list;
    uint32_t count;
    bool done;
    kf_error *error;
} snapshot;

static void snapshot_now(void *context)
{
    snapshot *look = context;
    look->done = look->r->device->snapshot(look->r->sets, look->list, look->count, look->error);
}

void kf_measurement_snapshot_nothing(void *context)
{
    (void)context;
}

/* What the batches since the last refresh broke. The baseline is the task's own: it is looked at in
 * the pairs in which it is compared. */
bool kf_measurement_inspect(kf_measurement *r, kf_side side, kf_error *error)
{
    kf_damage damage;
    if (r->over) return true;
    if (!r->device->inspect(r->sets, r->chosen, &damage, error)) return false;
    if (damage.kind == KF_DAMAGE_NONE) return true;
    r->over = true;
    if (side == CANDIDATE) return kf_checker_damage(r->checker, &damage) || no_memory(error);
    return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_JUDGE_ERROR,
                                  KF_BLAME_TASK, "baseline.failed", NAN, NAN,
                                  "the task's baseline writes where it must not: argument %s",
                                  r->bench->problem->arguments[damage.argument].name) != NULL ||
           no_memory(error);
}

/* One batch of one side on order[first…], and what is to be said about it but for damage. */
bool kf_measurement_batch(kf_measurement *r, kf_side side, uint32_t first, uint32_t count,
                          char letter, int pair, kf_batch *batch, kf_error *error)
{
    snapshot look = {r, r->order + first, count, true, error};
    *batch = (kf_batch){.order = r->order + first,
                        .count = count,
                        .keep = first > 0,
                        .timeout = kf_measurement_timeout(r, side, count)};
    /* its results are nobody's, and memory for those of the batch */
    bool priming_call = letter == KF_PRIMING_CALL;
    if (r->device->snapshot)
        batch->answered =
            side == CANDIDATE && !priming_call ? snapshot_now : kf_measurement_snapshot_nothing;
    batch->context = &look;
    kf_runner *runner = r->runners[side];
    kf_clock *clock = &r->bench->clock;
    /* elsewhere a rough time is enough */
    if (letter == 'a' || pair >= 0) kf_runner_pool_pause(r->bench->pool);
    bool hurried =
        side == CANDIDATE && batch->timeout < many_times_the_baseline(r, FAIR_FACTOR, count);
    kf_runner_event event = kf_runner_batch(runner, batch);
    if (event == KF_RUNNER_TIMEOUT && hurried) {
        kf_clock_charge_candidate(clock, batch->timeout);
        return kf_measurement_out_of_time(r, error);
    }
    if (event != KF_RUNNER_OK)
        return kf_measurement_report(
            r, runner, side == CANDIDATE ? KF_ROLE_CANDIDATE : KF_ROLE_BASELINE, event, batch->code,
            count == 1 ? "running a call" : "running a batch of calls", error);
    kf_clock_exclude(clock, KF_PAUSE_JOB, batch->stalled);
    if (side == CANDIDATE && batch->stalled > 0) kf_runner_set_deadline(runner, clock->deadline);
    if (!priming_call) charge_waking(r, side, batch);
    if (letter && !priming_call && !add_sample(r, letter, pair, batch)) return no_memory(error);
    if (!look.done) return false;
    if (side == CANDIDATE) {
        kf_clock_charge_candidate(clock, batch->seconds - batch->stalled);
        if ((!priming_call || has_gap(batch)) && !check_gap(r, batch)) return no_memory(error);
        int extra = kf_runner_extra_threads(runner) - r->spare_threads;
        if (extra > 0) {
            r->over = true;
            if (!kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_CONTRACT_VIOLATION,
                                        KF_BLAME_CANDIDATE, "threads.left", extra, 0,
                                        "%d thread%s or process%s left after the calls returned; "
                                        "host threads have to be joined in the call",
                                        extra, extra == 1 ? "" : "s",
                                        extra == 1 ? " is" : "es are"))
                return no_memory(error);
        }
    }
    for (uint32_t i = first; i < first + count; i++) r->chosen[r->order[i]] = true;
    return true;
}

/* Sets whose truth can be there at the same time. */
static uint32_t truth_room(const kf_measurement *r)
{
    return r->device->truth_room ? r->device->truth_room(r->sets) : r->set_count;
}

/* Runs the oracle for those of the listed sets whose truth is not there yet. */
bool kf_measurement_find_truth(kf_measurement *r, const uint32_t *list, uint32_t count,
                               kf_error *error)
{
    kf_autofree uint32_t *missing = calloc(count + 1, sizeof *missing);
    uint32_t used = 0;
    if (count > truth_room(r)) return true; /* each when it is compared */
    if (!missing) return no_memory(error);
    for (uint32_t i = 0; i < count; i++)
        if (!r->true_known[list[i]]) missing[used++] = list[i];
    if (!used) return true;
    if (!r->device->prepare_truth(r->sets, missing, used, error)) return false;
    kf_batch batch = {
        .order = missing, .count = used, .timeout = 60 + r->bench->options->timeout_seconds};
    kf_runner_event event = kf_runner_batch(r->oracle, &batch);
    if (event != KF_RUNNER_OK)
        return kf_measurement_report(r, r->oracle, KF_ROLE_ORACLE, event, batch.code,
                                     "running a call", error);
    if (truth_room(r) < r->set_count)
        memset(r->true_known, 0, r->set_count * sizeof *r->true_known);
    for (uint32_t i = 0; i < used; i++) r->true_known[missing[i]] = true;
    return true;
}

bool kf_measurement_compare(kf_measurement *r, kf_side side, const uint32_t *list, uint32_t count,
                            kf_doubts *doubts, kf_error *error)
{
    bool passed = true;
    uint32_t room = truth_room(r);
    kf_runner_pool_resume(r->bench->pool);
    if (!kf_measurement_fetch(r, side, list, count, error)) return false;
    for (uint32_t first = 0; first < count && passed && !r->over; first += room) {
        uint32_t some = count - first < room ? count - first : room;
        if (room < r->set_count &&
            (!kf_measurement_find_truth(r, list + first, some, error) || r->over))
            return r->over;
        if (!kf_checker_compare(r->checker, r->sets, r->variations, list + first, some,
                                side == BASELINE, doubts, &passed, error))
            return false;
    }
    if (!passed) r->over = true;
    return true;
}

static bool among(uint32_t set, const uint32_t *list, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (list[k] == set) return true;
    return false;
}

static void drop(uint32_t set, uint32_t *list, uint32_t *count)
{
    uint32_t k = 0;
    while (list[k] != set) k++;
    list[k] = list[--*count];
}

/* A place in r->order whose outputs may be overwritten: of a set that nobody compares any more,
 * those that were left out first; else of one that has passed, which leaves the list; where all are
 * in doubt of another one than `doubtful`, which then is not judged in this pair. r->set_count:
 * there is none. */
static uint32_t find_spare(const kf_measurement *r, uint32_t doubtful, const kf_doubts *doubts,
                           uint32_t *list, uint32_t *count)
{
    uint32_t found = r->set_count, worth = 0;
    for (uint32_t at = r->set_count; at-- > 0 && worth < 3;) {
        uint32_t set = r->order[at], now = !among(set, list, *count) ? 3
                                           : !doubts->doubtful[set]  ? 2
                                           : set != doubtful         ? 1
                                                                     : 0;
        if (now > worth) found = at, worth = now;
    }
    if (worth == 1 || worth == 2) drop(r->order[found], list, count);
    return found;
}

bool kf_measurement_hear_baseline(kf_measurement *r, uint32_t doubtful, kf_doubts *doubts,
                                  uint32_t *list, uint32_t *count, kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    uint32_t at = find_spare(r, doubtful, doubts, list, count);
    r->heard[doubtful] = true;
    /* the only set there is: what is known of the baseline has to do */
    if (at == r->set_count) return true;
    uint32_t spare = r->order[at];
    doubts->doubtful[spare] = false;
    for (int i = 0; i < problem->argument_count; i++) {
        kf_argument_kind kind = problem->arguments[i].kind;
        if ((kind == KF_INPUT || kind == KF_INOUT) &&
            !r->device->copy_input(r->sets, doubtful, spare, i, error))
            return false;
    }
    kf_batch batch;
    r->variations[spare] = r->variations[doubtful];
    r->true_known[spare] = false;
    if (!kf_measurement_batch(r, BASELINE, at, 1, 0, -1, &batch, error) ||
        !kf_measurement_inspect(r, BASELINE, error))
        return false;
    if (r->over || !kf_measurement_find_truth(r, &spare, 1, error)) return r->over;
    return r->over || kf_measurement_compare(r, BASELINE, &spare, 1, NULL, error);
}

void kf_measurement_memory_settle(kf_measurement *r)
{
    if (!r->timed || !r->device->memory_settle || r->unquiet) return;
    double began = kf_now();
    r->device->memory_settle(r->bench->device, KF_MEMORY_SETTLE_SECONDS);
    double waited = kf_now() - began;
    /* The deadline stays, because runners have been given it. */
    kf_clock_exclude(&r->bench->clock, KF_PAUSE_WORKLOAD, waited);
    r->awaited += waited;
    r->unquiet = r->awaited > fmax(MAX_SETTLE_SECONDS, r->bench->seconds);
}

/* Everything between two batches that is not timed, before the first `called` of the order are
 * called. */
bool kf_measurement_refresh(kf_measurement *r, int number, kf_side side, uint32_t called,
                            kf_error *error)
{
    char purpose[32];
    snprintf(purpose, sizeof purpose, "poison%d", (int)side);
    kf_runner_pool_resume(r->bench->pool);
    if (!r->device->poison(r->sets, kf_measurement_draw(r, purpose, number), error)) return false;
    r->device->cache_flush(r->sets, r->order, called);
    memset(r->chosen, 0, r->set_count * sizeof *r->chosen);
    return true;
}

/* What a batch of the baseline that is only timed needs: its inputs, and nothing in a cache. It has
 * no use for poison. */
bool kf_measurement_ready_baseline(kf_measurement *r, int number, uint32_t called, kf_error *error)
{
    if (r->in_place) return kf_measurement_refresh(r, number, BASELINE, called, error);
    r->device->cache_flush(r->sets, r->order, called);
    return true;
}

bool kf_measurement_steps_aside(const kf_measurement *r)
{
    return r->bench->device->slow_start && !r->bench->device->calls_block;
}

/* `keep`: what its process has computed is not read yet. */
static bool empty_batch(kf_measurement *r, kf_runner *runner, uint32_t count, bool keep,
                        kf_batch *batch, kf_error *error)
{
    *batch =
        (kf_batch){.order = r->order, .count = count, .null = true, .keep = keep, .timeout = 20};
    if (r->device->snapshot) batch->answered = kf_measurement_snapshot_nothing;
    kf_runner_pool_pause(r->bench->pool);
    /* something of the kind that comes before every batch */
    r->device->cache_flush(r->sets, r->order, 1);
    kf_runner_event event = kf_runner_batch(runner, batch);
    if (event == KF_RUNNER_OK) return true;
    return kf_measurement_report(r, runner, runner == r->oracle ? KF_ROLE_ORACLE : KF_ROLE_BASELINE,
                                 event, batch->code, "running an empty batch", error);
}

static bool empty_of(kf_measurement *r, kf_runner *runner, uint32_t count, kf_error *error)
{
    kf_batch batch;
    if (!empty_batch(r, runner, count, false, &batch, error)) return false;
    if (r->over) return true;
    /* what is subtracted from batches has to be made as they are */
    charge_waking(r, BASELINE, &batch);
    if (r->record.empty.count == r->record.capacity) return true;
    kf_series_append(&r->record, &r->record.empty, batch.seconds, 1, batch.waking);
    return add_sample(r, 'n', -1, &batch) || no_memory(error);
}

bool kf_measurement_needs_priming(const kf_measurement *r, kf_side side)
{
    if (!kf_measurement_steps_aside(r) || r->baseline_call > REHEARSED_CALL) return false;
    return r->bench->kinds[side == BASELINE ? KF_ROLE_BASELINE : KF_ROLE_CANDIDATE] ==
           KF_RUNNER_TORCH;
}

bool kf_measurement_prime(kf_measurement *r, kf_side side, double *seconds, kf_error *error)
{
    kf_batch batch;
    if (!kf_measurement_batch(r, side, 0, 1, KF_PRIMING_CALL, -1, &batch, error)) return false;
    charge_late(r, side, &batch); /* nothing is free there, either */
    *seconds = batch.seconds;
    return true;
}

/* Where the run steps aside the oracle's is the last. One of another kind than the baseline makes
 * some that count for nothing; what is to be subtracted is then the baseline's own, behind such a
 * one. */
static bool empty_baseline_batch(kf_measurement *r, kf_side side, uint32_t count, kf_error *error)
{
    kf_batch batch;
    const kf_runner_kind *kinds = r->bench->kinds;
    if (!kf_measurement_steps_aside(r)) return empty_of(r, r->runners[BASELINE], count, error);
    if (kinds[KF_ROLE_ORACLE] == kinds[KF_ROLE_BASELINE])
        return empty_of(r, r->oracle, count, error);
    if (!empty_batch(r, r->oracle, 1, false, &batch, error)) return false;
    if (r->over || side == CANDIDATE) return true;
    if (!empty_of(r, r->runners[BASELINE], count, error)) return false;
    return r->over || empty_batch(r, r->oracle, 1, false, &batch, error);
}

/* What an empty batch costs the candidate's kind of runner: nothing that depends on the number of
 * calls, because what a candidate in Python adds to each of its calls is in its own hands. Always
 * of a runner that no candidate is in. */
static bool empty_candidate_batch(kf_measurement *r, kf_error *error)
{
    kf_batch batch;
    if (!empty_batch(r, r->idle ? r->idle : r->runners[BASELINE], 1, false, &batch, error))
        return false;
    if (r->over) return true;
    /* the first of them, so that their median stays the same */
    if (r->idle && r->record.idle_wakings.count < KF_WAKINGS)
        kf_wakings_append(&r->record.idle_wakings, batch.waking, batch.worked);
    kf_series_append(&r->record, &r->record.empty_candidate, batch.seconds, 1, batch.waking);
    return true;
}

/* And what it costs right behind another one of its process, as before a single call. */
static bool empty_candidate_again(kf_measurement *r, kf_error *error)
{
    kf_batch batch;
    if (!empty_batch(r, r->idle, 1, false, &batch, error)) return false;
    if (!r->over)
        kf_series_append(&r->record, &r->record.idle_again, batch.seconds, 1, batch.waking);
    return true;
}

/* Of a side that rehearses: behind another one of the same process, as its batches come behind a
 * call. */
static bool empty_primed(kf_measurement *r, kf_side side, kf_error *error)
{
    kf_batch batch;
    bool own = side == CANDIDATE && r->idle;
    kf_runner *runner = own                                                  ? r->idle
                        : r->bench->kinds[KF_ROLE_ORACLE] == KF_RUNNER_TORCH ? r->oracle
                                                                             : r->runners[BASELINE];
    if (!empty_batch(r, runner, 1, false, &batch, error)) return false;
    if (r->over) return true;
    return own ? empty_candidate_batch(r, error) : empty_of(r, runner, 1, error);
}

bool kf_measurement_empty_batch(kf_measurement *r, kf_side side, uint32_t count, kf_error *error)
{
    kf_batch batch;
    bool aside = kf_measurement_steps_aside(r);
    if (kf_measurement_needs_priming(r, side)) return empty_primed(r, side, error);
    if (aside ? !r->idle : !kf_measurement_is_apart(r))
        return empty_baseline_batch(r, side, count, error);
    /* The last one is of the side's own kind of runner. */
    if (side == BASELINE)
        return (aside ? empty_batch(r, r->idle, 1, false, &batch, error)
                      : empty_candidate_batch(r, error)) &&
               (r->over || empty_baseline_batch(r, side, count, error));
    return (aside ? empty_batch(r, r->oracle, 1, false, &batch, error)
                  : empty_baseline_batch(r, side, count, error)) &&
           (r->over || empty_candidate_batch(r, error)) &&
           (r->over || !aside || empty_candidate_again(r, error));
}

bool kf_measurement_empty_again(kf_measurement *r, kf_error *error)
{
    kf_batch batch;
    if (!empty_batch(r, r->runners[BASELINE], 1, true, &batch, error)) return false;
    if (r->over) return true;
    charge_waking(r, BASELINE, &batch);
    kf_series_append(&r->record, &r->record.empty_again, batch.seconds, 1, batch.waking);
    return true;
}
