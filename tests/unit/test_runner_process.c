/* The judge's side of the protocol against runners that do not keep to it (runner_actor.c).
 * Whatever they send, the judge says what it was within its time limit, and nothing of the runner
 * is left. PEER_ACTOR is the program's path. */
#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"
#include "runner_process.h"
#include "kforge/file.h"

static double start_seconds = 20;
static const cpu_set_t *launcher;

static kf_runner *start(const char *way, kf_error *error)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    static kf_sandbox_path paths[] = {{"/usr", KF_PATH_READ | KF_PATH_EXEC, false},
                                      {"/lib", KF_PATH_READ | KF_PATH_EXEC, true},
                                      {"/lib64", KF_PATH_READ | KF_PATH_EXEC, true},
                                      {"/etc/ld.so.cache", KF_PATH_READ, true},
                                      {RUNNER_ACTOR, KF_PATH_READ | KF_PATH_EXEC, false}};
    kf_runner_spec spec = {.program = RUNNER_ACTOR,
                           .directory = "/usr",
                           .binary = way,
                           .paths = paths,
                           .path_count = sizeof paths / sizeof *paths,
                           .environment = environment,
                           .limits = {.output_bytes = 65536},
                           .launcher = launcher,
                           .start_seconds = start_seconds};
    return kf_runner_start(&spec, error);
}

static void bad_hellos_are_no_runner(void **state)
{
    (void)state;
    start_seconds = 1;
    const char *ways[] = {"no-hello", "bad-hello", "short-hello", "flooded-hello", "error-hello"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        kf_error error = {0};
        double started = kf_now();
        kf_runner *runner = start(ways[i], &error);
        if (runner) fail_msg("%s: taken for a runner", ways[i]);
        assert_true(error.text[0] != '\0');
        assert_true(kf_now() - started < 60);
    }
    start_seconds = 20;
}

static void batches_are_judged(void **state)
{
    (void)state;
    const struct {
        const char *way;
        kf_runner_event event;
    } rows[] = {
        {"honest", KF_RUNNER_OK},
        {"wrong-nonce", KF_RUNNER_FORGED},
        {"replay", KF_RUNNER_FORGED},
        {"refused-ping", KF_RUNNER_FORGED},
        {"wrong-magic", KF_RUNNER_FORGED},
        {"odd-result", KF_RUNNER_FORGED},
        {"no-code", KF_RUNNER_FORGED},
        {"twice", KF_RUNNER_FORGED},
        {"half", KF_RUNNER_TIMEOUT},
        {"half-and-exit", KF_RUNNER_ENDED},
        {"close", KF_RUNNER_CLOSED},
        {"close-and-exit", KF_RUNNER_ENDED},
        {"silent", KF_RUNNER_TIMEOUT},
        {"device-error", KF_RUNNER_DEVICE_ERROR},
        {"leader-ends", KF_RUNNER_THREAD_ENDED},
        {"flood", KF_RUNNER_FORGED},
        {"chatter", KF_RUNNER_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        uint32_t order[3] = {2, 0, 1};
        kf_runner *runner = start(rows[i].way, &error);
        if (!runner) fail_msg("%s: %s", rows[i].way, error.text);
        assert_int_equal(kf_runner_load(runner, 5), KF_RUNNER_OK);
        kf_batch batch = {
            .order = order, .count = 3, .timeout = rows[i].event == KF_RUNNER_TIMEOUT ? 0.3 : 60};
        double started = kf_now();
        kf_runner_event event = kf_runner_batch(runner, &batch);
        double took = kf_now() - started;
        kf_runner_explanation why;
        kf_runner_explain(runner, event, "running a batch", &why);
        if (event != rows[i].event)
            fail_msg("%s: event %d, expected %d: %s", rows[i].way, (int)event, (int)rows[i].event,
                     why.text);
        assert_true(took < 60);
        if (event == KF_RUNNER_OK) assert_true(batch.seconds > 0 && batch.seconds <= took);
        if (event == KF_RUNNER_DEVICE_ERROR) assert_int_equal(batch.code, 719);
        if (event != KF_RUNNER_OK && event != KF_RUNNER_DEVICE_ERROR) {
            assert_true(why.text[0] != '\0' && why.rule[0] != '\0');
            /* A dead peer stays dead. */
            assert_int_not_equal(kf_runner_batch(runner, &batch), KF_RUNNER_OK);
        }
        kf_runner_free(runner);
    }
}

static void note_look(void *context)
{
    kf_runner *runner = context;
    kill(kf_runner_pid(runner), SIGKILL);
}

/* The judge looks into a batch until the whole answer is there. Half of it would hide the calls
 * that follow. */
static void half_an_answer_ends_no_looks(void **state)
{
    (void)state;
    kf_error error = {0};
    uint32_t order[1] = {0};
    kf_runner *runner = start("half", &error);
    if (!runner) fail_msg("%s", error.text);
    assert_int_equal(kf_runner_load(runner, 5), KF_RUNNER_OK);
    kf_batch batch = {.order = order,
                      .count = 1,
                      .timeout = 600,
                      .running = note_look,
                      .running_context = runner,
                      .running_after = 0.2};
    assert_int_equal(kf_runner_batch(runner, &batch), KF_RUNNER_ENDED);
    kf_runner_free(runner);
}

/* It answered in time, so the text names the reason. */
static void what_does_not_stop_is_the_runner_s(void **state)
{
    (void)state;
    kf_error error = {0};
    uint32_t order[1] = {0};
    if (madvise(NULL, 0, 22 /* MADV_POPULATE_READ */)) skip(); /* before Linux 5.14 */
    kf_runner *runner = start("unstoppable", &error);
    if (!runner) fail_msg("%s", error.text);
    assert_int_equal(kf_runner_load(runner, 5), KF_RUNNER_OK);
    kf_batch batch = {.order = order, .count = 1, .timeout = 60};
    kf_runner_event event = kf_runner_batch(runner, &batch);
    kf_runner_explanation why;
    kf_runner_explain(runner, event, "running a batch", &why);
    assert_int_equal(event, KF_RUNNER_TIMEOUT);
    assert_false(kf_runner_can_stop(runner));
    assert_string_equal(why.rule, "time.limit");
    assert_non_null(strstr(why.text, "system call"));
    kf_runner_free(runner);
}

/* Here the descriptor is invalid. In practice the user has too many open, perhaps in another
 * process. The runner works and is not blamed. */
static void what_the_kernel_refuses_is_the_machine_s(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_runner *runner = start("honest", &error);
    if (!runner) fail_msg("%s", error.text);
    assert_int_equal(kf_runner_load(runner, 5), KF_RUNNER_OK);
    const kf_runner_buffer buffer = {.fd = 999999, .length = 4096, .bytes = 4096};
    assert_int_equal(kf_runner_map(runner, &buffer, 1), KF_RUNNER_MACHINE);
    assert_non_null(strstr(kf_runner_error(runner)->text, "Bad file descriptor"));
    kf_runner_free(runner);
}

static void look_at_nothing(void *context)
{
    (void)context;
}

/* A timed batch runs on the launcher CPU, wherever the process ran before. The kernel chooses the
 * CPU for other batches, and on devices on which stopping a runner also stops its work. */
static void timed_batches_are_on_the_launcher(void **state)
{
    (void)state;
    cpu_set_t mine, last, now;
    kf_error error = {0};
    uint32_t order[1] = {0};
    CPU_ZERO(&last);
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    for (int cpu = CPU_SETSIZE - 1; CPU_COUNT(&last) == 0; cpu--)
        if (CPU_ISSET(cpu, &mine)) CPU_SET(cpu, &last);
    launcher = &last;
    kf_runner *runner = start("honest", &error);
    launcher = NULL;
    if (!runner) fail_msg("%s", error.text);
    assert_int_equal(kf_runner_load(runner, 5), KF_RUNNER_OK);
    kf_batch batch = {.order = order, .count = 1, .timeout = 10};
    assert_int_equal(kf_runner_batch(runner, &batch), KF_RUNNER_OK);
    assert_true(sched_getaffinity(kf_runner_pid(runner), sizeof now, &now) == 0 &&
                CPU_EQUAL(&now, &mine));
    batch.answered = look_at_nothing;
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(kf_runner_batch(runner, &batch), KF_RUNNER_OK);
        assert_true(sched_getaffinity(kf_runner_pid(runner), sizeof now, &now) == 0 &&
                    CPU_EQUAL(&now, &last));
        assert_int_equal(sched_setaffinity(kf_runner_pid(runner), sizeof mine, &mine), 0);
    }
    kf_runner_free(runner);
    if (CPU_COUNT(&mine) < 2) return; /* there is nowhere to go */
    launcher = &last;
    runner = start("moves", &error);
    launcher = NULL;
    if (!runner) fail_msg("%s", error.text);
    assert_int_equal(kf_runner_load(runner, 5), KF_RUNNER_OK);
    batch.answered = NULL;
    assert_int_equal(kf_runner_batch(runner, &batch), KF_RUNNER_OK);
    batch.answered = look_at_nothing;
    kf_runner_event event = kf_runner_batch(runner, &batch);
    kf_runner_explanation why;
    kf_runner_explain(runner, event, "running a batch", &why);
    assert_int_equal(event, KF_RUNNER_MOVED);
    assert_true(why.status == KF_CONTRACT_VIOLATION && strcmp(why.rule, "runner.moved") == 0);
    kf_runner_free(runner);
}

/* Only the first thread is bound. A thread that it has started may use all of the process's
 * CPUs. */
static void only_the_first_thread_is_bound(void **state)
{
    (void)state;
    cpu_set_t mine, first, now;
    kf_error error = {0};
    uint32_t order[1] = {0};
    int others = 0, cpu = 0;
    CPU_ZERO(&first);
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    while (!CPU_ISSET(cpu, &mine)) cpu++;
    CPU_SET(cpu, &first);
    launcher = &first;
    kf_runner *runner = start("helped", &error);
    launcher = NULL;
    if (!runner) fail_msg("%s", error.text);
    assert_int_equal(kf_runner_load(runner, 5), KF_RUNNER_OK);
    kf_batch batch = {.order = order, .count = 1, .timeout = 10, .answered = look_at_nothing};
    for (int turn = 0; turn < 2; turn++) {
        char path[64];
        assert_int_equal(kf_runner_batch(runner, &batch), KF_RUNNER_OK);
        snprintf(path, sizeof path, "/proc/%d/task", (int)kf_runner_pid(runner));
        DIR *folder = opendir(path);
        assert_non_null(folder);
        for (struct dirent *item; (item = readdir(folder));) {
            pid_t thread = (pid_t)strtol(item->d_name, NULL, 10);
            if (thread <= 0) continue;
            assert_int_equal(sched_getaffinity(thread, sizeof now, &now), 0);
            assert_true(CPU_EQUAL(&now, thread == kf_runner_pid(runner) ? &first : &mine));
            others += thread != kf_runner_pid(runner);
        }
        closedir(folder);
    }
    assert_int_equal(others, 2);
    kf_runner_free(runner);
}

static double own_processor_seconds(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void note_processor_time(void *context)
{
    *(double *)context = own_processor_seconds();
}

/* A candidate sees a judge that computes while a batch runs: its own processor is late, or another
 * one is busy. So the judge sleeps until it looks, and between its looks. */
static void a_judge_that_looks_on_sleeps(void **state)
{
    (void)state;
    kf_error error = {0};
    uint32_t order[1] = {0};
    double computed = -1;
    kf_runner *runner = start("silent", &error);
    if (!runner) fail_msg("%s", error.text);
    kf_batch batch = {.order = order,
                      .count = 1,
                      .timeout = 3,
                      .running = note_processor_time,
                      .running_context = &computed,
                      .running_after = 0.5};
    double before = own_processor_seconds();
    assert_int_equal(kf_runner_batch(runner, &batch), KF_RUNNER_TIMEOUT);
    assert_true(computed >= before && computed - before < 0.25);
    kf_runner_free(runner);
    /* Without a batch that is still running there is nothing to look at. */
    runner = start("honest", &error);
    if (!runner) fail_msg("%s", error.text);
    assert_int_equal(kf_runner_load(runner, 5), KF_RUNNER_OK);
    computed = -1;
    batch.running_after = 60;
    batch.timeout = 100;
    assert_int_equal(kf_runner_batch(runner, &batch), KF_RUNNER_OK);
    assert_true(computed < 0);
    kf_runner_free(runner);
}

static void a_deaf_runner_does_not_block_the_judge(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_runner *runner = start("deaf", &error);
    assert_non_null(runner);
    double started = kf_now();
    assert_int_equal(kf_runner_load(runner, 0.3), KF_RUNNER_TIMEOUT);
    assert_true(kf_now() - started < 60);
    kf_runner_free(runner);
}

/* A candidate that answers for its runner may take its time over each command. */
static void who_dawdles_has_no_more_than_the_deadline(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        kf_error error = {0};
        kf_runner *runner = start("dawdles", &error);
        assert_non_null(runner);
        assert_int_equal(kf_runner_load(runner, 5), KF_RUNNER_OK);
        double started = kf_now();
        kf_runner_set_deadline(runner, late ? started - 100 : started + 2.5);
        uint64_t value = 0;
        int questions = 0;
        while (kf_runner_scalars(runner, &value, 1) == KF_RUNNER_OK && questions < 100) questions++;
        double took = kf_now() - started;
        /* Each takes 0.8 s. A runner that queued is given some more. */
        assert_in_range(questions, late ? 0 : 1, 10);
        assert_true(took < 20);
        if (!late) assert_true(kf_runner_late_seconds(runner) > 1);
        kf_runner_free(runner);
    }
}

static volatile int stop_flag;

static void raise_stop(int number)
{
    (void)number;
    stop_flag = 1;
}

static void the_caller_can_stop_a_wait(void **state)
{
    (void)state;
    kf_error error = {0};
    static const char *const environment[] = {NULL};
    static kf_sandbox_path paths[] = {{"/usr", KF_PATH_READ | KF_PATH_EXEC, false},
                                      {"/lib", KF_PATH_READ | KF_PATH_EXEC, true},
                                      {"/lib64", KF_PATH_READ | KF_PATH_EXEC, true},
                                      {RUNNER_ACTOR, KF_PATH_READ | KF_PATH_EXEC, false}};
    kf_runner_spec spec = {.program = RUNNER_ACTOR,
                           .directory = "/usr",
                           .binary = "silent",
                           .paths = paths,
                           .path_count = 4,
                           .environment = environment,
                           .stop = &stop_flag};
    kf_runner *runner = kf_runner_start(&spec, &error);
    if (!runner) fail_msg("%s", error.text);
    uint32_t order[1] = {0};
    kf_batch batch = {.order = order, .count = 1, .timeout = 600};
    signal(SIGALRM, raise_stop);
    alarm(1);
    double started = kf_now();
    assert_int_equal(kf_runner_batch(runner, &batch), KF_RUNNER_STOPPED);
    assert_true(kf_now() - started < 300);
    kf_runner_free(runner);
}

/* True once runner_actor.c has received a batch. */
static bool is_in_a_batch(pid_t runner)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)runner);
    kf_autofclose FILE *file = fopen(path, "re");
    return file && fgets(name, sizeof name, file) && strcmp(name, "in-a-batch\n") == 0;
}

/* A machine that stands still during a batch, as the judge sees it. The runner is not stopped: it
 * would be woken then, and that is noticed. */
static pid_t stop_judge(pid_t judge, pid_t runner, int milliseconds)
{
    pid_t child = fork();
    if (child) return child;
    while (!is_in_a_batch(runner)) usleep(10000);
    usleep(200000); /* of the runner's time */
    kill(judge, SIGSTOP);
    usleep((useconds_t)milliseconds * 1000);
    kill(judge, SIGCONT);
    _exit(0);
}

static void what_the_machine_stood_still_is_not_the_runners_time(void **state)
{
    (void)state;
    const struct {
        const char *way;
        kf_runner_event event;
    } rows[] = {{"slow", KF_RUNNER_OK}, {"silent", KF_RUNNER_TIMEOUT}}; /* after 3 s */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        uint32_t order[1] = {0};
        kf_runner *runner = start(rows[i].way, &error);
        if (!runner) fail_msg("%s: %s", rows[i].way, error.text);
        kf_batch batch = {.order = order, .count = 1, .timeout = 1.5};
        double started = kf_now();
        pid_t child = stop_judge(getpid(), kf_runner_pid(runner), 2500);
        assert_int_equal(kf_runner_batch(runner, &batch), rows[i].event);
        double took = kf_now() - started;
        assert_true(took > 2.4 && took < 60);
        assert_true(batch.stalled > 2 && batch.stalled < took);
        assert_int_equal(waitpid(child, NULL, 0), child);
        kf_runner_free(runner);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_hellos_are_no_runner),
        cmocka_unit_test(batches_are_judged),
        cmocka_unit_test(half_an_answer_ends_no_looks),
        cmocka_unit_test(what_does_not_stop_is_the_runner_s),
        cmocka_unit_test(what_the_kernel_refuses_is_the_machine_s),
        cmocka_unit_test(timed_batches_are_on_the_launcher),
        cmocka_unit_test(only_the_first_thread_is_bound),
        cmocka_unit_test(a_judge_that_looks_on_sleeps),
        cmocka_unit_test(a_deaf_runner_does_not_block_the_judge),
        cmocka_unit_test(who_dawdles_has_no_more_than_the_deadline),
        cmocka_unit_test(the_caller_can_stop_a_wait),
        cmocka_unit_test(what_the_machine_stood_still_is_not_the_runners_time),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
