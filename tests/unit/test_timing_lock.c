/* Two kforge never time on one device at once. */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_main.h"
#include "timing_lock.h"
#include "kforge/file.h"

static char name[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(name, sizeof name, "test-%ld", (long)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "/tmp/kforge-%s.lock", name);
    return unlink(path);
}

static void one_at_a_time(void **state)
{
    (void)state;
    kf_error error = {0};
    int first = kf_timing_lock_open(name, &error), second = kf_timing_lock_open(name, &error);
    assert_true(first >= 0 && second >= 0);
    assert_true(kf_timing_lock_is_free(second));
    assert_true(kf_timing_lock_take(first, NULL, &error));
    assert_false(kf_timing_lock_is_free(second));
    const volatile int stop = 1;
    assert_false(kf_timing_lock_take(second, &stop, &error));
    assert_int_equal(error.code, KF_ERROR_BUSY);
    kf_timing_lock_give_back(first);
    assert_true(kf_timing_lock_take(second, NULL, &error));
    close(second);
    assert_true(kf_timing_lock_is_free(first));
    close(first);
}

/* A waiting process gets the lock when the holder is killed. */
static void death_gives_it_back(void **state)
{
    (void)state;
    kf_error error = {0};
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t holder = fork();
    if (holder == 0) {
        int lock = kf_timing_lock_open(name, NULL);
        if (lock < 0 || !kf_timing_lock_take(lock, NULL, NULL) || write(ready[1], "", 1) < 0)
            _exit(1);
        for (;;) pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    int lock = kf_timing_lock_open(name, &error);
    assert_false(kf_timing_lock_is_free(lock));
    pid_t killer = fork();
    if (killer == 0) {
        usleep(200000); /* most likely it is waited for by then */
        _exit(write(ready[1], "", 1) != 1 || kill(holder, SIGKILL) != 0);
    }
    assert_true(kf_timing_lock_take(lock, NULL, &error));
    /* not before it was killed */
    assert_int_equal(poll(&(struct pollfd){.fd = ready[0], .events = POLLIN}, 1, 0), 1);
    int status;
    assert_int_equal(waitpid(killer, &status, 0), killer);
    assert_int_equal(status, 0);
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_true(WIFSIGNALED(status));
    close(lock);
    close(ready[0]);
    close(ready[1]);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(death_gives_it_back, set_up, tear_down)};
    return TEST_GROUP(tests, NULL, NULL);
}
