/* The order of batches.
 *
 *   1. Three sets (two where memory is short), the baseline's and the oracle's runner; the
 * baseline's time of a call says how many sets a batch needs.
 *   2. The baseline alone, before the candidate is loaded.
 *   3. The candidate's runner: load, hand over.
 *   4. Pairs: fresh inputs; one batch of each side on the same sets in the same random order, a few
 * sets left out. Before each side the device's memory is waited for (memory_settle.h), as before
 * the baseline alone, outputs are poisoned and caches emptied; behind it inputs, guards and
 * left-out sets are inspected and the outputs of all calls compared, of the baseline's in the first
 * two pairs. The first pair is a warm-up: compared like any other, not timed. Baseline first in the
 * first two pairs, because the candidate's errors are judged beside its; then BC CB BC CB, so that
 * drift cancels (ABBA).
 *   5. In the first timed pairs a single call of each side on a left-out set: latency.
 *   6. The rule of stats.h ends it. If the baseline was slower beside the candidate than alone,
 * alone is measured once more.
 *
 * At any time at most one of the three runners runs; the others are stopped. */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libraries.h"
#include "measure_internal.h"

/* by then the driver's buffers have been written once around, and calls take what they will */
#define WARM_CALLS 4096
#define WARM_SECONDS 0.03 /* of batches; long calls need fewer */
#define WARM_BATCHES 20
/* two batches that agree so well end it, unless calls wait for their launch */
#define WARM_SETTLED 0.02
#define CHECK_PAIRS 3    /* of workloads that are not timed */
#define COMPARED_PAIRS 2 /* in which the baseline's outputs are compared, too */
/* empty ones, a few before each pair: on a busy machine their median needs many */
#define EMPTY_BATCHES 36
#define EMPTIES_A_PAIR 4
#define LATENCY_PAIRS 8

/* ---- the parts, in order --------------------------------------------------------------------- */

/* Batches whose time does not count, until a side's calls have become as fast as they get. Where
 * there are no inouts, outputs are poisoned before the first and all is looked at behind the last.
 * `least`: seconds of the shortest, of two at least; INFINITY without. */
static bool warm_up(kf_measurement *r, kf_side side, double *least, kf_error *error)
{
    double seconds = 0, last = INFINITY;
    *least = INFINITY;
    bool launches = r->baseline_call < r->bench->device->launch_bound;
    kf_measurement_memory_settle(r);
    if (!r->device->fill(r->sets, kf_measurement_draw(r, "warm", (int)side), r->variations, error))
        return false;
    for (uint32_t i = 0; i < r->set_count; i++) r->order[i] = i;
    for (uint32_t i = 0; i < WARM_BATCHES && seconds < WARM_SECONDS && !r->over; i++) {
        kf_batch batch;
        kf_choices_permute(&r->choices, r->order, r->set_count);
        if (i && !r->in_place)
            r->device->cache_flush(r->sets, r->order, r->calls[side]);
        else if (!(side == BASELINE ? kf_measurement_ready_baseline(r, -1, r->calls[side], error)
                                    : kf_measurement_refresh(r, -1, side, r->calls[side], error)))
            return false;
        if (!kf_measurement_batch(r, side, 0, r->calls[side], 0, -1, &batch, error)) return false;
        if (side == CANDIDATE && r->in_place && !kf_measurement_inspect(r, side, error))
            return false;
        /* It may have compiled its kernels in the first one: that is its time, but none that tells
         * of its calls. */
        bool first =
            i == 0 && side == CANDIDATE && r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH;
        if (first)
            kf_clock_exclude(&r->bench->clock, KF_PAUSE_WORKLOAD, batch.seconds);
        else
            seconds += batch.seconds;
        bool settled = fabs(batch.seconds - last) < WARM_SETTLED * batch.seconds;
        if (i) *least = fmin(*least, fmin(last, batch.seconds));
        last = batch.seconds;
        if (settled && (!launches || kf_runner_calls(r->runners[side]) >= WARM_CALLS)) break;
    }
    return side == BASELINE || r->in_place || kf_measurement_inspect(r, side, error);
}

/* The baseline's batches with no candidate there. */
bool kf_measurement_solo(kf_measurement *r, uint32_t calls, kf_series *series, kf_error *error)
{
    series->count = 0;
    r->record.solo_calls = calls;
    kf_measurement_memory_settle(r);
    for (uint32_t i = 0; i < r->set_count; i++) r->order[i] = i;
    /* Inputs varied as beside a candidate: where results are denormal, for one, a division takes
     * longer. */
    kf_checker_vary(r->checker, &r->choices, r->order, 0, r->set_count, false, r->variations);
    if (!r->device->fill(r->sets, kf_measurement_draw(r, "alone", 0), r->variations, error))
        return false;
    for (int i = 0; i <= KF_SOLO_BATCHES && !r->over; i++) { /* the first one warms up */
        kf_batch batch;
        if (kf_measurement_steps_aside(r) &&
            (!kf_measurement_empty_batch(r, BASELINE, calls, error) || r->over))
            return r->over;
        if (kf_measurement_needs_priming(r, BASELINE)) {
            double ignored;
            if (!kf_measurement_prime(r, BASELINE, &ignored, error) || r->over) return r->over;
            if (kf_measurement_needs_priming(r, CANDIDATE) &&
                !r->device->fill(r->sets, kf_measurement_draw(r, "alone", 0), r->variations, error))
                return false; /* as beside it */
        }
        if (!kf_measurement_ready_baseline(r, i, calls, error)) return false;
        if (!kf_measurement_batch(r, BASELINE, 0, calls, i ? 'a' : 0, -1, &batch, error))
            return false;
        if (kf_measurement_fetches_all(r) && !r->over &&
            !kf_measurement_fetch(r, BASELINE, r->order, calls, error))
            return false;
        if (!i || r->over) continue;
        kf_series_append(&r->record, series, batch.seconds, calls, batch.waking);
    }
    return true;
}

/* Charges to the candidate what its current runner was late. */
static void charge_lateness(kf_measurement *r)
{
    const kf_runner *runner = r->runners[CANDIDATE];
    kf_clock_charge_candidate(&r->bench->clock, runner ? kf_runner_late_seconds(runner) : 0);
}

bool kf_measurement_out_of_time(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_clock clock = bench->clock;
    const kf_runner *runner = r->runners[CANDIDATE];
    kf_clock_charge_candidate(&clock, runner ? kf_runner_late_seconds(runner) : 0);
    double all = kf_clock_candidate_total(&clock);
    bool slow = kf_clock_blames_candidate(&clock, bench->options->timeout_seconds, kf_now());
    r->over = true;
    return kf_verdict_add_finding(bench->verdict, bench->result, slow ? KF_TIMEOUT : KF_JUDGE_ERROR,
                                  slow ? KF_BLAME_CANDIDATE : KF_BLAME_MACHINE,
                                  slow ? "time.limit" : "time.budget", all,
                                  bench->options->timeout_seconds,
                                  "not done with %.0f s for the whole job, of which the candidate "
                                  "took %.3g s, %.3g s of them in this workload",
                                  bench->options->timeout_seconds, all, clock.candidate) != NULL ||
           no_memory(error);
}

/* Those for jobs to come, and the one that will count. A driver that starts some has little time
 * for buffers meanwhile, and what is timed beside it is noisy: so when all buffers are there, and
 * pairs wait for them. */
static void expect_spares(const kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    bool strict = bench->options->strict_sandbox;
    if (bench->options->asan) return;
    if (bench->counts && bench->last)
        kf_runner_pool_expect(bench->pool, KF_RUNNER_COUNT, strict, 1);
    if (bench->spare)
        kf_runner_pool_expect(bench->pool, bench->kinds[KF_ROLE_CANDIDATE], strict, bench->spare);
    /* The next job may be on a task that the baseline's runner does not suit. */
    if (bench->spare && bench->kinds[KF_ROLE_CANDIDATE] != KF_RUNNER_TORCH &&
        kf_measurement_kind(bench, KF_ROLE_BASELINE) == KF_RUNNER_TORCH)
        kf_runner_pool_expect(bench->pool, KF_RUNNER_TORCH, strict, 1);
}

/* Python takes seconds to start: nobody waits for that. */
static bool await_spares(const kf_measurement *r, kf_error *error)
{
    return r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH ||
           kf_runner_pool_settle(r->bench->pool, true, error);
}

/* Slow in the warm-up by chance, or so as to be judged on few calls, where chance is large: whose
 * short batch turns out to be shorter than half the baseline's gets as many calls as make one like
 * that, and what was timed so far does not count. At least twice as many, so it ends soon. */
static bool recovers(kf_measurement *r, const double seconds[2], const kf_stopping_rule *rule,
                     kf_stopping_rule *bound)
{
    double longer = seconds[BASELINE] / seconds[CANDIDATE],
           slower = r->calls[BASELINE] / (longer * r->calls[CANDIDATE]);
    if (r->calls[CANDIDATE] >= r->calls[BASELINE] || !(longer > 2)) return false;
    r->calls[CANDIDATE] =
        slower > KF_SLOW ? (uint32_t)(longer * r->calls[CANDIDATE]) : r->calls[BASELINE];
    if (!(slower > KF_SLOW)) *bound = *rule;
    kf_workload_verdict *result = r->bench->result;
    for (size_t i = 0; i < result->sample_count; i++) result->samples[i].pair = -1;
    kf_timing_record_drop_pairs(&r->record);
    return true;
}

static bool measure_pairs(kf_measurement *r, const kf_stopping_rule *rule, kf_error *error)
{
    kf_stopping_rule bound = *rule;
    kf_timing_record *record = &r->record;
    bool repeated = false; /* the warm-up, with other sets */
    for (int number = 0; !r->over; number++) {
        if (!r->timed && number == CHECK_PAIRS) break;
        kf_pair_times times[2] = {{NAN, NAN, NAN, NAN, NAN}, {NAN, NAN, NAN, NAN, NAN}};
        kf_pair_plan plan = {.number = number,
                             .serial = r->serial++,
                             .timed = r->timed && number > 0,
                             .baseline_compared = number < COMPARED_PAIRS || !r->timed,
                             .latency = r->timed && number > 0 && number <= LATENCY_PAIRS,
                             .candidate_first = number >= COMPARED_PAIRS && r->timed && number % 2};
        if (plan.timed && number == 1 && !await_spares(r, error)) return false;
        for (int i = 0; i < EMPTIES_A_PAIR && plan.timed && !r->over &&
                        r->record.empty.count < EMPTY_BATCHES && !kf_measurement_steps_aside(r);
             i++)
            if (!kf_measurement_empty_batch(r, CANDIDATE, r->calls[BASELINE], error)) return false;
        if (!r->over && !kf_measurement_pair(r, &plan, times, error)) return false;
        if (r->over) break;
        const double seconds[2] = {times[BASELINE].batch, times[CANDIDATE].batch};
        if (number == 0 && r->timed) {
            bool again = repeated;
            if (!kf_measurement_adapt(r, seconds, &bound, &again, error)) return false;
            if (again != repeated) number--; /* it has number 0 once more */
            repeated = again;
        }
        bool enough = kf_timing_record_pairs(record) >= bound.least_pairs;
        if (kf_measurement_time_left(r) <= 0) {
            if (enough) break;
            return kf_measurement_out_of_time(r, error);
        }
        if (!plan.timed) continue;
        if (recovers(r, seconds, rule, &bound)) {
            number = 0; /* the next is the first */
            continue;
        }
        kf_timing_record_add_pair(record, times, r->calls);
        size_t pairs = kf_timing_record_pairs(record);
        kf_interval speedup = {NAN, NAN, NAN};
        if (kf_stopping_look(&bound, pairs))
            speedup = kf_speedup(record->batches[BASELINE].seconds,
                                 record->batches[CANDIDATE].seconds, pairs, KF_TIMING_CONFIDENCE);
        /* without an interval the time so far were wasted */
        if (pairs < bound.least_pairs) continue;
        if (pairs == record->capacity ||
            kf_stop_measuring(&bound, &speedup, pairs,
                              kf_clock_elapsed(&r->bench->clock, kf_now())))
            break;
    }
    r->bench->result->sets = (int)r->set_count;
    r->bench->result->pairs = (int)kf_timing_record_pairs(record);
    return true;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* What failed may have left work on the device behind, and nothing else begins before that is gone.
 */
static void release(kf_measurement *r, bool clean)
{
    kf_runner *runners[] = {r->runners[CANDIDATE], r->runners[BASELINE], r->oracle, r->idle};
    charge_lateness(r);
    /* the driver takes twice as long for that while it ends a process */
    if (clean) kf_measurement_drop_sets(r);
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++) kf_runner_begin_kill(runners[i]);
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++) {
        double began = kf_now();
        kf_runner_pool_retire(r->bench->pool, runners[i], !clean);
        /* its memory, which may be large, is given back */
        if (i == 0) kf_clock_charge_candidate(&r->bench->clock, kf_now() - began);
    }
    if (!clean) kf_runner_pool_drop_trusted(r->bench->pool);
    r->runners[BASELINE] = r->runners[CANDIDATE] = r->oracle = r->idle = NULL;
    kf_measurement_drop_sets(r);
    kf_timing_record_free(&r->record);
    kf_checker_free(r->checker);
    r->checker = NULL;
}

/* The task's own runners go on from job to job; without their buffers, whose memory is wanted. */
static void keep_trusted(kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    kf_runner **runners[] = {&r->runners[BASELINE], &r->oracle};
    for (int i = 0; i < 2; i++) {
        char key[4400];
        kf_role role = i ? KF_ROLE_ORACLE : KF_ROLE_BASELINE;
        if (*runners[i] && kf_runner_unmap(*runners[i]) == KF_RUNNER_OK)
            kf_runner_pool_keep_trusted(bench->pool, role, kf_measurement_key(bench, role, key),
                                        bench->options->strict_sandbox, kf_steal(runners[i]));
    }
    if (r->stale)
        kf_runner_pool_unlearn(bench->pool, kf_task_hash(bench->task), bench->workload);
    else if (r->known.task[0] && !r->recalled)
        kf_runner_pool_learn(bench->pool, &r->known);
}

/* The candidate's runner for the next workload of this round. */
static bool keep_candidate(kf_measurement *r, kf_error *error)
{
    if (!r->bench->going || r->bench->last) return true;
    kf_runner *runner = r->runners[CANDIDATE];
    kf_runner_event event = runner ? kf_runner_unmap(runner) : KF_RUNNER_OK;
    if (event != KF_RUNNER_OK)
        return kf_measurement_report(r, runner, KF_ROLE_CANDIDATE, event, 0,
                                     "giving its buffers back", error);
    charge_lateness(r);
    *r->bench->going = kf_steal(&r->runners[CANDIDATE]);
    return true;
}

/* Runners for this workload, started side by side. */
static void expect_runners(const kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    bool strict = bench->options->strict_sandbox;
    char key[4400];
    size_t counts[KF_RUNNER_KINDS] = {0};
    counts[bench->kinds[KF_ROLE_CANDIDATE]] += !(bench->going && *bench->going);
    counts[kf_measurement_kind(bench, KF_ROLE_BASELINE)] += !kf_runner_pool_can_serve(
        bench->pool, KF_ROLE_BASELINE, kf_measurement_key(bench, KF_ROLE_BASELINE, key), strict,
        bench->problem);
    counts[bench->kinds[KF_ROLE_ORACLE]] += !kf_runner_pool_can_serve(
        bench->pool, KF_ROLE_ORACLE, kf_measurement_key(bench, KF_ROLE_ORACLE, key), strict,
        bench->problem);
    for (int kind = 0; kind < KF_RUNNER_KINDS && !bench->options->asan; kind++)
        kf_runner_pool_expect(bench->pool, (kf_runner_kind)kind, strict, counts[kind]);
}

/* How many sets there are truths for, and how large arenas are, follows from what memory is free
 * once this is done. */
static void make_room(const kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    char key[4400];
    kf_runner_pool_make_room(bench->pool, kf_measurement_key(bench, KF_ROLE_BASELINE, key),
                             bench->options->strict_sandbox, bench->problem);
}

/* On a processor what starts takes from what is measured first, the baseline alone, and there is
 * nothing to be gained by it: importing PyTorch keeps processors as busy as measuring does.
 * Nobody's time, as in kf_measurement_start_runner. */
static bool await_starting(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    if (bench->device->slow_start || bench->kinds[KF_ROLE_CANDIDATE] != KF_RUNNER_TORCH)
        return true;
    kf_clock_pause(&bench->clock, kf_now());
    bool settled = kf_runner_pool_settle(bench->pool, true, error);
    kf_clock_resume(&bench->clock, KF_PAUSE_JOB, kf_now());
    return settled;
}

/* Does what one job finds out about the baseline hold for the next? In Python its buffers may be
 * others, and importing takes longer than that. */
static bool is_remembered(const kf_measurement *r)
{
    return kf_measurement_steps_aside(r) && !kf_measurement_is_apart(r);
}

/* What an earlier job found out about this baseline, if its runner is still there. */
static bool recall(kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    char key[4400];
    const char *task = kf_task_hash(bench->task);
    if (!r->timed || !is_remembered(r) || !task ||
        !kf_runner_pool_has_trusted(bench->pool, KF_ROLE_BASELINE,
                                    kf_measurement_key(bench, KF_ROLE_BASELINE, key),
                                    bench->options->strict_sandbox))
        return false;
    const kf_known *known =
        kf_runner_pool_recall(bench->pool, task, bench->workload, bench->seconds);
    if (!known || known->batch != kf_measurement_batch_length(r)) return false;
    r->known = *known;
    return true;
}

static void take_over(kf_measurement *r)
{
    const kf_known *known = &r->known;
    r->baseline_call = known->call;
    r->empty_batch = known->empty_batch;
    r->set_cost = known->set_cost;
    r->pair_time = known->pair_time;
    r->calls[BASELINE] = r->calls[CANDIDATE] = r->record.solo_calls = known->calls;
    for (size_t i = 0; i < known->solo_count; i++)
        kf_series_append(&r->record, &r->record.solo, known->solo_seconds[i], 1,
                         known->solo_woken[i]);
}

static void note(kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    const char *task = kf_task_hash(bench->task);
    const kf_series *solo = &r->record.solo;
    if (!is_remembered(r) || !task || solo->count > KF_SOLO_BATCHES) return;
    r->known = (kf_known){.workload = bench->workload,
                          .at = kf_now(),
                          .seconds = bench->seconds,
                          .batch = kf_measurement_batch_length(r),
                          .sets = kf_measurement_sets_for(r, r->record.solo_calls),
                          .calls = r->record.solo_calls,
                          .call = r->baseline_call,
                          .empty_batch = r->empty_batch,
                          .set_cost = r->set_cost,
                          .pair_time = r->pair_time,
                          .solo_count = solo->count};
    snprintf(r->known.task, sizeof r->known.task, "%s", task);
    memcpy(r->known.solo_seconds, solo->seconds, solo->count * sizeof(double));
    memcpy(r->known.solo_woken, solo->waking, solo->count * sizeof(double));
}

/* The baseline by itself: how many calls make a batch, and what they take with no candidate there.
 */
static bool know_baseline(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    if (r->timed && !kf_runner_pool_settle(bench->pool, false, error)) return false;
    kf_measurement_memory_settle(r);
    if (!kf_measurement_size_batches(r, error)) return false;
    if (!r->over && (r->timed || bench->last)) expect_spares(r);
    if (r->over || !r->timed) return true;
    double seconds;
    if (!warm_up(r, BASELINE, &seconds, error)) return false;
    if (!r->over) kf_measurement_shorten_batches(r, seconds);
    if (!r->over && !kf_measurement_solo(r, r->calls[BASELINE], &r->record.solo, error))
        return false;
    if (!r->over) note(r);
    return true;
}

static bool measure(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_stopping_rule rule = {.least_pairs = KF_MIN_PAIRS,
                             .most_pairs = 400,
                             .half_width = bench->options->half_width,
                             .seconds = bench->seconds};
    expect_runners(r);
    make_room(r);
    if (!(r->checker = kf_checker_new(bench))) return no_memory(error);
    if (!kf_timing_record_reserve(&r->record, rule.most_pairs))
        return kf_fail_memory(error, "timings");
    if (!await_starting(r, error)) return false;
    r->recalled = recall(r);
    if (!kf_measurement_make_sets(r, r->recalled ? r->known.sets : kf_measurement_least_sets(r),
                                  error))
        return false;
    if (!kf_measurement_start_runner(r, KF_ROLE_BASELINE, &r->runners[BASELINE], error))
        return false;
    if (!r->over && !kf_measurement_start_runner(r, KF_ROLE_ORACLE, &r->oracle, error))
        return false;
    if (!r->over && !kf_measurement_hand_over(r, KF_ROLE_BASELINE, r->runners[BASELINE], error))
        return false;
    if (!r->over && !kf_measurement_hand_over(r, KF_ROLE_ORACLE, r->oracle, error)) return false;
    /* no other runner than that */
    r->recalled = r->recalled && kf_runner_calls(r->runners[BASELINE]) > 0;
    if (r->recalled) take_over(r);
    if (!r->over && !r->recalled && !know_baseline(r, error)) return false;
    /* What another candidate has of the device is given back before the next one begins. */
    if (r->recalled && !kf_runner_pool_settle(bench->pool, false, error)) return false;
    /* Nothing that pairs could tell is finer than what two processes differ by. */
    if (r->baseline_call < bench->device->launch_bound)
        rule.half_width = fmax(rule.half_width, bench->device->launch_bias / r->baseline_call / 4);
    if (!r->over &&
        !kf_measurement_start_runner(r, KF_ROLE_CANDIDATE, &r->runners[CANDIDATE], error))
        return false;
    if (!r->over && !kf_measurement_hand_over(r, KF_ROLE_CANDIDATE, r->runners[CANDIDATE], error))
        return false;
    /* not before: a driver that starts processes has little time for buffers */
    if (!r->over && r->recalled) expect_spares(r);
    if (!r->over && r->timed && !kf_measurement_start_idle(r, error)) return false;
    double seconds;
    if (!r->over && r->timed && !warm_up(r, CANDIDATE, &seconds, error)) return false;
    if (!r->over && !measure_pairs(r, &rule, error)) return false;
    if (r->over && !kf_measurement_explain_state(r, error)) return false;
    if (!r->over && !kf_measurement_audit(r, r->runners[CANDIDATE], error)) return false;
    if (!r->over && r->timed && !kf_measurement_conclude(r, error)) return false;
    if (!r->over && !keep_candidate(r, error)) return false;
    if (!r->over) bench->result->status = KF_CORRECT;
    return true;
}

/* The device is as it was: what went wrong, if anything, were numbers; or it was in a process of
 * the CPU device, of which nothing is left. */
static bool is_clean(const kf_measurement *r, bool done)
{
    const kf_workload_verdict *result = r->bench->result;
    bool gone =
        r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH && r->bench->device->calls_block;
    for (size_t i = 0; i < result->finding_count; i++)
        if (result->findings[i].status != KF_WRONG_RESULT && !gone) return false;
    if (r->dirty && !gone) return false;
    return done && (!result->finding_count || result->findings[0].blame == KF_BLAME_CANDIDATE);
}

bool kf_measure_workload(kf_workbench *bench, kf_error *error)
{
    kf_measurement r = {.bench = bench, .device = bench->device->operations};
    /* other jobs measure, or compile a baseline, meanwhile */
    kf_clock_pause(&bench->clock, kf_now());
    if (r.device->reserve && !r.device->reserve(bench->device, true, bench->stop, error))
        return false;
    kf_clock_resume(&bench->clock, KF_PAUSE_JOB, kf_now());
    kf_clock_begin_workload(&bench->clock, kf_now());
    for (int i = 0; i < bench->problem->argument_count; i++)
        r.in_place = r.in_place || bench->problem->arguments[i].kind == KF_INOUT;
    r.own_state = bench->frozen;
    r.timed = bench->result->timed && !bench->options->check_only && !bench->options->asan;
    r.choices.state = kf_secret_draw(bench->secret, bench->attempt ? "choices/1" : "choices/0",
                                     (uint32_t)bench->workload, 0);
    bool done = measure(&r, error), clean = is_clean(&r, done);
    if (clean) keep_trusted(&r);
    release(&r, clean);
    kf_runner_pool_resume(bench->pool);
    if (r.device->reserve) r.device->reserve(bench->device, false, NULL, NULL);
    return done;
}
