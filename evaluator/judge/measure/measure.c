/* Measures one workload: the order of all steps.
 *
 *   1. Three sets (one or two where memory is short), the baseline's and the oracle's runner. The
 * time of a baseline's call decides how many sets a batch needs.
 *   2. The baseline alone, before the candidate is loaded.
 *   3. The candidate's runner loads its binary and maps the sets.
 *   4. Pairs. The judge draws fresh inputs, and each side runs one batch on the same sets in the
 * same random order, with a few sets left out. Before a batch the judge waits for the device's
 *      memory (memory_settle.h), poisons outputs and empties caches. After it the judge inspects
 *      inputs, guards and left-out sets, and compares the outputs of all calls. It compares the
 *      baseline's in the first two pairs. The first pair is a warm-up, compared like any other.
 *      After the first pair, and after some of the others, follow held batches
 *      (measure_stream_order.c).
 *   5. In some timed pairs each side makes a single call on a left-out set, for latency. Some are
 *      followed by a batch of the candidate that the judge watches (measure_watch.c).
 *   6. timing_schedule.c ends the pairs. If the baseline was slower in pairs than alone, it is
 *      measured alone once more.
 *
 * At most one of the three runners runs at a time. The others are stopped. */
#include "measure.h"

#include <math.h>
#include <string.h>

#include "input_generator.h"
#include "libraries.h"
#include "measure_internal.h"
#include "runner_timeout.h"
#include "wire.h"

/* Of the first timed pairs, more are followed by watched batches, until the judge has overwritten
 * inputs so often. */
#define FIRST_PAIRS 8
#define LEAST_CHANGES 16
/* No pair is added without time for so many. */
#define PAIRS_LEFT 4
/* The second measurement of `verify` may take so many times its seconds if its interval is vague.
 */
#define VAGUE_TIMES 3

/* Marks the samples of a pair that does not count. */
static void drop_samples(const kf_measurement *r, const kf_pair_plan *plan)
{
    kf_workload_verdict *result = r->bench->result;
    for (size_t i = 0; i < result->sample_count; i++)
        if (result->samples[i].pair == plan->number - 1) result->samples[i].pair = -1;
}

/* Has the schedule repeat a pair in which other work ran before the clock did. */
static bool repeat_pair(kf_measurement *r, const kf_pair_plan *plan, kf_error *error)
{
    drop_samples(r, plan);
    r->schedule.number = plan->number;
    r->occupations.repeated++;
    return kf_measurement_check_interruptions(r, error);
}

/* Measures pairs until the schedule has enough of them. */
static bool measure_pairs(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_schedule *schedule = &r->schedule;
    kf_timing_record *record = &r->record;
    kf_pair_plan plan;
    kf_schedule_begin_pairs(schedule);
    while (!r->over && kf_schedule_next(schedule, &plan)) {
        kf_pair_times times[2] = {{NAN, NAN, NAN, NAN, NAN}, {NAN, NAN, NAN, NAN, NAN}};
        if (plan.timed && plan.number == 1 && !kf_measurement_await_spares(r, error)) return false;
        if (!kf_measurement_empty_batches(r, &plan, plan.empties, error)) return false;
        if (!r->over && !kf_measurement_pair(r, &plan, times, error)) return false;
        if (!r->over && !kf_measurement_check_order(r, &plan, error)) return false;
        if (r->over) break;
        const double seconds[2] = {times[BASELINE].batch, times[CANDIDATE].batch};
        if (r->occupations.interrupted && kf_measurement_time_left(r) > 0) {
            if (!repeat_pair(r, &plan, error)) return false;
            continue;
        }
        if (plan.number == 0 && schedule->timed) {
            kf_set_limits limits = kf_measurement_set_limits(r);
            uint32_t sets = kf_schedule_adapt(schedule, seconds, &limits, r->set_count);
            if (sets > r->set_count && !kf_measurement_change_sets(r, sets, error)) return false;
            if (r->over) break;
        }
        kf_schedule_step step = kf_schedule_judge(
            schedule, &plan, seconds, kf_timing_record_pairs(record), kf_measurement_time_left(r));
        if (step == KF_STEP_END || step == KF_STEP_OUT_OF_TIME) drop_samples(r, &plan);
        if (step == KF_STEP_OUT_OF_TIME) return kf_measurement_out_of_time(r, error);
        if (step == KF_STEP_END) break;
        if (step == KF_STEP_RESTART) {
            kf_workload_verdict *result = bench->result;
            for (size_t i = 0; i < result->sample_count; i++) result->samples[i].pair = -1;
            kf_timing_record_drop_pairs(record);
        }
        if (step != KF_STEP_KEEP) continue;
        kf_timing_record_add_pair(record, times, schedule->calls);
        /* On a busy machine the judge may miss the moments of a batch. */
        bool missed = plan.number <= FIRST_PAIRS && r->watching.changes < LEAST_CHANGES;
        if ((plan.watched || missed) && !kf_measurement_watch(r, &plan, error)) return false;
        if (r->over) break;
        bool room = kf_timing_record_pairs(record) < record->capacity &&
                    kf_measurement_time_left(r) > PAIRS_LEFT * schedule->pair_time;
        /* The second measurement of `verify` is the one that a claim rests on. Half of the job's
         * time stays for the workloads after it. */
        bool longer =
            bench->attempt && kf_measurement_time_left(r) > bench->options->timeout_seconds / 2;
        schedule->vague_times = longer ? VAGUE_TIMES : 1;
        if (kf_schedule_is_done(schedule, record, kf_clock_elapsed(&bench->clock, kf_now())) &&
            !(room && kf_measurement_suspects_work(r)))
            break;
    }
    bench->result->sets = (int)r->set_count;
    bench->result->pairs = (int)kf_timing_record_pairs(record);
    return true;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Releases all of it. A runner that failed may have left work on the device, so then this waits
 * until its process is gone. */
static void release(kf_measurement *r, bool clean)
{
    kf_runner *runners[] = {r->runners[CANDIDATE], r->runners[BASELINE], r->oracle, r->idle};
    kf_measurement_charge_lateness(r);
    /* before processes end, because the driver takes twice as long for it meanwhile */
    if (clean) kf_measurement_drop_sets(r);
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++) kf_runner_begin_kill(runners[i]);
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++) {
        double began = kf_now();
        kf_runner_pool_retire(r->bench->pool, runners[i], !clean);
        /* the driver frees the candidate's memory, which may take long */
        if (i == 0) kf_clock_charge_candidate(&r->bench->clock, kf_now() - began);
    }
    if (!clean) kf_runner_pool_drop_trusted(r->bench->pool);
    r->runners[BASELINE] = r->runners[CANDIDATE] = r->oracle = r->idle = NULL;
    kf_measurement_drop_sets(r);
    kf_timing_record_free(&r->record);
    kf_checker_free(r->checker);
    r->checker = NULL;
}

/* Finds out how many calls make a batch, and what the baseline's take while no candidate is loaded.
 */
static bool know_baseline(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    if (r->schedule.timed && !kf_runner_pool_settle(bench->pool, false, error)) return false;
    kf_measurement_memory_settle(r);
    if (!kf_measurement_size_batches(r, error)) return false;
    if (!r->over && (r->schedule.timed || bench->round.last)) kf_measurement_expect_spares(r);
    if (!r->over && !r->schedule.timed) kf_measurement_learn(r);
    if (r->over || !r->schedule.timed) return true;
    double seconds;
    if (!kf_measurement_warm_up(r, BASELINE, &seconds, error)) return false;
    if (!r->over) kf_schedule_shorten(&r->schedule, seconds);
    if (!r->over && !kf_measurement_solo(r, r->schedule.calls[BASELINE], &r->record.solo, error))
        return false;
    if (!r->over) kf_measurement_learn(r);
    return true;
}

/* Waits for the right to time, or gives it back. Waiting for other jobs does not count. */
static bool time_alone(kf_measurement *r, bool take, kf_error *error)
{
    kf_workbench *bench = r->bench;
    if (!r->device->time_alone || (take && (r->over || !r->schedule.timed))) return true;
    double asked = kf_now();
    kf_clock_pause(&bench->clock, asked);
    bool done = r->device->time_alone(bench->device, take, bench->stop, error);
    double now = kf_now();
    kf_clock_resume(&bench->clock, KF_PAUSE_JOB, now);
    bench->waited += now - asked;
    return done;
}

static bool measure(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_schedule *schedule = &r->schedule;
    schedule->rule =
        (kf_stopping_rule){.half_width = bench->options->half_width, .seconds = bench->seconds};
    schedule->half_width = bench->options->half_width;
    schedule->batch_length = kf_measurement_find_batch_length(r);
    kf_measurement_expect_runners(r);
    kf_measurement_make_room(r);
    if (!(r->checker = kf_checker_new(bench))) return kf_fail_memory(error, "a measurement");
    if (kf_measurement_has_check(r)) kf_checker_ask(r->checker, kf_measurement_accepts, r);
    if (!kf_timing_record_reserve(&r->record, KF_MAX_PAIRS))
        return kf_fail_memory(error, "timings");
    if (!kf_measurement_await_starting(r, error)) return false;
    r->history.recalled = kf_measurement_recall(r);
    uint32_t sets = kf_measurement_least_sets(r);
    if (r->history.recalled && r->history.known.sets > sets) sets = r->history.known.sets;
    if (!kf_measurement_make_sets(r, sets, error)) return false;
    if (r->over) return true;
    if (!kf_measurement_start_runner(r, KF_ROLE_BASELINE, &r->runners[BASELINE], error))
        return false;
    if (!r->over && !kf_measurement_start_runner(r, KF_ROLE_ORACLE, &r->oracle, error))
        return false;
    if (!r->over && !kf_measurement_hand_over(r, KF_ROLE_BASELINE, r->runners[BASELINE], error))
        return false;
    if (!r->over && !kf_measurement_hand_over(r, KF_ROLE_ORACLE, r->oracle, error)) return false;
    /* those times are of one process: a new one has to be measured */
    r->history.recalled = r->history.recalled && kf_runner_calls(r->runners[BASELINE]) > 0;
    if (r->history.recalled) kf_measurement_use_known(r);
    if (!time_alone(r, true, error)) return false;
    if (!r->over && !r->history.recalled && !know_baseline(r, error)) return false;
    /* A candidate that hangs in its first calls must not hold others up. */
    if (!time_alone(r, false, error)) return false;
    /* The memory of an earlier candidate has to be free before the next one begins. */
    if (r->history.recalled && !kf_runner_pool_settle(bench->pool, false, error)) return false;
    /* Pairs cannot show a difference smaller than that of two processes of one program. */
    if (schedule->baseline_call < bench->device->launch_bound)
        schedule->rule.half_width = fmax(schedule->rule.half_width,
                                         bench->device->launch_bias / schedule->baseline_call / 4);
    if (!r->over &&
        !kf_measurement_start_runner(r, KF_ROLE_CANDIDATE, &r->runners[CANDIDATE], error))
        return false;
    if (!r->over && !kf_measurement_hand_over(r, KF_ROLE_CANDIDATE, r->runners[CANDIDATE], error))
        return false;
    /* Before the first call: what it is linked to, and what its constructors opened. */
    if (!r->over && !kf_measurement_audit(r, r->runners[CANDIDATE], error)) return false;
    /* Not earlier: a driver that starts processes maps buffers slowly. */
    if (!r->over && r->history.recalled && (r->schedule.timed || bench->round.last))
        kf_measurement_expect_spares(r);
    if (!r->over && r->schedule.timed && !kf_measurement_start_idle(r, error)) return false;
    double seconds;
    if (!r->over && r->schedule.timed && !kf_measurement_first_calls(r, error)) return false;
    if (!time_alone(r, true, error)) return false;
    if (!r->over && r->schedule.timed && !kf_measurement_warm_up(r, CANDIDATE, &seconds, error))
        return false;
    if (!r->over && !measure_pairs(r, error)) return false;
    bool explains = r->over && !bench->problem->unseen;
    if (explains && !kf_measurement_explain_state(r, error)) return false;
    if (explains && r->over && !kf_measurement_explain_order(r, error)) return false;
    if (!r->over && !kf_measurement_audit(r, r->runners[CANDIDATE], error)) return false;
    if (!r->over && r->schedule.timed && !kf_measurement_conclude(r, error)) return false;
    if (!r->over && !kf_measurement_keep_candidate(r, error)) return false;
    if (!r->over && kf_measurement_shares_buffers(r) &&
        !kf_verdict_add_flag(bench->verdict, "buffers.shared:%s", bench->result->workload))
        return kf_fail_memory(error, "a flag");
    if (!r->over) bench->result->status = KF_CORRECT;
    return true;
}

/* Turns a failed call of get_inputs into a finding, as any event of the oracle. False if there was
 * none, or if get_inputs itself raised, as *error says then. */
static bool report_generator(kf_measurement *r, kf_error *error)
{
    const kf_generator *generator = r->bench->device->next_sets.generator;
    const kf_workbench *bench = r->bench;
    int code = 0;
    kf_runner_event event = generator ? kf_generator_event(generator, &code) : KF_RUNNER_OK;
    bool raised = event == KF_RUNNER_DEVICE_ERROR &&
                  (code == KF_WIRE_EXCEPTION || code == KF_WIRE_EXCEPTION_OF_OTHERS);
    if (event == KF_RUNNER_OK || raised || !r->oracle) return false;
    if (error) *error = (kf_error){0};
    double now = kf_now();
    if (event == KF_RUNNER_TIMEOUT && kf_clock_at_ceiling(&bench->clock, now) &&
        kf_clock_blames_candidate(&bench->clock, bench->options->timeout_seconds, now))
        return kf_measurement_out_of_time(r, error);
    return kf_measurement_report(r, r->oracle, KF_ROLE_ORACLE, event, code, "making inputs", error);
}

/* True if the device is as it was before. That holds if only numbers were wrong. It also holds for
 * a module on a processor: its process is gone, with all that it did. */
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
    /* Waiting for other jobs on the device does not count. */
    double asked = kf_now();
    kf_clock_pause(&bench->clock, asked);
    bool reserved =
        !r.device->reserve || r.device->reserve(bench->device, true, bench->stop, error);
    double now = kf_now();
    kf_clock_resume(&bench->clock, KF_PAUSE_JOB, now);
    bench->waited += now - asked;
    if (!reserved) return false;
    kf_clock_begin_workload(&bench->clock, kf_now());
    kf_runner_timeout_bound(&bench->clock);
    for (int i = 0; i < bench->problem->argument_count; i++)
        r.in_place = r.in_place || bench->problem->arguments[i].kind == KF_INOUT;
    r.modules.own_state = bench->modules.frozen;
    r.schedule.timed = bench->result->timed && !bench->options->check_only && !bench->options->asan;
    r.schedule.choices.state = kf_secret_draw(
        bench->secret, bench->attempt ? "schedule/1" : "schedule/0", (uint32_t)bench->workload, 0);
    r.choices.state = kf_secret_draw(bench->secret, bench->attempt ? "choices/1" : "choices/0",
                                     (uint32_t)bench->workload, 0);
    bool done = measure(&r, error) || report_generator(&r, error), clean = is_clean(&r, done);
    /* Not earlier: figures may need times of the baseline alone. */
    time_alone(&r, false, NULL);
    if (clean) kf_measurement_keep_trusted(&r);
    release(&r, clean);
    kf_runner_pool_resume(bench->pool);
    kf_runner_timeout_bound(NULL);
    if (r.device->reserve) r.device->reserve(bench->device, false, NULL, NULL);
    return done;
}
