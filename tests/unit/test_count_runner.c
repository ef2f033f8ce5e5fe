/* Tests the runner's side of counting, with a simulated CUPTI (fake_cupti.c): the metrics counted
 * if time is short, and that every pass is one call. Each case runs in its own process, as each
 * runner does. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_main.h"
#include "../../evaluator/runner/cupti_counters.h"
#include "wire.h"
#include "fake_cupti.h"

#define TEN "m1,m2,m3,m4,m5,m6,m7,m8,m9,m10"

typedef struct setting {
    const char *metrics;
    uint32_t most_passes;
    int warm_up, kernels, graph; /* calls ahead; launches of a call; and a graph */
    bool lines;                  /* source lines are asked for */
    bool twice;                  /* a call launches each kernel twice */
    fake_cupti fake;
} setting;

typedef struct outcome { /* shared with the process that counts */
    kf_count_records records;
    fake_cupti fake;
    size_t calls, flushes;
} outcome;

static outcome *seen;
static fake_launch_function launch;

static void call(void *context)
{
    const setting *s = context;
    char name[32];
    seen->calls++;
    for (int i = 0; i < s->kernels * (1 + s->twice); i++) {
        snprintf(name, sizeof name, "kernel%d", i % s->kernels);
        launch(name);
    }
    if (s->graph) launch(NULL);
}

static cu_result attribute(int *value, int number, cu_device device)
{
    (void)number, (void)device;
    *value = 1 << 20;
    return CU_SUCCESS;
}

static cu_result allocate(cu_pointer *pointer, size_t bytes)
{
    *pointer = bytes;
    return CU_SUCCESS;
}

static cu_result set_bytes(cu_pointer to, unsigned char value, size_t bytes, cu_stream stream)
{
    (void)to, (void)value, (void)bytes, (void)stream;
    seen->flushes++;
    return CU_SUCCESS;
}

static cu_result synchronize(void)
{
    return CU_SUCCESS;
}

static int in_child(setting *s)
{
    kf_cuda cuda = {.library = dlopen(NULL, RTLD_NOW),
                    .device_attribute = attribute,
                    .allocate = allocate,
                    .set_bytes = set_bytes,
                    .context_synchronize = synchronize};
    void *library = dlopen(FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
    fake_cupti *fake = library ? dlsym(library, "fake") : NULL;
    if (!fake) return 1;
    *(void **)&launch = dlsym(library, "fake_launch");
    *fake = s->fake;
    setenv(KF_COUNT_LIBRARY, FAKE_CUPTI, 1);
    setenv(KF_COUNT_NAMES, s->metrics, 1);
    if (s->lines) setenv(KF_COUNT_SAMPLE_LINES, "1", 1);
    kf_count_prepare(&cuda, NULL, NULL);
    for (int i = 0; i < s->warm_up; i++) call(s);
    kf_count_calls(call, s, s->most_passes, &seen->records);
    seen->fake = *fake;
    return 0;
}

static void count(setting *s)
{
    int status;
    memset(seen, 0, sizeof *seen);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(in_child(s));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(seen->records.header.magic, KF_WIRE_MAGIC);
}

static void everything_where_there_is_time(void **state)
{
    (void)state;
    count(&(setting){.metrics = TEN,
                     .most_passes = KF_COUNT_PASSES,
                     .warm_up = 1,
                     .kernels = 2,
                     .fake = {.metrics_a_pass = 3}});
    assert_int_equal(seen->records.header.stage, KF_COUNT_DONE);
    assert_int_equal(seen->records.header.passes, 4);
    assert_int_equal(seen->records.header.all_passes, 4);
    assert_int_equal(seen->calls, 2 + 4); /* one each, the one ahead, and the one for times */
    assert_int_equal(seen->flushes, 1 + 4);
    assert_int_equal(seen->fake.configured, 1);
    assert_int_equal(seen->fake.started, 4);
    assert_int_equal(seen->fake.decoded, 1);
    assert_int_equal(seen->fake.evaluated, 2); /* once a kernel */
    assert_int_equal(seen->records.header.launches, 2);
    assert_string_equal(seen->records.launches[1].name, "kernel1");
    for (int i = 0; i < 10; i++) {
        assert_int_equal(seen->records.header.metrics[i], KF_COUNT_COUNTED);
        assert_true(seen->records.launches[0].values[i] == i + 1 &&
                    seen->records.launches[1].values[i] == 101 + i);
    }
    assert_true(isnan(seen->records.launches[0].values[10]));
    assert_true(seen->records.header.pass_seconds[3] > 0 &&
                seen->records.header.pass_seconds[4] == 0);
}

static void the_first_where_there_is_little(void **state)
{
    (void)state;
    static const struct {
        uint32_t most;
        int counted, passes;
    } rows[] = {{1, 3, 1}, {2, 6, 2}, {3, 9, 3}, {4, 10, 4}, {0, 1, 1}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        count(&(setting){.metrics = TEN,
                         .most_passes = rows[r].most,
                         .warm_up = 1,
                         .kernels = 1,
                         .fake = {.metrics_a_pass = 3}});
        assert_int_equal(seen->records.header.stage, KF_COUNT_DONE);
        int counted = rows[r].counted;
        assert_int_equal(seen->records.header.passes, rows[r].passes);
        assert_int_equal(seen->records.header.all_passes, 4);
        assert_int_equal(seen->calls, 2 + rows[r].passes);
        assert_int_equal(seen->fake.set_up, counted);
        assert_int_equal(seen->fake.evaluated_names, counted);
        for (int i = 0; i < 10; i++) {
            assert_int_equal(seen->records.header.metrics[i],
                             i < counted ? KF_COUNT_COUNTED : KF_COUNT_LEFT_OUT);
            assert_true(i < counted ? seen->records.launches[0].values[i] == i + 1
                                    : isnan(seen->records.launches[0].values[i]));
        }
    }
}

/* Levels are left out whole. Planning takes CUPTI long: where they are as the chip's passes are,
 * one try finds the last of them. */
static void levels_where_there_are_some(void **state)
{
    (void)state;
    static const struct {
        const char *metrics;
        uint32_t most;
        int counted, passes;
        size_t most_hosts;
    } rows[] = {
        {"m1,m2,m3;m4,m5,m6;m7,m8,m9;m10", 4, 10, 4, 1},
        {"m1,m2,m3;m4,m5,m6;m7,m8,m9;m10", 3, 9, 3, 2},
        {"m1,m2,m3;m4,m5,m6;m7,m8,m9;m10", 2, 6, 2, 2},
        {"m1,m2,m3;m4,m5,m6;m7,m8,m9;m10", 1, 3, 1, 2},
        /* another chip: the first level stays, though it takes two */
        {"m1,m2,m3,m4;m5,m6;m7,m8;m9;m10", 1, 4, 2, 3},
        /* and a row in which six would fit: the runner does not try them */
        {"m1,m2;m3,m4;m5,m6;m7,m8,m9,m10", 2, 4, 2, 2},
        /* one level */
        {"lacks1,m2;lacks3,m4,m5;m6,m7,m8;m9,m10", 2, 6, 2, 20},
        {"m1,m2,m3,m4,m5,m6,m7,m8,m9,m10;", 1, 10, 4, 1},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        count(&(setting){.metrics = rows[r].metrics,
                         .most_passes = rows[r].most,
                         .warm_up = 1,
                         .kernels = 1,
                         .fake = {.metrics_a_pass = 3}});
        int counted = 0;
        for (int i = 0; i < 10; i++) counted += seen->records.header.metrics[i] == KF_COUNT_COUNTED;
        assert_int_equal(seen->records.header.stage, KF_COUNT_DONE);
        assert_int_equal(counted, rows[r].counted);
        assert_int_equal(seen->records.header.passes, rows[r].passes);
        assert_in_range(seen->fake.hosts, 1, rows[r].most_hosts);
        for (int i = 0; i < 10; i++)
            if (seen->records.header.metrics[i] == KF_COUNT_COUNTED)
                assert_true(seen->records.launches[0].values[i] == i + 1);
    }
}

/* Metrics that the chip lacks do not count as left out for time, and take no place in a pass. */
static void what_lacks_and_what_is_left_out(void **state)
{
    (void)state;
    count(&(setting){.metrics = "m1,lacks2,m3,m4,lacks5,m6",
                     .most_passes = 1,
                     .kernels = 1,
                     .fake = {.metrics_a_pass = 2}});
    static const uint8_t became[] = {KF_COUNT_COUNTED,  KF_COUNT_LACKING, KF_COUNT_COUNTED,
                                     KF_COUNT_LEFT_OUT, KF_COUNT_LACKING, KF_COUNT_LEFT_OUT};
    assert_int_equal(seen->records.header.stage, KF_COUNT_DONE);
    assert_memory_equal(seen->records.header.metrics, became, sizeof became);
    assert_true(seen->records.launches[0].values[0] == 1 &&
                isnan(seen->records.launches[0].values[1]) &&
                seen->records.launches[0].values[2] == 3);
}

static void one_that_takes_more_is_counted(void **state)
{
    (void)state;
    count(&(setting){.metrics = "m7", .most_passes = 1, .kernels = 1});
    assert_int_equal(seen->records.header.stage, KF_COUNT_DONE);
    assert_int_equal(seen->calls, 1 + 1);
    assert_true(seen->records.launches[0].values[0] == 7);
}

static void room_for_what_a_call_launches(void **state)
{
    (void)state;
    static const struct {
        int warm_up, kernels, graph;
        uint32_t most;
        size_t ranges;
    } rows[] = {
        {1, 1, 0, 128, 5},   /* 1 + 0 + 4 */
        {1, 10, 0, 128, 19}, /* 10 + 5 + 4 */
        {1, 60, 0, 128, KF_COUNT_LAUNCHES},
        {1, 1, 1, 128, KF_COUNT_LAUNCHES}, /* a graph: the number of its launches is unknown */
        {0, 1, 0, 128, KF_COUNT_LAUNCHES}, /* no call ahead */
        {1, 0, 0, 128, KF_COUNT_LAUNCHES}, /* kernels that come by a way that is not looked at */
        /* no repetition: the launch may have been a constructor's */
        {1, 1, 0, 1, KF_COUNT_LAUNCHES},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        count(&(setting){.metrics = TEN,
                         .most_passes = rows[r].most,
                         .warm_up = rows[r].warm_up,
                         .kernels = rows[r].kernels,
                         .graph = rows[r].graph});
        assert_int_equal(seen->records.header.stage, KF_COUNT_DONE);
        assert_int_equal(seen->fake.ranges, rows[r].ranges);
        assert_int_equal(seen->fake.data_ranges, rows[r].ranges);
        assert_int_equal(seen->fake.nodes, rows[r].ranges);
        assert_int_equal(seen->records.header.ranges, rows[r].ranges);
        assert_int_equal(seen->records.header.launches, rows[r].kernels + rows[r].graph);
        assert_int_equal(seen->records.header.dropped, 0);
    }
}

/* The sum of each kernel, of all copies and of all fills, and the file that launches. */
static void the_time_of_all_work(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        count(&(setting){.metrics = TEN,
                         .most_passes = 1,
                         .warm_up = 1,
                         .kernels = 2,
                         .twice = true,
                         .fake = {.late_records = late}});
        assert_string_equal(seen->records.header.work_note, "");
        assert_int_equal(seen->records.header.works, 4);
        assert_true(seen->records.header.work_rest_seconds == 0);
        for (int i = 0; i < 4; i++) {
            static const char *const names[] = {"kernel0", "kernel1", "", ""};
            static const double times[] = {4e-6, 6e-6, 5e-6, 3e-6};
            static const uint32_t kinds[] = {KF_COUNT_KERNEL, KF_COUNT_KERNEL, KF_COUNT_COPY,
                                             KF_COUNT_FILL};
            const kf_count_work *row = &seen->records.works[i];
            assert_string_equal(row->name, names[i]);
            assert_int_equal(row->kind, kinds[i]);
            assert_int_equal(row->launches, i < 2 ? 2 : 1);
            assert_true(fabs(row->seconds - times[i]) < 1e-12);
            const char *file = strrchr(row->module, '/');
            assert_string_equal(i < 2 ? file : "", i < 2 ? strrchr(FAKE_CUPTI, '/') : "");
        }
    }
}

static void work_beyond_the_rows_is_summed_up(void **state)
{
    (void)state;
    count(&(setting){.metrics = TEN, .most_passes = 1, .kernels = KF_COUNT_WORKS});
    assert_int_equal(seen->records.header.works, KF_COUNT_WORKS);
    assert_true(fabs(seen->records.header.work_rest_seconds - 8e-6) < 1e-12);
}

/* Counters do not need records, and records do not need counters. */
static void times_and_counters_fail_apart(void **state)
{
    (void)state;
    count(
        &(setting){.metrics = TEN, .most_passes = 1, .kernels = 1, .fake = {.refuses_records = 1}});
    assert_int_equal(seen->records.header.stage, KF_COUNT_DONE);
    assert_int_equal(seen->records.header.works, 0);
    assert_non_null(strstr(seen->records.header.work_note, "it was made to"));
    count(&(setting){.metrics = "lacks1", .most_passes = 1, .kernels = 1});
    assert_int_equal(seen->records.header.stage, KF_COUNT_NO_METRIC);
    assert_int_equal(seen->records.header.works, 3);
    count(&(setting){.metrics = TEN, .most_passes = 1, .graph = 1});
    assert_int_equal(seen->records.header.works, 0);
    assert_string_equal(seen->records.header.work_note, "the call did no work on the device");
}

static void samples_by_source_line(void **state)
{
    (void)state;
    const kf_count_header *header = &seen->records.header;
    setting s = {.metrics = TEN, .most_passes = 1, .warm_up = 1, .kernels = 1, .lines = true};
    count(&s);
    assert_string_equal(header->line_note, "");
    assert_int_equal(header->stage, KF_COUNT_DONE);
    assert_int_equal(seen->fake.parts, 2);
    assert_int_equal(header->line_samples, 25);
    assert_int_equal(header->lines, 2);
    const kf_count_line *lines = seen->records.lines;
    assert_true(lines[0].line == 11 && lines[0].samples == 19 && lines[1].line == 10);
    assert_string_equal(lines[0].file, "k.cu");
    assert_string_equal(lines[0].kernel, "kernel0");
    assert_string_equal(lines[0].reasons[0].name, "barrier");
    assert_int_equal(lines[0].reasons[0].samples, 10);
    assert_string_equal(lines[0].reasons[1].name, "");
    assert_string_equal(lines[1].reasons[0].name, "long_scoreboard");
    s.fake.refuses_samples = 1;
    count(&s);
    assert_int_equal(header->lines, 0);
    assert_non_null(strstr(header->line_note, "it was made to"));
    assert_int_equal(header->stage, KF_COUNT_DONE);
    s.lines = false;
    count(&s);
    assert_string_equal(header->line_note, "");
}

static void what_goes_wrong_is_said(void **state)
{
    (void)state;
    count(&(setting){.metrics = TEN,
                     .most_passes = 2,
                     .kernels = 1,
                     .fake = {.metrics_a_pass = 3, .refuses_fewer = 1}});
    assert_int_equal(seen->records.header.stage, KF_COUNT_REFUSED);
    assert_int_equal(seen->records.header.launches, 0);
    assert_non_null(strstr(seen->records.header.note, "it was made to"));
    assert_int_equal(seen->calls, 1);
    count(&(setting){
        .metrics = TEN, .most_passes = KF_COUNT_PASSES, .kernels = 1, .fake = {.endless = 1}});
    assert_int_equal(seen->records.header.stage, KF_COUNT_UNFINISHED);
    assert_int_equal(seen->calls, 1 + KF_COUNT_PASSES);
    count(&(setting){.metrics = "lacks1,lacks2", .most_passes = 1, .kernels = 1});
    assert_int_equal(seen->records.header.stage, KF_COUNT_NO_METRIC);
}

int test_program(void)
{
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_where_there_is_time),
        cmocka_unit_test(the_first_where_there_is_little),
        cmocka_unit_test(levels_where_there_are_some),
        cmocka_unit_test(what_lacks_and_what_is_left_out),
        cmocka_unit_test(one_that_takes_more_is_counted),
        cmocka_unit_test(room_for_what_a_call_launches),
        cmocka_unit_test(the_time_of_all_work),
        cmocka_unit_test(work_beyond_the_rows_is_summed_up),
        cmocka_unit_test(times_and_counters_fail_apart),
        cmocka_unit_test(samples_by_source_line),
        cmocka_unit_test(what_goes_wrong_is_said),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
