/* Solutions in Python, each a file under tests/torch/{hostile,bad,honest} (torch_cases.h), through
 * the ordinary judge on the CPU device. Skipped, saying so, where there is no PyTorch. Those whose
 * time matters are test_torch_timed.c's. */
#include "torch_cases.h"

#include "health_check.h"

static void cheats_are_caught_or_harmless(void **state)
{
    (void)state;
    every_file_of("hostile", false, 14);
}

static void bad_files_get_a_named_status(void **state)
{
    (void)state;
    every_file_of("bad", false, 22);
}

static void odd_but_honest_solutions_are_correct(void **state)
{
    (void)state;
    every_file_of("honest", false, 15);
}

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

/* A problem file stands for a solution that is known to be good: what a worker asks whose machine
 * seems to fail. */
static void a_problem_solves_itself(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/torch/tasks/relu", &error);
    kf_auto(kf_job) job = task ? kf_job_new("hostile", task, "nothing", 7, NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    assert_true(kf_judge_health_check(judge, job, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_but_honest_solutions_are_correct),
        cmocka_unit_test(bad_files_get_a_named_status),
        cmocka_unit_test(cheats_are_caught_or_harmless),
        cmocka_unit_test(what_does_not_go_together),
        cmocka_unit_test(a_problem_solves_itself),
    };
    return judge_tests("torch", tests, sizeof tests / sizeof *tests, "");
}
