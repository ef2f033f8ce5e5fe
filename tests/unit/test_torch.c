/* Solutions in Python through the judge on the CPU device, but for those that are files
 * (test_torch_files.c). Skipped, saying so, where there is no PyTorch. */
#include "torch_cases.h"

#include "health_check.h"

/* Python for a task in CUDA C, and flags for Python, are refused by name. */
static void what_does_not_go_together(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", &error);
    kf_auto(kf_job) job =
        task ? kf_job_new("mixed", task, "class ModelNew: pass\n", 21, NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    job->options.torch = true;
    kf_auto(kf_verdict) verdict = kf_judge_run(judge, job, NULL, &error);
    assert_non_null(verdict);
    assert_string_equal(kf_status_name(verdict->status), "judge_error");
    assert_non_null(
        strstr(verdict->message,
               "needs a task with a problem file for PyTorch as its oracle or baseline"));
}

/* A problem file is a solution known to be correct. A worker judges it if its machine seems to
 * fail. */
static void a_problem_solves_itself(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/torch/tasks/relu", &error);
    kf_auto(kf_job) job = task ? kf_job_new("hostile", task, "nothing", 7, NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    assert_true(kf_judge_health_check(judge, job, NULL));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_go_together),
        cmocka_unit_test(a_problem_solves_itself),
    };
    return judge_tests("torch", tests, sizeof tests / sizeof *tests, "");
}
