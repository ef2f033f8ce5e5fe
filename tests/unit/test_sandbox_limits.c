/* Tests of the limits on a program in the sandbox, and of stopping it: limits, freezing the whole
 * tree, ending it. */
#include "test_sandbox_common.h"

static void spinning_is_cut_off(void **state)
{
    (void)state;
    setup s;
    prepare(&s, "spin", NULL, NULL);
    s.spec.limits.wall_seconds = 0.1;
    kf_auto(kf_sandbox) wall = spawn(&s);
    expect(wall, KF_END_WALL, 0);
    assert_true(kf_sandbox_outcome(wall)->wall_seconds >= 0.1);
    assert_true(kf_sandbox_outcome(wall)->wall_seconds < 10); /* it would spin for ever */
    /* A caller that waits for the descriptor only. */
    kf_auto(kf_sandbox) polled = spawn(&s);
    struct pollfd ready = {.fd = kf_sandbox_descriptor(polled), .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 20000), 1);
    while (!kf_sandbox_pump(polled, 0)) assert_int_equal(poll(&ready, 1, 20000), 1);
    expect(polled, KF_END_WALL, 0);
    assert_true(kf_sandbox_outcome(polled)->wall_seconds < 10); /* it would spin for ever */
    s.spec.limits = (kf_sandbox_limits){.wall_seconds = 30, .cpu_seconds = 0.2};
    kf_auto(kf_sandbox) cpu = spawn(&s);
    expect(cpu, KF_END_CPU, 0);
    assert_true(kf_sandbox_outcome(cpu)->cpu_seconds < 2);
}

static void processor_time_is_the_trees(void **state)
{
    (void)state;
    setup s;
    prepare(&s, "relay", NULL, NULL);
    s.spec.seccomp = KF_SECCOMP_BUILD;
    s.spec.limits = (kf_sandbox_limits){.wall_seconds = 30, .cpu_seconds = 0.2};
    kf_auto(kf_sandbox) sandbox = spawn(&s);
    expect(sandbox, KF_END_CPU, 0);
    assert_true(kf_sandbox_outcome(sandbox)->cpu_seconds >= 0.2);
    assert_true(kf_sandbox_outcome(sandbox)->cpu_seconds < 2);
}

static void output_is_bounded(void **state)
{
    (void)state;
    setup s;
    prepare(&s, "flood", "104857600", NULL);
    s.spec.limits.output_bytes = 100000;
    kf_auto(kf_sandbox) sandbox = spawn(&s);
    expect(sandbox, KF_END_EXITED, 0); /* all was drained, else it would hang */
    assert_int_equal(kf_sandbox_output(sandbox)->size, 100000);
    assert_true(kf_sandbox_outcome(sandbox)->output_truncated);
    prepare(&s, "flood", "5000", NULL);
    kf_auto(kf_sandbox) little = spawn(&s);
    expect(little, KF_END_EXITED, 0);
    assert_int_equal(kf_sandbox_output(little)->size, 5000);
    assert_false(kf_sandbox_outcome(little)->output_truncated);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    setup s;
    prepare(&s, "hog", "10737418240", NULL);
    s.spec.limits.memory_bytes = 300u << 20;
    kf_auto(kf_sandbox) sandbox = spawn(&s);
    assert_true(kf_sandbox_pump(sandbox, 30));
    const kf_sandbox_result *result = kf_sandbox_outcome(sandbox);
    assert_true((result->end == KF_END_EXITED && result->status == 0) ||
                result->end == KF_END_MEMORY);
    assert_true(result->peak_memory_bytes < 400u << 20);
}

static void files_are_bounded(void **state)
{
    (void)state;
    setup s;
    char path[128];
    snprintf(path, sizeof path, "%s/big", job);
    prepare(&s, "fill", path, NULL);
    s.spec.limits.file_bytes = 10u << 20;
    kf_auto(kf_sandbox) sandbox = spawn(&s);
    expect(sandbox, KF_END_EXITED, 0);
    assert_string_equal(kf_sandbox_output(sandbox)->data, "10 MiB: File too large\n");
    unlink(path);
    prepare(&s, "fill", "/tmp/big", NULL);
    s.spec.limits.temporary_bytes = 5u << 20;
    kf_auto(kf_sandbox) temporary = spawn(&s);
    if (!has(temporary, KF_LAYER_MOUNT_NS)) return;
    expect(temporary, KF_END_EXITED, 0);
    assert_string_equal(kf_sandbox_output(temporary)->data, "5 MiB: No space left on device\n");
}

static uint64_t sum_counters(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < 64; i++) sum += atomic_load(&counters[i]);
    return sum;
}

static void wait_for_counters(int slots)
{
    double until = kf_now() + 600;
    for (int i = 0; i < slots; i++)
        while (atomic_load(&counters[i]) == 0) {
            if (kf_now() > until) fail_msg("slot %d never counted", i);
            usleep(1000);
        }
}

/* a pipe that has a writer as long as a process inside lives; -1: the processes do not get it */
static int lives_fd = -1;

static kf_sandbox *spawn_counting(setup *s, int slots)
{
    static kf_sandbox_fd fds[2];
    fds[0] = (kf_sandbox_fd){counters_fd, 3};
    fds[1] = (kf_sandbox_fd){lives_fd, 4};
    s->spec.fds = fds;
    s->spec.fd_count = lives_fd >= 0 ? 2 : 1;
    memset((void *)counters, 0, 4096);
    kf_sandbox *sandbox = spawn(s);
    wait_for_counters(slots);
    return sandbox;
}

static void expect_still(void)
{
    uint64_t before = sum_counters();
    usleep(20000);
    assert_int_equal(sum_counters(), before);
}

static void expect_moving(void)
{
    uint64_t before = sum_counters();
    for (double until = kf_now() + 600; sum_counters() == before;) {
        assert_true(kf_now() < until);
        usleep(500);
    }
}

static void freezing_stops_threads(void **state)
{
    (void)state;
    setup s;
    kf_error error;
    prepare(&s, "count", "8", NULL);
    kf_auto(kf_sandbox) sandbox = spawn_counting(&s, 8);
    for (int i = 0; i < 10; i++) {
        assert_true(kf_sandbox_freeze(sandbox, &error));
        expect_still();
        assert_false(kf_sandbox_pump(sandbox, 0));
        assert_true(kf_sandbox_thaw(sandbox, &error));
        expect_moving();
    }
    kf_sandbox_census census;
    assert_true(kf_sandbox_take_census(sandbox, &census, &error));
    assert_int_equal(census.threads, 9);
    assert_int_equal(census.processes, 0);
    assert_int_equal(census.descriptors, 4);
    const pid_t *ids;
    assert_int_equal(kf_sandbox_threads(sandbox, &ids), 9);
    assert_int_equal(ids[0], kf_sandbox_pid(sandbox));
    for (int i = 1; i < 9; i++) assert_true(ids[i] > 0 && ids[i] != ids[0]);
    assert_true(kf_sandbox_freeze(sandbox, &error));
    kf_sandbox_kill(sandbox);
    expect(sandbox, KF_END_KILLED, 0);
    expect_still();
    assert_false(kf_sandbox_freeze(sandbox, &error));
}

/* A thread that ends while the process is stopped may still write to shared memory. */
static void freezing_outlasts_threads_that_end(void **state)
{
    (void)state;
    setup s;
    kf_error error;
    prepare(&s, "dying", NULL, NULL);
    kf_auto(kf_sandbox) sandbox = spawn_counting(&s, 1);
    for (int i = 0; i < 400; i++) {
        static uint64_t before[512];
        if (!kf_sandbox_freeze(sandbox, &error)) fail_msg("%s", error.text);
        memcpy(before, (void *)counters, sizeof before);
        usleep(200);
        assert_memory_equal(before, (void *)counters, sizeof before);
        assert_true(kf_sandbox_thaw(sandbox, &error));
        if (i % 8 == 0) usleep(100 * (unsigned)i % 1700);
    }
}

static void files_end_on_request(void **state)
{
    (void)state;
    setup s;
    kf_error error;
    prepare(&s, "open", inmate, NULL);
    kf_auto(kf_sandbox) sandbox = spawn_counting(&s, 1);
    for (int turn = 0; turn < 3; turn++) {
        bool may = turn != 1;
        assert_true(kf_sandbox_freeze(sandbox, &error));
        assert_true(kf_sandbox_let_open(sandbox, may, &error));
        assert_true(kf_sandbox_thaw(sandbox, &error));
        for (uint64_t until = atomic_load(&counters[0]) + 2; atomic_load(&counters[0]) < until;)
            usleep(100); /* the file that it was opening */
        uint64_t tries = atomic_load(&counters[0]), before = atomic_load(&counters[2]);
        for (; atomic_load(&counters[0]) < tries + 100;) usleep(100);
        if (may)
            assert_true(atomic_load(&counters[2]) > before);
        else
            assert_int_equal(atomic_load(&counters[2]), before);
    }
    atomic_store(&counters[1], 1); /* it keeps them */
    for (uint64_t until = atomic_load(&counters[2]) + 5; atomic_load(&counters[2]) < until;)
        usleep(100);
    assert_true(kf_sandbox_freeze(sandbox, &error));
    int open_files = kf_sandbox_open_files(sandbox);
    assert_true(open_files < 0 || open_files >= 5);
}

/* Files of /proc and /sys tell what the processors do. Where nothing hides /sys, they count. */
static void files_that_show_the_machine_count(void **state)
{
    (void)state;
    static const char *const files[] = {"/proc/stat", "/sys/devices/system/cpu/possible"};
    int hiding = KF_LAYER_MOUNT_NS | KF_LAYER_PID_NS | KF_LAYER_LANDLOCK;
    kf_error error;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        setup s;
        if (access(files[i], R_OK) != 0) continue;
        prepare(&s, "open", files[i], NULL);
        s.spec.layers = (way.layers ? way.layers : KF_LAYER_ALL) & ~hiding;
        kf_auto(kf_sandbox) sandbox = spawn_counting(&s, 1);
        atomic_store(&counters[1], 1); /* it keeps them */
        for (uint64_t until = atomic_load(&counters[0]) + 5; atomic_load(&counters[0]) < until;)
            usleep(100);
        assert_true(kf_sandbox_freeze(sandbox, &error));
        int open_files = kf_sandbox_open_files(sandbox);
        kf_sandbox_kill(sandbox);
        assert_int_not_equal(open_files, 0);
    }
}

static void files_are_taken_away(void **state)
{
    (void)state;
    setup s;
    kf_error error;
    for (int hides = 0; hides < 2; hides++) {
        prepare(&s, "open", inmate, NULL);
        kf_auto(kf_sandbox) sandbox = spawn_counting(&s, 1);
        bool hidden = hides && kf_sandbox_hide_files(sandbox);
        for (uint64_t until = atomic_load(&counters[0]) + 2; atomic_load(&counters[0]) < until;)
            usleep(100);               /* the file that it was opening */
        atomic_store(&counters[1], 1); /* it keeps them */
        for (uint64_t until = atomic_load(&counters[0]) + 5; atomic_load(&counters[0]) < until;)
            usleep(100);
        bool frozen = kf_sandbox_freeze(sandbox, &error);
        int open_files = kf_sandbox_open_files(sandbox);
        bool again = kf_sandbox_hide_files(sandbox); /* nothing is left */
        bool could = kf_sandbox_layers(sandbox) & KF_LAYER_MOUNT_NS;
        kf_sandbox_kill(sandbox);
        assert_true(frozen && again == could && hidden == (hides && could));
        assert_true(open_files < 0 || (open_files > 0) == !hidden);
    }
}

/* For threads that ran before, too. A file that is open for writing is no obstacle for long. */
static void proc_becomes_read_only(void **state)
{
    (void)state;
    setup s;
    kf_error error;
    prepare(&s, "memory", NULL, NULL);
    kf_auto(kf_sandbox) sandbox = spawn_counting(&s, 1);
    while (!atomic_load(&counters[1])) usleep(100);
    bool could = kf_sandbox_layers(sandbox) & KF_LAYER_MOUNT_NS, fixed = false;
    for (int i = 0; i < 1000 && !fixed; i++) {
        assert_true(kf_sandbox_freeze(sandbox, &error));
        fixed = kf_sandbox_protect_proc(sandbox);
        assert_true(kf_sandbox_thaw(sandbox, &error));
        if (!could) break;
        usleep(100);
    }
    assert_true(fixed == could);
    uint64_t successes = atomic_load(&counters[1]);
    for (uint64_t until = atomic_load(&counters[0]) + 5; atomic_load(&counters[0]) < until;)
        usleep(100);
    assert_true((atomic_load(&counters[1]) > successes) == !could);
}

/* The child is at fault, not the machine. */
static void a_thread_that_sleeps_in_the_kernel_is_noticed(void **state)
{
    (void)state;
    setup s;
    kf_error error = {0};
    prepare(&s, "asleep", NULL, NULL);
    s.spec.seccomp = KF_SECCOMP_BUILD;
    kf_auto(kf_sandbox) sandbox = spawn_counting(&s, 1);
    kf_sandbox_distrust(sandbox);
    assert_false(kf_sandbox_freeze(sandbox, &error));
    assert_int_equal(error.code, KF_ERROR_LIMIT);
    kf_sandbox_kill(sandbox);
    expect(sandbox, KF_END_KILLED, 0);
}

static void freezing_stops_processes(void **state)
{
    (void)state;
    setup s;
    kf_error error;
    prepare(&s, "family", "5", NULL);
    s.spec.seccomp = KF_SECCOMP_BUILD;
    kf_auto(kf_sandbox) sandbox = spawn_counting(&s, 5);
    for (int i = 0; i < 3; i++) {
        assert_true(kf_sandbox_freeze(sandbox, &error));
        expect_still();
        assert_true(kf_sandbox_thaw(sandbox, &error));
        expect_moving();
    }
    kf_sandbox_census census;
    assert_true(kf_sandbox_take_census(sandbox, &census, &error));
    assert_int_equal(census.processes, 5);
    kf_sandbox_kill(sandbox);
    expect_still();
}

static void who_has_locked_itself_down_is_one_process(void **state)
{
    (void)state;
    static const char *const cases[] = {"locked", "left", "open"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup s;
        kf_error error;
        prepare(&s, "settle", cases[i], NULL);
        s.spec.seccomp = KF_SECCOMP_BUILD;
        kf_auto(kf_sandbox) sandbox = spawn_counting(&s, 1);
        assert_false(kf_sandbox_settle(sandbox)); /* it runs */
        assert_true(kf_sandbox_freeze(sandbox, &error));
        assert_int_equal(kf_sandbox_settle(sandbox), i == 0);
        expect_still();
        for (int turn = 0; turn < 3; turn++) {
            assert_true(kf_sandbox_thaw(sandbox, &error));
            expect_moving();
            assert_true(kf_sandbox_freeze(sandbox, &error));
            expect_still();
        }
        kf_sandbox_census census;
        assert_true(kf_sandbox_take_census(sandbox, &census, &error));
        assert_int_equal(census.processes, i == 1);
    }
}

static void waking_is_noticed(void **state)
{
    (void)state;
    setup s;
    kf_error error = {0};
    prepare(&s, "wake", NULL, NULL);
    kf_auto(kf_sandbox) denied = spawn(&s);
    expect(denied, KF_END_EXITED, 2); /* no such timers behind the filter */
    s.spec.layers &= ~KF_LAYER_SECCOMP;
    kf_auto(kf_sandbox) sandbox = spawn_counting(&s, 1);
    int noticed = 0; /* it either stays stopped, or we hear of it */
    for (int i = 0; i < 4; i++) {
        if (!kf_sandbox_freeze(sandbox, &error)) {
            noticed += strstr(error.text, "continued") != NULL;
            continue;
        }
        uint64_t before = sum_counters();
        usleep(60000);
        bool moved = sum_counters() != before;
        bool thawed = kf_sandbox_thaw(sandbox, &error);
        if (!thawed) noticed += strstr(error.text, "continued") != NULL;
        assert_false(moved && thawed);
    }
    assert_true(noticed > 0);
}

static void daemons_are_killed(void **state)
{
    (void)state;
    for (int leave = 0; leave < 2; leave++) {
        setup s;
        prepare(&s, "family", "6", leave ? "leave" : NULL);
        s.spec.seccomp = KF_SECCOMP_BUILD;
        kf_auto(kf_sandbox) sandbox = spawn_counting(&s, leave ? 0 : 6);
        if (leave)
            expect(sandbox, KF_END_EXITED, 0);
        else
            kf_sandbox_kill(sandbox);
        expect_still();
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child of ours is left */
        assert_int_equal(errno, ECHILD);
    }
}

static void forkbombs_are_bounded(void **state)
{
    (void)state;
    setup s;
    prepare(&s, "forkbomb", "2000", NULL);
    s.spec.limits.processes = 60;
    kf_auto(kf_sandbox) runner = spawn(&s);
    expect(runner, KF_END_EXITED, 0);
    assert_string_equal(kf_sandbox_output(runner)->data, "0 processes\n");
    s.spec.seccomp = KF_SECCOMP_BUILD;
    kf_auto(kf_sandbox) build = spawn(&s);
    assert_true(kf_sandbox_pump(build, 30));
    assert_int_equal(kf_sandbox_outcome(build)->end, KF_END_EXITED);
    int made = atoi(kf_sandbox_output(build)->data);
    /* The machine's root is exempt from RLIMIT_NPROC. A pid namespace (Linux 6.14) or a pids cgroup
     * limits it. */
    if (geteuid() != 0) assert_true(made <= 60);
    if (has(build, KF_LAYER_PID_NS) && kf_sandbox_outcome(build)->status == 0)
        assert_true(made <= 301);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* The caller is killed: its children go with it. */
static void nothing_outlives_the_caller(void **state)
{
    (void)state;
    for (int profile = KF_SECCOMP_BUILD; profile <= KF_SECCOMP_RUNNER; profile++) {
        memset((void *)counters, 0, 4096);
        int lives[2];
        assert_int_equal(pipe2(lives, O_CLOEXEC), 0);
        pid_t caller = fork();
        if (caller == 0) {
            setup s;
            lives_fd = lives[1];
            bool family = profile == KF_SECCOMP_BUILD;
            prepare(&s, family ? "family" : "count", "2", NULL);
            s.spec.seccomp = (kf_seccomp_profile)profile;
            kf_sandbox *sandbox = spawn_counting(&s, 2);
            (void)sandbox;
            kill(getpid(), SIGKILL);
        }
        close(lives[1]);
        int status;
        assert_int_equal(waitpid(caller, &status, 0), caller);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_true(sum_counters() > 0);
        struct pollfd ended = {.fd = lives[0], .events = POLLIN};
        assert_int_equal(poll(&ended, 1, 60000), 1);
        assert_int_equal(ended.revents, POLLHUP);
        close(lives[0]);
        expect_still();
        while (waitpid(-1, NULL, __WALL) > 0) continue; /* ours now, where we became a subreaper */
    }
}

int test_program(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(spinning_is_cut_off),
        cmocka_unit_test(output_is_bounded),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(files_are_bounded),
        cmocka_unit_test(freezing_stops_threads),
        cmocka_unit_test(freezing_outlasts_threads_that_end),
        cmocka_unit_test(a_thread_that_sleeps_in_the_kernel_is_noticed),
        cmocka_unit_test(files_end_on_request),
        cmocka_unit_test(files_that_show_the_machine_count),
        cmocka_unit_test(files_are_taken_away),
        cmocka_unit_test(proc_becomes_read_only),
        cmocka_unit_test(freezing_stops_processes),
        cmocka_unit_test(waking_is_noticed),
        cmocka_unit_test(daemons_are_killed),
        cmocka_unit_test(forkbombs_are_bounded),
        cmocka_unit_test(nothing_outlives_the_caller),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(processor_time_is_the_trees),
        cmocka_unit_test(who_has_locked_itself_down_is_one_process),
    };
    return run_in_all_ways(tests, sizeof tests / sizeof *tests);
}
