/* How many jobs a search may have under way when workers come and go (search_capacity.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "search_internal.h"

/* The workers that there are. */
static size_t jobs;

size_t __wrap_kf_workers_capacity(const kf_workers *workers);
size_t __wrap_kf_workers_devices(const kf_workers *workers);
size_t __wrap_kf_workers_least_jobs(const kf_workers *workers);

size_t __wrap_kf_workers_capacity(const kf_workers *workers)
{
    (void)workers;
    return jobs;
}

size_t __wrap_kf_workers_devices(const kf_workers *workers)
{
    (void)workers;
    return 3;
}

size_t __wrap_kf_workers_least_jobs(const kf_workers *workers)
{
    (void)workers;
    return 3;
}

/* The rooms that the search sees when it has come to `attempts` and looks, with so many workers. */
static size_t seen(kf_search *s, int64_t attempts, size_t workers)
{
    s->progress.attempts = attempts;
    jobs = workers;
    kf_capacity_look(s);
    return s->capacity.jobs;
}

static int set_up(void **state)
{
    return (*state = calloc(1, sizeof(kf_search))) ? 0 : -1;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void more_at_once(void **state)
{
    kf_search *s = *state;
    assert_int_equal(seen(s, 0, 2), 2);
    assert_int_equal(seen(s, 0, 3), 3);
    assert_int_equal(s->capacity_had.count, 1);
}

static void fewer_from_the_next_point_on(void **state)
{
    kf_search *s = *state;
    assert_int_equal(seen(s, 0, 3), 3);
    assert_int_equal(seen(s, 5, 3), 3);
    /* what was looked for with three is not looked for with two */
    assert_int_equal(seen(s, 5, 2), 3);
    assert_int_equal(seen(s, 5, 1), 3);
    assert_int_equal(seen(s, 6, 1), 1);
    assert_int_equal(s->capacity_had.count, 2);
}

/* At each point the repeated run has the most that the first one had there, at its first look. */
static void repeated(void **state)
{
    static const struct {
        int64_t attempts;
        size_t workers;
    } looks[] = {{0, 1}, {0, 2}, {3, 2}, {4, 3}, {4, 2}, {4, 0}, {5, 2}, {7, 1}, {7, 3}, {8, 3}};
    enum { LOOKS = sizeof looks / sizeof *looks };
    kf_search *s = *state;
    kf_autofree kf_search *again = calloc(1, sizeof *again);
    size_t most[LOOKS];
    assert_non_null(again);
    for (int i = 0; i < LOOKS; i++) most[i] = seen(s, looks[i].attempts, looks[i].workers);
    again->capacity_then = s->capacity_had;
    for (int i = 0; i < LOOKS; i++) {
        size_t last = most[i];
        for (int k = i; k < LOOKS && looks[k].attempts == looks[i].attempts; k++) last = most[k];
        assert_int_equal(seen(again, looks[i].attempts, 3), last);
        assert_true(last >= most[i]);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(more_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fewer_from_the_next_point_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(repeated, set_up, tear_down),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
