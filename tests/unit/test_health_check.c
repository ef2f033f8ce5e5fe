/* A worker on a machine that fails its jobs one after the other: the worker tests whether the
 * machine can judge at all. The judge is simulated. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"
#include "job_queue.h"
#include "machine_failures.h"

static struct {
    bool broken; /* the machine; else only candidates that say so bring about its faults */
    int asked;   /* baselines judged as candidates */
} world;

/* ---- the judge ------------------------------------------------------------------------------- */

kf_verdict *kf_judge_run(kf_judge *judge, const kf_job *job, const volatile int *stop,
                         kf_error *error)
{
    (void)judge, (void)stop, (void)error;
    kf_verdict *v = kf_verdict_new(job->id, kf_task_name(job->task), "cpu");
    const kf_task_file *baseline = kf_task_baseline(job->task);
    world.asked += strncmp(job->source, baseline->text, baseline->size) == 0;
    if (world.broken || strstr(job->source, "hostile"))
        kf_verdict_add_finding(v, NULL, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "judge.failed", NAN, NAN,
                               "on fire");
    else
        kf_verdict_add_workload(v, "main", false)->status = KF_CORRECT;
    kf_verdict_conclude(v);
    return v;
}

kf_verdict *kf_judge_measure(kf_judge *judge, kf_prepared *prepared, bool more,
                             const volatile int *stop, kf_error *error)
{
    (void)prepared, (void)more;
    return kf_judge_run(judge, NULL, stop, error);
}

kf_prepared *kf_judge_prepare(kf_judge *judge, const kf_job *job, int notify, kf_error *error)
{
    (void)judge, (void)job, (void)notify, (void)error;
    return NULL;
}

bool kf_prepared_is_built(const kf_prepared *prepared)
{
    (void)prepared;
    return false;
}

void kf_prepared_free(kf_prepared *prepared)
{
    (void)prepared;
}

size_t kf_judge_jobs(const kf_judge *judge)
{
    (void)judge;
    return 1;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Judges `count` jobs in a row and counts them as the caller of workers does. Returns the number of
 * jobs after which the worker was given up, or 0. */
static int judge_all(int count, const char *source)
{
    kf_job_queue hand;
    kf_error error = {0};
    int row = 0, given_up = 0;
    assert_true(kf_job_queue_open(&hand, NULL, &error));
    for (int i = 0; i < count && !given_up; i++) {
        kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", &error);
        kf_job *job =
            task ? kf_job_new("job", task, source, strlen(source), NULL, 0, &error) : NULL;
        if (!job) fail_msg("%s", error.text);
        kf_job_queue_add(&hand, job, NULL);
        kf_auto(kf_verdict) verdict = kf_job_queue_measure(&hand, 0, NULL, &error);
        kf_job_queue_remove(&hand, 0);
        assert_non_null(verdict);
        if (!kf_machine_failures_count(&row, KF_MACHINE_FAILURES, verdict, &error))
            given_up = i + 1;
    }
    kf_job_queue_close(&hand);
    return given_up;
}

static void hostile_candidates_end_no_worker(void **state)
{
    (void)state;
    world.broken = false;
    world.asked = 0;
    assert_int_equal(judge_all(20, "// hostile\n"), 0);
    assert_int_equal(world.asked, 6); /* with every third */
}

static void a_broken_machine_ends_its_worker(void **state)
{
    (void)state;
    world.broken = true;
    world.asked = 0;
    assert_int_equal(judge_all(20, "// honest\n"), KF_MACHINE_FAILURES);
    assert_int_equal(world.asked, 4);
}

static void nobody_asks_of_a_machine_that_judges(void **state)
{
    (void)state;
    world.broken = false;
    world.asked = 0;
    assert_int_equal(judge_all(20, "// honest\n"), 0);
    assert_int_equal(world.asked, 0);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_candidates_end_no_worker),
        cmocka_unit_test(a_broken_machine_ends_its_worker),
        cmocka_unit_test(nobody_asks_of_a_machine_that_judges),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
