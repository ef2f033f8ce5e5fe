/* One batch: preparation, the clock around it, and inspection. measure.c decides the order of
 * batches. */
#include "libraries.h"
#include "measure_internal.h"
#include "memory_settle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Work left outside the stream is a finding if it takes more seconds, and a larger part of the
 * batch, than this. */
#define GAP_SECONDS 0.0005
#define GAP_PART 0.05
/* A waking is free up to this many times the baseline's quickest, plus WAKING_SECONDS. */
#define WAKING_FACTOR 4.0
#define WAKING_SECONDS 0.0001
/* Processor time of a waking is free up to this many times the baseline's usual, plus
 * WORK_SECONDS. */
#define WORK_FACTOR 1.5
#define WORK_SECONDS 1e-5
/* A call may take this many times the baseline's time, plus kf_measurement_call_seconds, because a
 * first call may build tables. For each further call of a batch it may take that many times the
 * baseline's, or OWN_FACTOR times the candidate's own if that is more. */
#define TIMEOUT_FACTOR 100.0
#define OWN_FACTOR 10.0
/* The least limit of a call, in seconds. A job's time has room for CALLS_A_JOB slow calls: fewer
 * make no verdict. So a slower call may take that part of the job's time. */
#define MIN_TIMEOUT 1.0
#define CALLS_A_JOB 24
/* Before a pair is timed, a solution in Python may take so many seconds. cuDNN tries its
 * algorithms, kernels are compiled and graphs captured, for each path that the solution takes. */
#define FIRST_SECONDS 30.0
/* A workload waits for the device's memory for at most so many seconds, or its time for timing if
 * that is more. */
#define MAX_SETTLE_SECONDS 4.0
/* A candidate that had less than this many times the baseline's time, plus the seconds of a call,
 * is not called too slow. */
#define FAIR_FACTOR 10.0

bool kf_measurement_add_sample(kf_measurement *r, char side, int pair, const kf_batch *batch)
{
    kf_sample sample = {.side = side,
                        .pair = pair,
                        .calls = (int)batch->count,
                        .seconds = batch->seconds,
                        .claimed = batch->claimed};
    r->device->sample(r->bench->device, &sample);
    return kf_workload_add_sample(r->bench->result, &sample);
}

uint64_t kf_measurement_draw(const kf_measurement *r, const char *purpose, int number)
{
    char label[48];
    snprintf(label, sizeof label, "%.24s/%d", purpose, r->bench->attempt);
    return kf_secret_draw(r->bench->secret, label, (uint32_t)r->bench->workload, (uint32_t)number);
}

double kf_measurement_call_seconds(const kf_measurement *r)
{
    return fmax(MIN_TIMEOUT, r->bench->options->timeout_seconds / CALLS_A_JOB);
}

static double many_times_the_baseline(const kf_measurement *r, double factor, uint32_t calls)
{
    double own = OWN_FACTOR * r->schedule.candidate_call, call = kf_measurement_call_seconds(r),
           /* Without timing there are no first calls that show the candidate's own. */
        least = r->schedule.timed ? call : call * calls,
           seconds = least + fmax(factor * r->schedule.baseline_call, own) * calls;
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

/* Checks for work that calls left outside the stream. Its time is charged, but the contract says
 * that the stream waits for it. The runner's own word is evidence enough, because a candidate gains
 * nothing by a false one. The machine may delay one batch, but not most of them. */
static bool check_gap(kf_measurement *r, const kf_batch *batch)
{
    r->leftovers.gap_batches++;
    r->leftovers.gaps += has_gap(batch);
    if (r->leftovers.gaps < 2 || 2 * r->leftovers.gaps < r->leftovers.gap_batches) return true;
    r->over = true;
    return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_CONTRACT_VIOLATION,
                                  KF_BLAME_CANDIDATE, "stream.left", batch->gap, 0,
                                  "the device was busy for %.3g s more after the stream was done. "
                                  "Let the stream wait for all work of the call",
                                  batch->gap) != NULL;
}

/* Between waking and request a runner has no work, but a candidate's signal handler would find the
 * inputs ready. So what goes beyond the baseline's quickest waking counts as time, on both sides.
 */
void kf_measurement_charge_late(const kf_measurement *r, kf_side side, kf_batch *batch)
{
    const kf_wakings *idle = &r->record.idle_wakings;
    double quickest = side == CANDIDATE && idle->count ? kf_median(idle->seconds, idle->count)
                                                       : r->record.wakings[BASELINE].quickest;
    double free_of_charge = fmin(batch->waking, WAKING_FACTOR * quickest + WAKING_SECONDS);
    batch->seconds += batch->waking - free_of_charge;
    /* timing_analysis.c compares the rest with the baseline's. */
    batch->waking = free_of_charge;
}

/* Returns the processor time that other threads than the launching one had while the runner was
 * woken. They could work on inputs that lie ready. Up to WORK_FACTOR times the baseline's usual
 * time and WORK_SECONDS, all of it is waking. On a GPU and in Python, threads of libraries may work
 * then. */
static double work_of_others(kf_measurement *r, kf_side side, const kf_batch *batch)
{
    if (!r->bench->device->calls_block || kf_measurement_has_python(r)) return 0;
    kf_wakings *usual = &r->waking_work;
    if (side == BASELINE) kf_wakings_append(usual, batch->waking_work);
    size_t count = usual->count < KF_WAKINGS ? usual->count : KF_WAKINGS;
    double free_of_charge =
        count ? WORK_FACTOR * kf_median(usual->seconds, count) + WORK_SECONDS : INFINITY;
    return fmax(batch->waking_work - free_of_charge, 0);
}

void kf_measurement_charge_waking(kf_measurement *r, kf_side side, kf_batch *batch)
{
    kf_wakings_append(&r->record.wakings[side], batch->waking);
    double seconds = batch->seconds, others = work_of_others(r, side, batch);
    kf_measurement_charge_late(r, side, batch);
    batch->seconds = fmax(batch->seconds, seconds + others);
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
    look->done =
        look->r->device->buffers.snapshot(look->r->sets, look->list, look->count, look->error);
}

void kf_measurement_snapshot_nothing(void *context)
{
    (void)context;
}

/* The baseline belongs to the task, so it is inspected only in the pairs in which it is compared.
 */
bool kf_measurement_inspect(kf_measurement *r, kf_side side, kf_error *error)
{
    kf_damage damage;
    if (r->over) return true;
    if (!kf_measurement_turn_to(r, side, error)) return false;
    if (!r->device->buffers.inspect(r->sets, r->lists.chosen, &damage, error)) return false;
    if (damage.kind == KF_DAMAGE_NONE) return true;
    r->over = true;
    if (side == CANDIDATE)
        return kf_checker_damage(r->checker, &damage) || kf_fail_memory(error, "a measurement");
    return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_JUDGE_ERROR,
                                  KF_BLAME_TASK, "baseline.failed", NAN, NAN,
                                  "the task's baseline writes outside its outputs, or to an input: "
                                  "argument %s",
                                  r->bench->problem->arguments[damage.argument].name) != NULL ||
           kf_fail_memory(error, "a finding");
}

/* Checks for work and threads that a batch of the candidate left behind. */
static bool check_leftovers(kf_measurement *r, kf_runner *runner, const kf_batch *batch,
                            bool priming_call, kf_error *error)
{
    if ((!priming_call || has_gap(batch)) && !check_gap(r, batch))
        return kf_fail_memory(error, "a finding");
    int extra = kf_runner_extra_threads(runner) - r->leftovers.spare_threads;
    if (extra <= 0) return true;
    r->over = true;
    return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_CONTRACT_VIOLATION,
                                  KF_BLAME_CANDIDATE, "threads.left", extra, 0,
                                  "%d thread%s or process%s left after the calls returned. "
                                  "Join host threads in the call",
                                  extra, extra == 1 ? "" : "s",
                                  extra == 1 ? " is" : "es are") != NULL ||
           kf_fail_memory(error, "a finding");
}

/* Writes which limit a batch has reached, and how to change it. */
static void limit_text(const kf_measurement *r, const kf_batch *batch, char *text, size_t size)
{
    const char *s = batch->count == 1 ? "" : "s";
    int used = snprintf(text, size, "running %u call%s", batch->count, s);
    /* The reason follows. */
    if (!kf_runner_can_stop(r->runners[CANDIDATE])) return;
    if (batch->waking <= 0) /* The runner did not answer before the batch. */
        snprintf(text, size, "answering the judge before a call. All its answers have %.3g s",
                 KF_RUNNER_COMMAND_SECONDS);
    else
        snprintf(text + used, size - (size_t)used,
                 ". The limit of %u call%s is %.3g s: %.3g s for %s call (1/%d of --timeout, "
                 "%.6g s), and %.3g s a call (%.0f times the baseline, or %.0f times its own time)",
                 batch->count, s, batch->timeout, kf_measurement_call_seconds(r),
                 r->schedule.timed ? "the first" : "each", CALLS_A_JOB,
                 r->bench->options->timeout_seconds,
                 fmax(TIMEOUT_FACTOR * r->schedule.baseline_call,
                      OWN_FACTOR * r->schedule.candidate_call),
                 TIMEOUT_FACTOR, OWN_FACTOR);
}

/* Reports that the candidate took too long, with its limit. */
static bool report_timeout(kf_measurement *r, const kf_batch *batch, kf_error *error)
{
    char doing[300];
    kf_workload_verdict *result = r->bench->result;
    size_t before = result->finding_count;
    limit_text(r, batch, doing, sizeof doing);
    if (!kf_measurement_report(r, r->runners[CANDIDATE], KF_ROLE_CANDIDATE, KF_RUNNER_TIMEOUT, 0,
                               doing, error))
        return false;
    if (result->finding_count > before)
        result->findings[result->finding_count - 1].limit = batch->timeout;
    return true;
}

bool kf_measurement_batch(kf_measurement *r, kf_side side, uint32_t first, uint32_t count,
                          char letter, int pair, kf_batch *batch, kf_error *error)
{
    snapshot look = {r, r->lists.order + first, count, true, error};
    if (!kf_measurement_turn_to(r, side, error)) return false;
    *batch = (kf_batch){.order = r->lists.order + first,
                        .count = count,
                        .keep = first > 0 || letter == KF_SECOND_CALL,
                        .timeout = kf_measurement_timeout(r, side, count)};
    /* The judge reads no results of a priming call. Its memory serves the batch after it. */
    bool priming_call = letter == KF_PRIMING_CALL;
    if (r->device->buffers.snapshot)
        batch->answered =
            side == CANDIDATE && !priming_call ? snapshot_now : kf_measurement_snapshot_nothing;
    batch->context = &look;
    if (!kf_measurement_occupy_batch(r, batch, error)) return false;
    if (r->watching.watch && side == CANDIDATE) {
        batch->running = r->watching.look_on;
        batch->running_context = r->watching.watch;
        batch->running_after = r->watching.first_look;
    }
    kf_runner *runner = r->runners[side];
    kf_clock *clock = &r->bench->clock;
    bool sampled = side == CANDIDATE && !priming_call && r->device->order.hold;
    if (sampled && !r->device->order.hold(r->sets, UINT32_MAX, error)) return false;
    kf_measurement_plan_look(r, side, pair, batch);
    /* For other batches a rough time is enough. Watched ones look like timed ones. */
    if (letter == 'a' || pair >= 0 || batch->running) kf_runner_pool_pause(r->bench->pool);
    bool hurried =
        side == CANDIDATE && batch->timeout < many_times_the_baseline(r, FAIR_FACTOR, count);
    kf_runner_event event = kf_runner_batch(runner, batch);
    if (!kf_measurement_end_occupation(r, error)) return false;
    bool alive = event == KF_RUNNER_OK || event == KF_RUNNER_DEVICE_ERROR;
    if (!kf_measurement_look(r, side, batch, alive, error)) return false;
    if (r->over) return true;
    hurried = hurried || (side == CANDIDATE && kf_clock_at_ceiling(clock, kf_now()));
    if (event == KF_RUNNER_TIMEOUT && hurried && kf_runner_can_stop(runner)) {
        kf_clock_charge_candidate(clock, batch->timeout);
        return kf_measurement_out_of_time(r, error);
    }
    if (event == KF_RUNNER_TIMEOUT && side == CANDIDATE) return report_timeout(r, batch, error);
    if (event != KF_RUNNER_OK)
        return kf_measurement_report(
            r, runner, side == CANDIDATE ? KF_ROLE_CANDIDATE : KF_ROLE_BASELINE, event, batch->code,
            count == 1 ? "running a call" : "running a batch of calls", error);
    kf_clock_exclude(clock, KF_PAUSE_STALL, batch->stalled);
    if (side == CANDIDATE && batch->stalled > 0) kf_runner_set_deadline(runner, clock->deadline);
    if (!priming_call) kf_measurement_charge_waking(r, side, batch);
    if (letter && !priming_call && letter != KF_SECOND_CALL &&
        !kf_measurement_add_sample(r, letter, pair, batch))
        return kf_fail_memory(error, "a measurement");
    if (!look.done) return false;
    if (sampled &&
        !r->device->order.take_samples(r->sets, batch->nonce, batch->order, count, error))
        return false;
    if (side == CANDIDATE) {
        kf_clock_charge_candidate(clock, batch->seconds - batch->stalled);
        if (!check_leftovers(r, runner, batch, priming_call, error)) return false;
    }
    for (uint32_t i = first; i < first + count; i++) r->lists.chosen[r->lists.order[i]] = true;
    return true;
}

void kf_measurement_memory_settle(kf_measurement *r)
{
    if (!r->schedule.timed || !r->device->memory_settle || r->settling.given_up) return;
    double began = kf_now();
    r->device->memory_settle(r->bench->device, KF_MEMORY_SETTLE_SECONDS);
    double waited = kf_now() - began;
    /* The deadline stays, because runners have been given it. */
    kf_clock_exclude(&r->bench->clock, KF_PAUSE_WORKLOAD, waited);
    r->settling.seconds += waited;
    r->settling.given_up = r->settling.seconds > fmax(MAX_SETTLE_SECONDS, r->bench->seconds);
}

static kf_role role_of(kf_side side)
{
    return side == CANDIDATE ? KF_ROLE_CANDIDATE : KF_ROLE_BASELINE;
}

bool kf_measurement_turn_to(kf_measurement *r, kf_side side, kf_error *error)
{
    return r->device->buffers.turn_to(r->sets, role_of(side), error);
}

/* Comes before batches that are timed. Others need no empty caches. */
static void empty_caches(kf_measurement *r, uint32_t called)
{
    if (r->schedule.timed) r->device->buffers.cache_flush(r->sets, r->lists.order, called);
}

bool kf_measurement_refresh(kf_measurement *r, int number, kf_side side, uint32_t called,
                            kf_error *error)
{
    char purpose[32];
    snprintf(purpose, sizeof purpose, "poison%d", (int)side);
    if (!kf_measurement_occupies(r)) kf_runner_pool_resume(r->bench->pool);
    if (!r->device->buffers.poison(r->sets, role_of(side), kf_measurement_draw(r, purpose, number),
                                   error))
        return false;
    empty_caches(r, called);
    memset(r->lists.chosen, 0, r->set_count * sizeof *r->lists.chosen);
    return true;
}

bool kf_measurement_ready_baseline(kf_measurement *r, int number, uint32_t called, kf_error *error)
{
    if (r->in_place) return kf_measurement_refresh(r, number, BASELINE, called, error);
    if (!kf_measurement_turn_to(r, BASELINE, error)) return false;
    empty_caches(r, called);
    return true;
}
