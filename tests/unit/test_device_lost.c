/* A device fails in the middle of a job. Then no verdict comes from the runners' answers or exits.
 * The CPU device stands for a failing GPU: this test decides its answers to the judge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"
#include "counters_cuda.h"
#include "judge_internal.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/judge.h"

static kf_judge *judge;
static char *cache;
static kf_device_operations operations;
static bool gone;
static int looks;

static bool lost(kf_device *device, const volatile int *stop, kf_error *error)
{
    (void)device, (void)stop;
    looks++;
    if (gone) kf_fail(error, KF_ERROR_MACHINE, "cpu was lost");
    return gone;
}

/* Judges `candidate` of the task scale, for correctness only, on a device that is lost or not. */
static kf_verdict *judged(const char *text, bool device_gone, kf_error *error)
{
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", error);
    if (!task) fail_msg("%s", error->text);
    if (!text) text = kf_task_baseline(task)->text;
    kf_auto(kf_job) job = kf_job_new("test", task, text, strlen(text), NULL, 0, error);
    if (!job) fail_msg("%s", error->text);
    job->options.check_only = true;
    gone = device_gone;
    looks = 0;
    *error = (kf_error){0};
    return kf_judge_run(judge, job, NULL, error);
}

static void how_a_candidate_ends_on_a_lost_device_is_not_its_fault(void **state)
{
    (void)state;
#define ENTRY                                                                                    \
    "#include <cuda_runtime.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <unistd.h>\n" \
    "extern \"C\" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)"
    static const char *const texts[] = {ENTRY "{ abort(); }\n", ENTRY "{}\n",
                                        ENTRY "{ for (;;) pause(); }\n"};
    static const kf_status statuses[] = {KF_CRASH, KF_WRONG_RESULT, KF_TIMEOUT};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kf_error error;
        kf_verdict *verdict = judged(texts[i], false, &error);
        if (!verdict || verdict->status != statuses[i] || verdict->blame != KF_BLAME_CANDIDATE ||
            looks != 1)
            fail_msg("%s: %s, %d looks: %s", texts[i],
                     verdict ? kf_status_name(verdict->status) : error.text, looks,
                     verdict ? verdict->message : "");
        kf_verdict_free(verdict);
        assert_null(judged(texts[i], true, &error));
        assert_int_equal(error.code, KF_ERROR_MACHINE);
        assert_string_equal(error.text, "cpu was lost");
    }
}

/* If nothing ran on the device, or all runs succeeded, the judge does not check it. A check would
 * wait for other processes and disturb them. */
static void nobody_looks_without_need(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        kf_status status;
    } rows[] = {{NULL, KF_CORRECT}, {"no C\n", KF_COMPILE_ERROR}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error;
        kf_verdict *verdict = judged(rows[i].text, true, &error);
        if (!verdict) fail_msg("%s", error.text);
        if (verdict->status != rows[i].status) fail_msg("%s", verdict->message);
        assert_int_equal(looks, 0);
        kf_verdict_free(verdict);
    }
}

/* Reads the driver's setting for access to counters. It is a note for `doctor`, never a failure
 * (cli.gpu_faults). */
static void who_may_count_is_read(void **state)
{
    (void)state;
    assert_false(kf_counters_restricted(NULL));
    assert_false(kf_counters_restricted(""));
    assert_false(kf_counters_restricted(
        "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\nPreserve: 1\n"));
    assert_true(kf_counters_restricted(
        "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nPreserve: 1\n"));
}

static int open_judge(void **state)
{
    (void)state;
    kf_error error = {0};
    cache = kf_directory_temporary("kforge-test", &error);
    judge =
        cache ? kf_judge_new(&(kf_judge_settings){.device = "cpu", .cache = cache}, &error) : NULL;
    if (!judge) fail_msg("%s", error.text);
    operations = *judge->device->operations;
    operations.lost = lost;
    judge->device->operations = &operations;
    return 0;
}

static int close_judge(void **state)
{
    (void)state;
    kf_judge_free(judge);
    kf_directory_remove(cache, NULL);
    free(cache);
    return 0;
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_a_candidate_ends_on_a_lost_device_is_not_its_fault),
        cmocka_unit_test(nobody_looks_without_need),
        cmocka_unit_test(who_may_count_is_read),
    };
    return TEST_GROUP(tests, open_judge, close_judge);
}
