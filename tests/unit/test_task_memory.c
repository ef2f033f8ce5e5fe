/* Every allocation of loading, bundling and describing a task, failed once.
 *
 * The linker sends malloc, calloc, realloc, strdup and strndup of kforge's own objects here
 * (-Wl,--wrap); cJSON gets the same functions through its hooks. The n-th allocation fails, for n =
 * 1, 2, … until everything works. What counts is that nothing crashes and that the sanitizer builds
 * find no leak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/json.h"
#include "kforge/lint.h"
#include "kforge/task.h"
#include "failing_allocator.h"

#define GOOD KFORGE_SOURCE_DIR "/tests/unit/data/tasks/good"

/* Runs `work` with each of its allocations failed in turn. Returns the number of allocations.
 * `work` returns false with a reason if it fails. */
static long fail_each(bool (*work)(kf_error *))
{
    for (long n = 0;; n++) {
        kf_error error = {0};
        failed_once = false;
        until_failure = n;
        bool worked = work(&error);
        until_failure = -1;
        if (!failed_once) {
            if (!worked) fail_msg("%s", error.text);
            return n;
        }
        if (worked) fail_msg("allocation %ld failed and nobody noticed", n);
        if (!error.text[0]) fail_msg("allocation %ld failed without a reason", n);
    }
}

static bool load(kf_error *error)
{
    kf_auto(kf_task) task = kf_task_load(GOOD, error);
    return task != NULL;
}

static kf_task *good;
static cJSON *bundle;

static bool make_bundle(kf_error *error)
{
    kf_auto(cJSON) made = kf_task_bundle(good);
    return made || kf_fail(error, KF_ERROR_MEMORY, "no bundle");
}

static bool load_bundle(kf_error *error)
{
    kf_auto(kf_task) task = kf_task_from_bundle(bundle, error);
    return task != NULL;
}

static bool describe(kf_error *error)
{
    kf_autofree char *prototype = kf_task_prototype(good, false);
    kf_autofree char *canonical = prototype ? kf_task_canonical(good) : NULL;
    return canonical || kf_fail(error, KF_ERROR_MEMORY, "no text");
}

static bool resolve(kf_error *error)
{
    kf_problem problem;
    bool applies;
    return kf_task_resolve(good, 1, "cpu", &problem, &applies, error);
}

static void ignore(void *context, const kf_lint_finding *finding)
{
    (void)context;
    (void)finding;
}

static bool lint(kf_error *error)
{
    static const double values[2] = {1, 2};
    static const double *const given[2] = {values, NULL}, *const expected[2] = {NULL, values};
    kf_problem problem = {.argument_count = 2};
    problem.arguments[0] = (kf_problem_argument){
        .name = "x", .kind = KF_INPUT, .dtype = KF_F32, .dims = 1, .shape = {2}, .elements = 2};
    problem.arguments[1] = problem.arguments[0];
    problem.arguments[1].kind = KF_OUTPUT;
    kf_lint_case run = {.problem = &problem, .given = given, .expected = expected, .base = -1};
    return kf_lint_outputs(&run, 1, ignore, NULL, error) >= 0;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    kf_error error = {0};
    good = kf_task_load(GOOD, &error);
    if (!good) fail_msg("%s", error.text);
    bundle = kf_task_bundle(good);
    assert_true(fail_each(load) > 300);
    assert_true(fail_each(make_bundle) > 300);
    assert_true(fail_each(load_bundle) > 300);
    assert_true(fail_each(describe) >= 2);
    assert_int_equal(fail_each(lint), 1);
    /* a judge resolves in the middle of its work: nothing to fail there */
    assert_int_equal(fail_each(resolve), 0);
    kf_task_free(good);
    cJSON_Delete(bundle);
}

int test_program(void)
{
    until_failure = -1;
    cJSON_Hooks hooks = {.malloc_fn = __wrap_malloc, .free_fn = free};
    cJSON_InitHooks(&hooks);
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_may_fail)};
    return TEST_GROUP(tests, NULL, NULL);
}
