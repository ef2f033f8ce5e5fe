/* Limits of a build. The compilers are scripts in a root of their own. The tests check the
 * verdict's blame for a build that does not end. */
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"
#include "build_common.h"
#include "kforge/build.h"
#include "kforge/file.h"
#include "kforge/job.h"
#include "kforge/judge.h"

static char *root;

static void put_compiler(const char *script)
{
    kf_autofree char *path = kf_path_join(root, "bin/kforge-cpucc");
    kf_error error = {0};
    if (!kf_file_write(path, script, strlen(script), &error)) fail_msg("%s", error.text);
    assert_int_equal(chmod(path, 0755), 0);
}

static kf_build build_source(const char *source, const char *script, double seconds)
{
    kf_error error = {0};
    put_compiler(script);
    kf_auto(kf_task) task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", &error);
    kf_autofree char *directory = kf_directory_temporary("kforge-test", &error);
    if (!task || !directory) fail_msg("%s", error.text);
    kf_build_request request = {.task = task,
                                .source = source,
                                .size = strlen(source),
                                .name = "candidate.cu",
                                .seconds = seconds,
                                .directory = directory};
    kf_build result = {0};
    bool built = kf_build_cpu(&request, &result, &error);
    kf_directory_remove(directory, NULL);
    if (!built) fail_msg("%s", error.text);
    assert_false(result.ok);
    return result;
}

static kf_build build(const char *script, double seconds)
{
    return build_source("int x;\n", script, seconds);
}

static void a_build_that_waits_is_the_machines_fault(void **state)
{
    (void)state;
    kf_build result = build("#!/bin/sh\nsleep 1000\n", 0.2);
    if (result.status != KF_JUDGE_ERROR)
        fail_msg("%s: %s", kf_status_name(result.status), result.reason);
    assert_non_null(strstr(result.reason, "processor time"));
    assert_true(result.seconds >= 0.2 * KF_BUILD_TIMEOUT_FACTOR);
    kf_build_free(&result);
}

/* If other programs leave it less than a tenth of a CPU, the machine is correctly blamed. Then the
 * test tries again. */
static void expect_too_much(const char *script, double seconds)
{
    kf_build result = build(script, seconds);
    for (int turn = 0; turn < 5 && result.status == KF_JUDGE_ERROR; turn++) {
        kf_build_free(&result);
        result = build(script, seconds);
    }
    if (result.status != KF_COMPILE_ERROR || !strstr(result.reason, "CPU time"))
        fail_msg("%s: %s: %s", script, kf_status_name(result.status), result.reason);
    kf_build_free(&result);
}

/* A source that names __CUDA_ARCH__ may be compiled three times, with three times the limit. */
static void each_compilation_has_the_limit(void **state)
{
    (void)state;
    static const char script[] = "#!/bin/sh\nwhile :; do :; done\n";
    const struct {
        const char *source;
        double least;
    } rows[] = {{"int x;\n", 0.3}, {"#if __CUDA_ARCH__ >= 800\n#endif\n", 0.9}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_build result = build_source(rows[i].source, script, 0.3);
        for (int turn = 0; turn < 5 && result.status == KF_JUDGE_ERROR; turn++) {
            kf_build_free(&result);
            result = build_source(rows[i].source, script, 0.3);
        }
        assert_int_equal(result.status, KF_COMPILE_ERROR);
        if (result.cpu_seconds < rows[i].least)
            fail_msg("%s: %g s: %s", rows[i].source, result.cpu_seconds, result.reason);
        assert_true((strstr(result.reason, "3 compilations") != NULL) == (i == 1));
        assert_non_null(strstr(result.reason, "--build-seconds"));
        kf_build_free(&result);
    }
}

/* A build that something outside ends after a third of its limit has not spent it. */
static void what_each_compilation_may_use_is_not_spent(void **state)
{
    (void)state;
    kf_build result = build_source("#if __CUDA_ARCH__ >= 800\n#endif\n",
                                   "#!/bin/sh\n(ulimit -t 1; while :; do :; done)\nexit 4\n", 1);
    if (result.status != KF_JUDGE_ERROR || result.same_ends)
        fail_msg("%s, %d: %s", kf_status_name(result.status), result.same_ends, result.reason);
    assert_true(result.cpu_seconds > 0.5);
    kf_build_free(&result);
}

/* The time passes in the driver, in a program that it starts, and in many short programs in a
 * row. */
static void a_build_that_computes_is_the_sources_fault(void **state)
{
    (void)state;
    expect_too_much("#!/bin/sh\nwhile :; do :; done\n", 0.5);
    expect_too_much("#!/bin/sh\nsh -c 'while :; do :; done'\nexit 0\n", 0.5);
    expect_too_much(
        "#!/bin/sh\nwhile :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done\n",
        1);
}

/* If a compiler crashes on this source only, the source is to blame, whatever the compiler
 * prints. */
static void what_only_one_source_brings_about_is_its_fault(void **state)
{
    (void)state;
    kf_build result = build("#!/bin/sh\nif grep -q 'int x;' candidate.cu; then echo 'no room on "
                            "this machine'; exit 2; fi\n"
                            "cp /bin/sh candidate.so\n",
                            10);
    if (result.status != KF_COMPILE_ERROR)
        fail_msg("%s: %s", kf_status_name(result.status), result.reason);
    assert_string_equal(result.reason, "no room on this machine");
    kf_build_free(&result);
    result = build("#!/bin/sh\necho 'no room on this machine'; exit 2\n", 10);
    if (result.status != KF_JUDGE_ERROR)
        fail_msg("%s: %s", kf_status_name(result.status), result.reason);
    kf_build_free(&result);
}

/* A compiler that fails with `end` in its first builds, as far as a file shows them. */
static kf_build fail_at_first(const char *end, int builds, const char *then)
{
    kf_autofree char *script = NULL;
    if (asprintf(&script,
                 "#!/bin/sh\necho >>builds\n"
                 "if [ $(wc -l <builds) -le %d ]; then %s; fi\n%s\n",
                 builds, end, then) < 0)
        fail_msg("no memory");
    return build(script, 10);
}

#define KILLED "exit 4"
#define KILL_WORDS "echo \"collect2: fatal error: ld terminated with signal 9 [Killed]\"; exit 1"
#define SHORTAGE "echo \"cc1plus: fatal error: PCH allocation failure\"; exit 1"
#define OTHER "echo \"candidate.cu:1:1: error: no\"; exit 1"
#define ONLY_THIS(end) \
    "if grep -q \"int x;\" candidate.cu; then " end "; fi; cp /bin/sh candidate.so"

/* Signals that kforge did not send, and a machine without memory. kforge-cpucc has status 4 if a
 * signal ended g++ or a program of it. */
static void what_comes_from_outside_is_no_compile_error(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        int builds;
        const char *then;
        kf_status status;
        int same_ends;
    } rows[] = {
        /* Once or twice: the build is repeated, and another reason counts. */
        {KILLED, 1, OTHER, KF_COMPILE_ERROR, 0},
        {KILLED, 3, OTHER, KF_COMPILE_ERROR, 0},
        {KILL_WORDS, 3, OTHER, KF_COMPILE_ERROR, 0},
        {SHORTAGE, 1, OTHER, KF_COMPILE_ERROR, 0},
        /* Each time, for any source. */
        {KILLED, 99, "", KF_JUDGE_ERROR, 0},
        {KILL_WORDS, 99, "", KF_JUDGE_ERROR, 0},
        {SHORTAGE, 99, "", KF_JUDGE_ERROR, 0},
        /* Each time, for this source only. A source can print these words. */
        {OTHER, 0, ONLY_THIS(KILL_WORDS), KF_COMPILE_ERROR, KF_BUILDS_KILLED},
        {OTHER, 0, ONLY_THIS(SHORTAGE), KF_COMPILE_ERROR, 2},
        /* A source cannot cause this. */
        {OTHER, 0, ONLY_THIS(KILLED), KF_JUDGE_ERROR, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_build result = fail_at_first(rows[i].end, rows[i].builds, rows[i].then);
        if (result.status != rows[i].status || result.same_ends != rows[i].same_ends)
            fail_msg("row %zu: %s, %d: %s", i, kf_status_name(result.status), result.same_ends,
                     result.reason);
        kf_build_free(&result);
    }
}

/* The same holds for a task's source: a user cannot repair a task that the machine fails to
 * build. */
static void a_tasks_build_that_waits_is_the_machines_fault(void **state)
{
    (void)state;
    kf_error error = {0};
    put_compiler("#!/bin/sh\necho 'g++ 1.0'\n"); /* opening a device asks for its version */
    kf_auto(kf_judge) judge =
        kf_judge_new(&(kf_judge_settings){.device = "cpu", .cache = ""}, &error);
    kf_auto(kf_task) task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", &error);
    if (!judge || !task) fail_msg("%s", error.text);
    put_compiler("#!/bin/sh\nsleep 1000\n");
    kf_auto(kf_job) job = kf_job_new("waits", task, "int x;\n", 7, NULL, 0, &error);
    if (!job) fail_msg("%s", error.text);
    kf_steal(&task);
    job->options.build_seconds = 0.2;
    kf_auto(kf_verdict) verdict = kf_judge_run(judge, job, NULL, &error);
    if (!verdict) fail_msg("%s", error.text);
    assert_int_equal(verdict->status, KF_JUDGE_ERROR);
    assert_int_equal(verdict->blame, KF_BLAME_MACHINE);
    assert_non_null(strstr(verdict->findings[0].text, "processor time"));
}

/* The compiler is a script. The runner only has to exist, since no test gets as far as running. The
 * rest is the real build. */
static int make_root(void **state)
{
    (void)state;
    kf_error error = {0};
    char own[4096] = "", installed[4200];
    if (readlink("/proc/self/exe", own, sizeof own - 1) < 0) return -1;
    snprintf(installed, sizeof installed, "%s/lib/kforge", dirname(dirname(own)));
    if (!(root = kf_directory_temporary("kforge-test-root", &error))) return -1;
    kf_autofree char *bin = kf_path_join(root, "bin"), *lib = kf_path_join(root, "lib"),
                     *link = kf_path_join(root, "lib/kforge");
    kf_autofree char *runner = kf_path_join(root, "bin/kforge-runner");
    return mkdir(bin, 0755) || mkdir(lib, 0755) || symlink(installed, link) ||
           setenv("KFORGE_ROOT", root, 1) || !kf_file_write(runner, "", 0, &error);
}

static int remove_root(void **state)
{
    (void)state;
    kf_directory_remove(root, NULL);
    free(root);
    return 0;
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_build_that_waits_is_the_machines_fault),
        cmocka_unit_test(each_compilation_has_the_limit),
        cmocka_unit_test(what_each_compilation_may_use_is_not_spent),
        cmocka_unit_test(a_build_that_computes_is_the_sources_fault),
        cmocka_unit_test(what_only_one_source_brings_about_is_its_fault),
        cmocka_unit_test(what_comes_from_outside_is_no_compile_error),
        cmocka_unit_test(a_tasks_build_that_waits_is_the_machines_fault),
    };
    return TEST_GROUP(tests, make_root, remove_root);
}
