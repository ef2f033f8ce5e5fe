/* From times to figures and findings: the last step of a measurement, on made-up records. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"
#include "measure_internal.h"

#define PAIRS 24
#define EMPTIES 36
#define ALONE 7
#define CALLS 10

typedef struct figures {
    kf_device device;
    kf_problem problem;
    kf_workbench bench;
    kf_measurement run;
    double values[12][64], overhead[2][64];
} figures;

static double no_floor(const kf_device *device, const kf_problem *problem)
{
    (void)device, (void)problem;
    return 0;
}

static double floor_of_a_millisecond(const kf_device *device, const kf_problem *problem)
{
    (void)device, (void)problem;
    return 0.001;
}

static const kf_device_operations operations = {.kind = "cpu", .floor_seconds = no_floor},
                                  operations_with_floor = {.kind = "cpu",
                                                           .floor_seconds = floor_of_a_millisecond};

/* Makes a record. A batch of CALLS calls has 0.2 ms of fixed cost. A waking takes 50 us, and every
 * second one `late` seconds more. */
static figures *made(double baseline, double candidate, double late)
{
    figures *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->device = (kf_device){.operations = &operations, .floor_margin = 0.5};
    f->bench = (kf_workbench){.device = &f->device,
                              .problem = &f->problem,
                              .verdict = kf_verdict_new("id", "task", "cpu")};
    f->bench.result = kf_verdict_add_workload(f->bench.verdict, "main", true);
    kf_timing_record *r = &f->run.record;
    f->run = (kf_measurement){.bench = &f->bench, .device = &operations};
    *r = (kf_timing_record){.calls = {CALLS, CALLS}, .solo_calls = CALLS, .capacity = 64};
    kf_series *all[] = {&r->batches[0], &r->batches[1], &r->singles[0],
                        &r->singles[1], &r->solo,       &r->empty};
    const double calls[] = {baseline, candidate, baseline, candidate, baseline, 0},
                 batches[] = {CALLS, CALLS, 1, 1, CALLS, 1};
    for (int i = 0; i < 6; i++) {
        all[i]->seconds = f->values[2 * i];
        all[i]->waking = f->values[2 * i + 1];
        for (int k = 0; k < 64; k++) {
            all[i]->seconds[k] = calls[i] * (1 + 0.0001 * (k % 5)) + 0.0002 / batches[i];
            all[i]->waking[k] = 50e-6 + (k % 2 ? late : 0);
        }
    }
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < KF_WAKINGS; k++)
            kf_wakings_append(&r->wakings[side], 50e-6 + (k % 2 ? late : 0));
    for (int i = 0; i < 4; i++) all[i]->count = PAIRS;
    r->solo.count = ALONE;
    r->empty.count = EMPTIES;
    return f;
}

static void add_overhead(figures *f, double seconds)
{
    f->run.record.overhead = (kf_series){f->overhead[0], f->overhead[1], 0};
    for (int k = 0; k < PAIRS; k++)
        kf_series_append(&f->run.record, &f->run.record.overhead, seconds, 1, 50e-6);
}

static kf_workload_verdict *concluded(figures *f)
{
    kf_error error = {0};
    if (!kf_measurement_conclude(&f->run, &error)) fail_msg("%s", error.text);
    return f->bench.result;
}

static void drop(figures *f)
{
    kf_verdict_free(f->bench.verdict);
    free(f);
}

static void the_fixed_cost_is_subtracted(void **state)
{
    (void)state;
    figures *f = made(0.002, 0.001, 0);
    kf_workload_verdict *w = concluded(f);
    assert_int_equal(w->finding_count, 0);
    assert_true(fabs(w->batch_cost_seconds - 0.0002) < 1e-9);
    assert_true(fabs(w->baseline_seconds / 0.002 - 1) < 0.001 &&
                fabs(w->candidate_seconds / 0.001 - 1) < 0.001);
    assert_true(fabs(w->speedup.value - 2) < 0.002 && w->speedup.low <= 2.002 &&
                w->speedup.high >= 1.998);
    assert_true(fabs(w->latency_speedup.value - 2) < 0.002);
    drop(f);
}

/* After calls, waking the judge and stopping the runner take longer than after an empty batch. Here
 * that is 60 us of each batch, which the baseline's own clock shows. */
static void the_overhead_of_calls_is_subtracted(void **state)
{
    (void)state;
    figures *f = made(0.002, 0.0001, 0);
    for (int k = 0; k < EMPTIES; k++) f->run.record.empty.seconds[k] -= 60e-6;
    kf_workload_verdict *w = concluded(f);
    assert_true(w->candidate_seconds > 0.0001 * 1.01);
    drop(f);

    f = made(0.002, 0.0001, 0);
    for (int k = 0; k < EMPTIES; k++) f->run.record.empty.seconds[k] -= 60e-6;
    add_overhead(f, 0.0002);
    w = concluded(f);
    assert_true(fabs(w->batch_cost_seconds - 0.0002) < 1e-9);
    assert_true(fabs(w->candidate_seconds / 0.0001 - 1) < 0.001 &&
                fabs(w->speedup.value - 20) < 0.02);
    drop(f);
}

/* A busy machine adds milliseconds to batches by chance. Almost all of that is no fixed cost. */
static void delays_of_a_busy_machine_are_no_fixed_cost(void **state)
{
    (void)state;
    figures *f = made(0.002, 0.0001, 0);
    add_overhead(f, 0.005);
    kf_workload_verdict *w = concluded(f);
    assert_true(w->batch_cost_seconds < 0.0003 && w->candidate_seconds > 0.00009);
    drop(f);

    f = made(0.002, 0.0001, 0); /* most empty batches are slow, too */
    for (int k = 0; k < EMPTIES; k++) f->run.record.empty.seconds[k] += k % 3 ? 0.005 : 0;
    w = concluded(f);
    assert_true(w->batch_cost_seconds < 0.0005 && w->candidate_seconds > 0.00007);
    drop(f);

    f = made(0.002, 0.0001, 0); /* all empty batches are slow, but the other batches are not */
    for (int k = 0; k < EMPTIES; k++) f->run.record.empty.seconds[k] += 0.005;
    add_overhead(f, 0.0002);
    w = concluded(f);
    assert_true(fabs(w->batch_cost_seconds - 0.0002) < 1e-9 &&
                fabs(w->candidate_seconds / 0.0001 - 1) < 0.001);
    drop(f);
}

/* If a machine wakes processes late now and then, that holds for empty batches and for the baseline
 * alone, too. */
static void late_wakings_of_all_change_nothing(void **state)
{
    (void)state;
    figures *f = made(0.002, 0.0002, 0.0001);
    kf_workload_verdict *w = concluded(f);
    assert_int_equal(w->finding_count, 0);
    assert_true(fabs(w->speedup.value / 10 - 1) < 0.005);
    assert_true(fabs(w->candidate_seconds / 0.0002 - 1) < 0.005);
    drop(f);
}

/* Work done between waking and request counts like work in a call, and convicts no candidate: a
 * handler of SIGCONT may calibrate a clock. */
static void early_work_is_charged(void **state)
{
    (void)state;
    static const double early[] = {0.0009, 0.03};
    for (int i = 0; i < 2; i++) {
        figures *f = made(0.002, 0.0001, 0);
        for (int k = 0; k < 64; k++)
            f->run.record.batches[1].waking[k] += early[i],
                f->run.record.singles[1].waking[k] += early[i];
        for (int k = 0; k < KF_WAKINGS; k++) f->run.record.wakings[1].seconds[k] += early[i];
        kf_workload_verdict *w = concluded(f);
        assert_int_equal(w->finding_count, 0);
        assert_true(fabs(w->candidate_seconds / (0.0001 + early[i] / CALLS) - 1) < 0.01);
        assert_true(fabs(w->latency_candidate_seconds / (0.0001 + early[i]) - 1) < 0.01);
        drop(f);
    }
}

/* A call takes 5 ms longer alone, for example because its scratch memory was given back. */
static void slow_single_calls_convict_no_candidate(void **state)
{
    (void)state;
    figures *f = made(0.0001, 0.00002, 0);
    for (int k = 0; k < 64; k++) f->run.record.singles[1].seconds[k] += 0.005;
    kf_workload_verdict *w = concluded(f);
    assert_int_equal(w->finding_count, 0);
    assert_true(w->latency_candidate_seconds > 0.005);
    drop(f);
}

/* The same on a GPU, where a batch without calls separates timed batches. */
static figures *made_on_a_gpu(double baseline, double candidate, double later)
{
    figures *f = made(baseline, candidate, 0);
    f->device.slow_start = true;
    f->device.batch_bias = 5e-6;
    for (int k = 0; k < 64; k++) f->run.record.batches[1].waking[k] += later;
    return f;
}

/* A process that always wakes 20 us later than the baseline's is not slower by that. But work done
 * meanwhile must not make it faster either. */
static void processes_may_wake_differently(void **state)
{
    (void)state;
    figures *f = made_on_a_gpu(0.0003, 0.0003, 0);
    kf_interval same = concluded(f)->speedup;
    /* 5 us of 3 ms, on both sides */
    assert_true(fabs(same.value - 1) < 1e-3 && same.low < 0.998 && same.high > 1.002);
    drop(f);

    f = made_on_a_gpu(0.0003, 0.0003, 20e-6);
    kf_interval later = concluded(f)->speedup;
    assert_true(fabs(later.value - same.value) < 1e-6);
    assert_true(later.low < same.low - 0.005 && fabs(later.high - same.high) < 1e-6);
    drop(f);

    f = made_on_a_gpu(0.0003, 0.0003, 200e-6); /* 25 of the calls are free */
    assert_true(fabs(concluded(f)->speedup.value - 0.003 / 0.003175) < 1e-3);
    assert_true(f->bench.result->speedup.low < 0.003 / 0.0032);
    drop(f);
}

/* Two processes have their memory in different places, and one of them is slower for as long as it
 * lives. Every interval includes that. */
static void processes_that_differ_widen_the_interval(void **state)
{
    (void)state;
    figures *f = made(0.002, 0.001, 0);
    kf_interval same = concluded(f)->speedup;
    drop(f);
    f = made(0.002, 0.001, 0);
    f->device.process_bias = 0.05;
    kf_interval wider = concluded(f)->speedup;
    assert_true(fabs(wider.value - same.value) < 1e-9);
    assert_true(fabs(wider.low * 1.05 - same.low) < 1e-9 &&
                fabs(wider.high / 1.05 - same.high) < 1e-9);
    drop(f);
    for (int python = 0; python < 2; python++) {
        f = made(0.002, 0.001, 0);
        f->device.process_bias = 0.02;
        f->device.python_process_bias = 0.05;
        if (python) f->bench.kinds[KF_ROLE_BASELINE] = KF_RUNNER_TORCH;
        wider = concluded(f)->speedup;
        assert_true(fabs(wider.low * (python ? 1.05 : 1.02) - same.low) < 1e-9);
        drop(f);
    }
}

/* If both sides are in Python, the baseline's process makes the empty batches of both. Those of one
 * call cost no more than those of many. Here a busy machine woke it 0.3 ms late for the first kind
 * only. That must not make the candidate faster. */
static void empty_batches_that_wake_late_make_no_candidate_faster(void **state)
{
    (void)state;
    for (int other_kind = 0; other_kind < 2; other_kind++) {
        figures *f = made(0.002, 0.002, 0);
        double seconds[EMPTIES], woken[EMPTIES];
        for (int k = 0; k < EMPTIES; k++) seconds[k] = 0.0002, woken[k] = 350e-6;
        f->run.record.empty_candidate = (kf_series){seconds, woken, EMPTIES};
        f->run.schedule.empty_batch = 0.0002;
        /* of a third process with a known usual waking: they count as measured */
        if (other_kind) {
            f->run.idle = (kf_runner *)f; /* no function uses it here */
            kf_wakings_append(&f->run.record.idle_wakings, 50e-6);
        }
        /* The baseline's have 100 calls to pass, and so have its batches. */
        for (int k = 0; k < EMPTIES && !other_kind; k++) f->run.record.empty.seconds[k] += 0.0004;
        for (int k = 0; k < PAIRS && !other_kind; k++)
            f->run.record.batches[0].seconds[k] += 0.0004 / CALLS;
        kf_workload_verdict *w = concluded(f);
        assert_int_equal(w->finding_count, 0);
        assert_true(fabs(w->batch_cost_seconds - (other_kind ? 0.0005 : 0.0002)) < 1e-9);
        if (!other_kind)
            assert_true(fabs(w->speedup.value - 1) < 1e-6 &&
                        fabs(w->latency_speedup.value - 1) < 1e-6);
        drop(f);
    }
}

/* A single call comes right after a batch of its own process. Its fixed cost is that of an empty
 * batch there. */
static void single_calls_have_a_fixed_cost_of_their_own(void **state)
{
    (void)state;
    figures *f = made_on_a_gpu(0.0003, 0.0001, 0);
    double seconds[8], woken[8];
    for (int k = 0; k < 8; k++) seconds[k] = 0.00015, woken[k] = 50e-6;
    f->run.record.empty_again = (kf_series){seconds, woken, 8};
    kf_workload_verdict *w = concluded(f);
    assert_true(fabs(w->candidate_seconds / 0.0001 - 1) < 0.001);
    assert_true(fabs(w->latency_candidate_seconds / 0.00015 - 1) < 0.001); /* of 0.3 ms */
    drop(f);
}

static void faster_than_memory_is_impossible(void **state)
{
    (void)state;
    figures *f = made(0.002, 0.0001, 0);
    f->device.operations = f->run.device = &operations_with_floor;
    kf_workload_verdict *w = concluded(f);
    assert_int_equal(w->finding_count, 1);
    assert_string_equal(w->findings[0].rule, "floor.undercut");
    drop(f);
    f = made(0.002, 0.0001, 0);
    f->device.operations = f->run.device = &operations_with_floor;
    /* the task does not say how many bytes a call has to move */
    f->problem.work_bytes_derived = true;
    assert_int_equal(concluded(f)->finding_count, 0);
    drop(f);
}

static void a_fast_batch_of_slow_calls_is_flagged(void **state)
{
    (void)state;
    figures *f = made(0.002, 0.0002, 0);
    for (int k = 0; k < 64; k++) f->run.record.singles[1].seconds[k] += 0.002;
    concluded(f);
    assert_int_equal(f->bench.verdict->flag_count, 1);
    assert_string_equal(f->bench.verdict->flags[0], "latency.disagrees:main");
    drop(f);
}

/* One launch does all calls of a batch: each seems to take a tenth of a microsecond. */
static void faster_than_launches_is_impossible(void **state)
{
    (void)state;
    for (int honest = 0; honest < 2; honest++) {
        figures *f = made(4e-6, honest ? 1.5e-6 : 0.1e-6, 0);
        f->device.least_call = 1e-6;
        f->problem.work_bytes_derived = true; /* a call needs a launch in any case */
        for (int k = 0; k < 64; k++)
            f->run.record.batches[1].seconds[k] = (honest ? 1.5e-6 : 0.1e-6) + 0.0002 / CALLS;
        kf_workload_verdict *w = concluded(f);
        assert_int_equal(w->finding_count, !honest);
        if (!honest) assert_string_equal(w->findings[0].rule, "launch.undercut");
        if (!honest) assert_int_equal(w->findings[0].status, KF_IMPOSSIBLE);
        drop(f);
    }
}

/* A busy machine delayed empty batches more than all others, so calls seem to take less than no
 * time. That says something about the machine only, and there is no figure. If half of the empty
 * batches are as they should be, too much may have been subtracted, which is no evidence either. */
static void less_than_no_time_convicts_no_candidate(void **state)
{
    (void)state;
    for (int floor = 0; floor < 2; floor++) {
        figures *f = made(0.00004, 0.00002, 0);
        if (floor) f->device.operations = f->run.device = &operations_with_floor;
        for (int k = 0; k < EMPTIES; k++) f->run.record.empty.seconds[k] += floor ? 0.01 : 0.0005;
        kf_workload_verdict *w = concluded(f);
        assert_int_equal(w->finding_count, 0);
        assert_true(isnan(w->speedup.value) && isnan(w->speedup.low) && isnan(w->speedup.high));
        drop(f);
    }
    /* of half of the pairs: their median ratio is between 2 and infinity, their median time
     * positive */
    figures *f = made(0.00004, 0.00002, 0);
    for (int k = 0; k < 64; k++) f->run.record.batches[1].seconds[k] -= k % 2 ? 0.000039 : 0;
    assert_true(concluded(f)->candidate_seconds > 0 && isnan(f->bench.result->speedup.value));
    drop(f);
    f = made(0.00004, 0.00002, 0);
    f->device.least_call = 1e-6;
    for (int k = 0; k < EMPTIES; k++) f->run.record.empty.seconds[k] += k % 4 ? 0.000195 : 0;
    /* half a microsecond a call remains, or 20 us */
    assert_int_equal(concluded(f)->finding_count, 0);
    drop(f);
}

/* In pairs the baseline takes 2 % more than alone. That is too little for interference, but must
 * not make the candidate faster. With a drift the intervals meet, and the speedup counts. */
static void a_slowed_baseline_makes_no_candidate_faster(void **state)
{
    (void)state;
    for (int trial = 0; trial < 2; trial++) {
        figures *f = made(0.00102, 0.00101, 0);
        f->device.calls_block = true;
        for (int k = 0; k < ALONE; k++)
            f->run.record.solo.seconds[k] *= trial && k == 3 ? 1 : 1 / 1.02;
        kf_workload_verdict *w = concluded(f);
        assert_int_equal(w->finding_count, 0);
        assert_true(fabs(w->speedup.value - 1.02 / 1.01) < 0.002);
        assert_true(trial ? w->speedup.low > 1.005 : w->speedup.low < 1 && w->speedup.low > 0.98);
        drop(f);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fixed_cost_is_subtracted),
        cmocka_unit_test(the_overhead_of_calls_is_subtracted),
        cmocka_unit_test(delays_of_a_busy_machine_are_no_fixed_cost),
        cmocka_unit_test(late_wakings_of_all_change_nothing),
        cmocka_unit_test(empty_batches_that_wake_late_make_no_candidate_faster),
        cmocka_unit_test(early_work_is_charged),
        cmocka_unit_test(slow_single_calls_convict_no_candidate),
        cmocka_unit_test(processes_may_wake_differently),
        cmocka_unit_test(processes_that_differ_widen_the_interval),
        cmocka_unit_test(single_calls_have_a_fixed_cost_of_their_own),
        cmocka_unit_test(faster_than_memory_is_impossible),
        cmocka_unit_test(faster_than_launches_is_impossible),
        cmocka_unit_test(less_than_no_time_convicts_no_candidate),
        cmocka_unit_test(a_slowed_baseline_makes_no_candidate_faster),
        cmocka_unit_test(a_fast_batch_of_slow_calls_is_flagged),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
