/* Tests how Python runners are reused. The task's own runners go on to the next task. A solution's
 * runner never does. A problem's changes to PyTorch do not reach the next problem. Skipped with a
 * message without PyTorch. */
#include "torch_cases.h"

#include <sys/resource.h>

#include "runner_pool.h"
#include "judge_internal.h"
#include "kforge/lint.h"

#define SHAPE "[64, 4096]"

static const char relu[] = "import torch\n"
                           "import torch.nn as nn\n"
                           "class ModelNew(nn.Module):\n"
                           "    def forward(self, x):\n"
                           "        return torch.relu(x)\n";
static const char clamp[] = "import torch\n"
                            "import torch.nn as nn\n"
                            "class ModelNew(nn.Module):\n"
                            "    def forward(self, x):\n"
                            "        return torch.clamp(x, min=0)\n";
static const char linear[] = "import torch.nn as nn\n"
                             "class ModelNew(nn.Module):\n"
                             "    def __init__(self, inner, outer):\n"
                             "        super().__init__()\n"
                             "        self.dense = nn.Linear(inner, outer)\n"
                             "    def forward(self, x):\n"
                             "        return self.dense(x)\n";

static size_t started(void)
{
    return kf_runner_pool_started(judge->pool, KF_RUNNER_TORCH);
}

static void expect_correct(const char *task, const char *source, bool kernelbench)
{
    kf_auto(kf_verdict) verdict = judge_source(task, source, false, kernelbench);
    const kf_finding *finding = first_finding(verdict);
    if (verdict->status != KF_CORRECT)
        fail_msg("%s: %s", verdict->message, finding ? finding->text : "");
    if (kernelbench)
        assert_true(cJSON_IsTrue(cJSON_GetObjectItem(verdict->kernelbench, "correctness")));
}

static void the_tasks_own_go_on_to_other_tasks(void **state)
{
    (void)state;
    expect_correct("relu", relu, false);
    size_t before = started();
    expect_correct("linear", linear, false);
    assert_int_equal(started(), before + 1); /* the solution's */
    before = started();
    expect_correct("relu", relu, true);
    assert_int_equal(started(), before + 2); /* and one for KernelBench's protocol */
}

static void fail_at_finding(void *context, const kf_lint_finding *finding)
{
    (void)context;
    if (finding->severity == KF_LINT_ERROR) fail_msg("%s: %s", finding->rule, finding->text);
}

static void expect_good(const char *name)
{
    kf_error error = {0};
    char path[512];
    snprintf(path, sizeof path, DATA "tasks/%s", name);
    kf_auto(kf_task) task = kf_task_load(path, &error);
    if (!task || kf_judge_lint(judge, task, fail_at_finding, NULL, NULL, &error) != 0)
        fail_msg("%s: %s", name, error.text);
}

/* A lint has them from a job, and a job from a lint. */
static void a_lint_starts_none_anew(void **state)
{
    (void)state;
    expect_correct("relu", relu, false);
    size_t before = started();
    expect_good("linear");
    expect_good("relu");
    assert_int_equal(started(), before);
    expect_correct("linear", linear, false);
    assert_int_equal(started(), before + 1);
}

/* Judges a solution on a task like relu in a folder of its own, with `lines` before the class. NICE
 * is this process's own priority there, which is not 0 where the tests run under nice.
 * `more` is appended to its baseline. */
static kf_verdict *judge_beside(const char *more, const char *lines, const char *solution,
                                double timeout)
{
    kf_error error = {0};
    kf_autofree char *folder = kf_directory_temporary("kforge-test", &error);
    kf_autofree char *json = kf_path_join(folder, "task.json"),
                     *problem = kf_path_join(folder, "problem.py");
    kf_autofree char *text = NULL, *task = NULL;
    static const char form[] =
        "{\"schema\": \"kforge-task/1\", \"name\": \"careless\", \"entry\": \"careless\", "
        "\"arguments\": ["
        "{\"name\": \"x\", \"kind\": \"input\", \"dtype\": \"f32\", \"shape\": " SHAPE
        ", \"distribution\": {\"kind\": \"normal\"}}, "
        "{\"name\": \"out\", \"kind\": \"output\", \"dtype\": \"f32\", \"shape\": " SHAPE "}], "
        "\"oracle\": {\"kind\": \"torch\", \"file\": \"problem.py\"}, \"baseline\": {\"kind\": "
        "\"torch\", \"file\": "
        "\"problem.py\"%s, "
        "\"torch\": {\"class\": \"Model\", \"inputs\": [\"x\"], \"outputs\": [\"out\"], "
        "\"forward\": [\"x\"]}}";
    assert_true(asprintf(&task, form, more) > 0);
    assert_true(asprintf(&text,
                         "import torch\nimport torch.nn as nn\nNICE = %d\n%s\n"
                         "class Model(nn.Module):\n    def forward(self, x):\n        return "
                         "torch.clamp(x, min=0)\n"
                         "def get_inputs():\n    return [torch.randn(64, 4096)]\n"
                         "def get_init_inputs():\n    return []\n",
                         getpriority(PRIO_PROCESS, 0), lines) > 0);
    assert_true(kf_file_write(json, task, strlen(task), &error) &&
                kf_file_write(problem, text, strlen(text), &error));
    kf_task *loaded = kf_task_load(folder, &error);
    kf_directory_remove(folder, NULL);
    kf_auto(kf_job) job =
        loaded ? kf_job_new("careless", loaded, solution, strlen(solution), NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    job->options.torch = job->options.check_only = true;
    job->options.kernelbench = false;
    job->options.timeout_seconds = timeout;
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
    if (!verdict) fail_msg("%s", error.text);
    return verdict;
}

static kf_verdict *judge_with(const char *lines, const char *solution, double timeout)
{
    return judge_beside("}", lines, solution, timeout);
}

/* Settings are put back, and the runners go on. */
static void settings_do_not_reach_the_next_task(void **state)
{
    (void)state;
    kf_auto(kf_verdict) verdict =
        judge_with("torch.set_default_dtype(torch.float64)\ntorch.use_deterministic_algorithms("
                   "True)\ntorch.set_num_threads(1)",
                   clamp, 60);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    size_t before = started();
    expect_correct("relu", relu, false);
    assert_int_equal(started(), before + 1);
}

/* A function that a problem has replaced is not there in the next one: its runners are fresh ones.
 */
static void replaced_functions_do_not_reach_the_next_task(void **state)
{
    (void)state;
    kf_auto(kf_verdict) verdict = judge_with("torch.relu = lambda x: x * 0", clamp, 60);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    size_t before = started();
    expect_good("relu");
    assert_int_equal(started(), before + 2);
    expect_correct("relu", relu, false);
    assert_int_equal(started(), before + 3);
}

/* A check of several workloads starts PyTorch once for the solution. */
static void a_check_starts_one_for_the_solution(void **state)
{
    (void)state;
    expect_correct("relu", relu, false);
    size_t before = started();
    kf_auto(kf_verdict) verdict = judge_beside(
        "}, \"workloads\": [{\"name\": \"main\"}, {\"name\": \"again\"}]", "", clamp, 60);
    if (verdict->status != KF_CORRECT) fail_msg("%s", verdict->message);
    assert_int_equal(verdict->workload_count, 2);
    assert_int_equal(started(), before + 1);
}

/* Judges again while other programs had the processors for too long. */
static kf_verdict *judge_undisturbed(const char *lines, const char *solution, double timeout)
{
    kf_verdict *verdict = judge_with(lines, solution, timeout);
    for (int again = 0; again < 5 && verdict->blame == KF_BLAME_MACHINE; again++) {
        kf_verdict_free(verdict);
        verdict = judge_with(lines, solution, timeout);
    }
    return verdict;
}

/* The time in which the task's own modules are constructed is nobody's: VGG's weights take a minute
 * to be drawn. A solution that does not end is to blame. */
static void who_has_the_time_is_told(void **state)
{
    (void)state;
    kf_auto(kf_verdict) slow = judge_undisturbed("import time\ntime.sleep(3)", clamp, 7);
    assert_string_equal(kf_status_name(slow->status), "correct");
    kf_auto(kf_verdict) hangs =
        judge_undisturbed("", "import time\nclass ModelNew:\n    pass\ntime.sleep(100)\n", 16);
    assert_string_equal(kf_status_name(hangs->status), "timeout");
}

/* Simulates torch.compile, which PyTorch 1 lacks. It starts a program, as compilers do, and each
 * process compiles once. After the two calls during loading, no program can be started. */
#define COMPILING                                                                                 \
    "import os, subprocess\n"                                                                     \
    "calls = []\n"                                                                                \
    "def start():\n"                                                                              \
    "    return subprocess.run(['/bin/sh', '-c', 'exit 3']).returncode\n"                         \
    "def stand_in(module):\n"                                                                     \
    "    assert not calls and start() == 3 and os.nice(0) == NICE\n"                              \
    "    def function(x):\n"                                                                      \
    "        calls.append(len(calls))\n"                                                          \
    "        try:\n"                                                                              \
    "            assert len(calls) != 3 or start() is None, 'a program was started in a batch'\n" \
    "        except PermissionError:\n"                                                           \
    "            pass\n"                                                                          \
    "        return module(x)\n"                                                                  \
    "    return function\n"                                                                       \
    "torch.compile = stand_in\n"

static void a_compiled_baseline_starts_compilers_once(void **state)
{
    (void)state;
    static const char compiled[] = ", \"compile\": true}";
    for (int turn = 0; turn < 2; turn++) {
        kf_auto(kf_verdict) verdict = judge_beside(compiled, COMPILING, clamp, 60);
        const kf_finding *finding = first_finding(verdict);
        if (verdict->status != KF_CORRECT)
            fail_msg("%s: %s", verdict->message, finding ? finding->text : "");
        assert_int_equal(kf_runner_pool_started(judge->pool, KF_RUNNER_COMPILED), 1);
    }
    /* Another task does not get it either, nor does a plan of this task without compilation. */
    expect_correct("relu", relu, false);
    kf_auto(kf_verdict) eager = judge_with(COMPILING "torch.compile(None)", clamp, 60);
    assert_string_equal(first_finding(eager)->rule, "baseline.failed");
    assert_non_null(strstr(first_finding(eager)->text, "PermissionError"));
    assert_int_equal(kf_runner_pool_started(judge->pool, KF_RUNNER_COMPILED), 1);
    /* Another workload may have other shapes, and is compiled in a process of its own. */
    kf_auto(kf_verdict) two = judge_beside(
        ", \"compile\": true}, \"workloads\": [{\"name\": \"main\"}, {\"name\": \"again\"}]",
        COMPILING, clamp, 60);
    if (two->status != KF_CORRECT) fail_msg("%s", two->message);
    assert_int_equal(kf_runner_pool_started(judge->pool, KF_RUNNER_COMPILED), 3);
}

static void what_can_not_be_compiled_is_the_baselines_failure(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *says;
    } rows[] = {{"if hasattr(torch, 'compile'): del torch.compile", "it takes 2.0 or newer"},
                {"def compile(module):\n    raise ValueError('no lowering\\nfor "
                 "this')\ntorch.compile = compile",
                 "no lowering for this: torch.compile: ValueError"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_verdict) verdict =
            judge_beside(", \"compile\": true}", rows[i].lines, clamp, 60);
        assert_string_equal(kf_status_name(verdict->status), "judge_error");
        assert_string_equal(first_finding(verdict)->rule, "baseline.failed");
        assert_int_equal(first_finding(verdict)->blame, KF_BLAME_TASK);
        if (!strstr(first_finding(verdict)->text, rows[i].says))
            fail_msg("%s", first_finding(verdict)->text);
    }
}

static bool suits_none(const kf_device *device, const kf_runner *runner, kf_role role,
                       const kf_problem *problem)
{
    (void)device, (void)runner, (void)role, (void)problem;
    return false;
}

static void count_release(void *released)
{
    ++*(int *)released;
}

static kf_runner *runner_with_memory(kf_runner_pool *pool, int *released)
{
    kf_error error = {0};
    kf_runner *runner = kf_runner_pool_take(pool, KF_RUNNER_TORCH, false, NULL, &error);
    if (!runner) fail_msg("%s", error.text);
    if (released) kf_runner_attach(runner, released, count_release);
    return runner;
}

/* Simulates a GPU, on which a failing runner may end while others work. An unused pool of 30 GiB
 * left the next large problem a pool too small for its results. */
static void memory_that_is_of_no_use_is_given_back_first(void **state)
{
    (void)state;
    kf_device *device = judge->device;
    const kf_device as_it_is = *device;
    kf_device_operations operations = *device->operations;
    device->slow_start = true;
    device->operations = &operations;
    kf_auto(kf_runner_pool) pool = kf_runner_pool_new(device);
    const char *baseline = "torch:one:", *other = "torch:other:";
    kf_problem *problem = calloc(1, sizeof *problem);
    int of_candidate = 0, of_baseline = 0;
    kf_runner_pool_retire(pool, runner_with_memory(pool, &of_candidate), false);
    kf_runner_pool_keep_trusted(pool, KF_ROLE_BASELINE, baseline, false,
                                runner_with_memory(pool, &of_baseline));
    assert_int_equal(of_candidate, 0); /* it may take its time */
    kf_runner_pool_make_room(pool, other, false, problem);
    assert_int_equal(of_candidate, 1);
    assert_int_equal(of_baseline, 0); /* of use to the other problem, too */
    operations.python.suits = suits_none;
    kf_runner_pool_make_room(pool, baseline, false, problem);
    assert_int_equal(of_baseline, 0);
    kf_runner_pool_make_room(pool, other, false, problem);
    assert_int_equal(of_baseline, 1);
    assert_false(kf_runner_pool_has_trusted(pool, KF_ROLE_BASELINE, baseline, false));
    kf_runner_pool_keep_trusted(pool, KF_ROLE_BASELINE, baseline, false,
                                runner_with_memory(pool, NULL));
    kf_runner_pool_make_room(pool, other, false, problem);
    assert_true(kf_runner_pool_has_trusted(pool, KF_ROLE_BASELINE, baseline, false));
    free(problem);
    device->operations = as_it_is.operations;
    device->slow_start = as_it_is.slow_start;
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tasks_own_go_on_to_other_tasks),
        cmocka_unit_test(a_lint_starts_none_anew),
        cmocka_unit_test(a_check_starts_one_for_the_solution),
        cmocka_unit_test(settings_do_not_reach_the_next_task),
        cmocka_unit_test(who_has_the_time_is_told),
        cmocka_unit_test(replaced_functions_do_not_reach_the_next_task),
        cmocka_unit_test(a_compiled_baseline_starts_compilers_once),
        cmocka_unit_test(what_can_not_be_compiled_is_the_baselines_failure),
        cmocka_unit_test(memory_that_is_of_no_use_is_given_back_first),
    };
    return judge_tests("torch_crew", tests, sizeof tests / sizeof *tests, "");
}
