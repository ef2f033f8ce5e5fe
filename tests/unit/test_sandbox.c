/* Every layer's effect, proved by a program inside (sandbox_inmate.c) that tries to escape: files,
 * processes, network, system calls, and what the program starts with. */
#include "test_sandbox_common.h"

static void files_outside_are_unreadable(void **state)
{
    (void)state;
    expect_escape("read", secret, NULL);
    expect_contained("read", secret, "/root/.profile");
    expect_contained("read", "/proc/1/root/etc/passwd", "/var/log");
    char dots[160];
    snprintf(dots, sizeof dots, "%s/../secret", job);
    expect_contained("read", dots, NULL);
}

static void files_read_only_stay(void **state)
{
    (void)state;
    char file[128], new_file[128];
    snprintf(file, sizeof file, "%s/file", readonly);
    snprintf(new_file, sizeof new_file, "%s/new", readonly);
    expect_contained("write", file, new_file);
    size_t size;
    kf_autofree char *text = kf_file_read(file, 100, &size, NULL);
    assert_non_null(text);
    assert_string_equal(text, "as it was");
    assert_int_equal(access(new_file, F_OK), -1);
    expect_escape("write", file, new_file);
    assert_true(kf_file_write(file, "as it was", 9, NULL));
}

/* Without a pid namespace the child gets the machine's /proc. */
static void proc_of_the_machine_is_read_only_for_fixed_code(void **state)
{
    (void)state;
    int layers = (way.layers ? way.layers : KF_LAYER_ALL) & ~(KF_LAYER_PID_NS | KF_LAYER_LANDLOCK);
    for (int fixed = 0; fixed <= 1; fixed++) {
        setup s;
        prepare(&s, "write", "/proc/self/mem", NULL);
        s.spec.layers = layers;
        s.spec.fixed_code = fixed;
        kf_auto(kf_sandbox) sandbox = spawn(&s);
        if (has(sandbox, KF_LAYER_MOUNT_NS)) expect(sandbox, KF_END_EXITED, fixed ? 0 : 1);
    }
}

/* A folder below a readable one can be left out. */
static void files_hidden_are_not_there(void **state)
{
    (void)state;
    if (!(way.layers & KF_LAYER_MOUNT_NS) || way.refused) return;
    kf_sandbox_path with[8];
    memcpy(with, paths, sizeof with);
    with[7] = (kf_sandbox_path){readonly, KF_PATH_HIDE, false};
    char file[128];
    snprintf(file, sizeof file, "%s/file", readonly);
    for (int hidden = 0; hidden <= 1; hidden++) {
        setup s;
        prepare(&s, "read", file, NULL);
        s.spec.paths = with;
        s.spec.path_count = 7 + (size_t)hidden;
        kf_auto(kf_sandbox) sandbox = spawn(&s);
        if (has(sandbox, KF_LAYER_MOUNT_NS)) expect(sandbox, KF_END_EXITED, hidden ? 0 : 1);
    }
}

static void files_given_are_usable(void **state)
{
    (void)state;
    setup s;
    char made[128];
    snprintf(made, sizeof made, "%s/made", job);
    prepare(&s, "use", job, NULL);
    kf_auto(kf_sandbox) sandbox = spawn(&s);
    expect(sandbox, KF_END_EXITED, 0);
    kf_autofree char *text = kf_file_read(made, 100, NULL, NULL);
    assert_non_null(text);
    assert_string_equal(text, "inside");
    assert_int_equal(unlink(made), 0);
}

static void temporary_files_are_private(void **state)
{
    (void)state;
    setup s;
    if (!(way.layers & KF_LAYER_MOUNT_NS) || way.refused) return;
    prepare(&s, "use", "/tmp", NULL);
    kf_auto(kf_sandbox) sandbox = spawn(&s);
    if (has(sandbox, KF_LAYER_MOUNT_NS)) expect(sandbox, KF_END_EXITED, 0);
    assert_int_equal(access("/tmp/made", F_OK), -1);
}

static void other_processes_are_out_of_reach(void **state)
{
    (void)state;
    char pid[16], address[32];
    snprintf(pid, sizeof pid, "%d", getpid());
    snprintf(address, sizeof address, "%p", (void *)secret);
    expect_escape("processes", pid, NULL);
    expect_escape("trace", pid, address);
    expect_contained("processes", pid, NULL);
    expect_contained("trace", pid, address);
}

static void network_is_out_of_reach(void **state)
{
    (void)state;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
        local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    struct sockaddr_un abstract = {.sun_family = AF_UNIX};
    char port[16], name[32];
    snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
    snprintf(name, sizeof name, "kforge-test-%d", getpid());
    memcpy(abstract.sun_path + 1, name, strlen(name));
    size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    assert_int_equal(bind(local, (struct sockaddr *)&abstract, size), 0);
    assert_int_equal(listen(local, 8), 0);
    expect_escape("network", port, name);
    expect_contained("network", port, name);
    close(listener);
    close(local);
}

static void system_calls_are_filtered(void **state)
{
    (void)state;
    setup s;
    expect_escape("syscalls", "runner", NULL);
    prepare(&s, "syscalls", "runner", NULL);
    kf_auto(kf_sandbox) runner = spawn(&s);
    expect(runner, KF_END_EXITED, 0);
    prepare(&s, "syscalls", NULL, NULL);
    s.spec.seccomp = KF_SECCOMP_BUILD;
    kf_auto(kf_sandbox) build = spawn(&s);
    expect(build, KF_END_EXITED, 0);
#ifdef __x86_64__
    prepare(&s, "foreign", NULL, NULL);
    kf_auto(kf_sandbox) foreign = spawn(&s);
    expect(foreign, KF_END_SIGNAL, SIGSYS);
#endif
}

static void lockdown_denies_the_rest(void **state)
{
    (void)state;
    setup s;
    prepare(&s, "lockdown", NULL, NULL);
    kf_auto(kf_sandbox) sandbox = spawn(&s);
    expect(sandbox, KF_END_EXITED, 0);
    kf_sandbox_census census;
    assert_false(kf_sandbox_take_census(sandbox, &census, NULL)); /* ended */
}

static void no_code_is_made(void **state)
{
    (void)state;
    setup s;
    prepare(&s, "made_code", NULL, NULL);
    kf_auto(kf_sandbox) sandbox = spawn(&s);
    expect(sandbox, KF_END_EXITED, 0);
    kf_sandbox_census census;
    assert_false(kf_sandbox_take_census(sandbox, &census, NULL)); /* ended */
}

static void start_state_is_clean(void **state)
{
    (void)state;
    sigset_t some, before;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigaddset(&some, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &some, &before);
    signal(SIGUSR2, SIG_IGN);
    expect_contained("state", NULL, NULL);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, &before, &now);
    assert_true(sigismember(&now, SIGUSR1)); /* the caller's mask is as it was */
    signal(SIGUSR2, SIG_DFL);
}

static void descriptors_are_those_listed(void **state)
{
    (void)state;
    setup s;
    /* neither is close-on-exec */
    int leak = open(secret, O_RDONLY), fd = open("/dev/null", O_RDONLY);
    kf_sandbox_fd fds[] = {{fd, 3}};
    prepare(&s, "descriptors", NULL, NULL);
    s.spec.fds = fds;
    s.spec.fd_count = 1;
    kf_auto(kf_sandbox) sandbox = spawn(&s);
    expect(sandbox, KF_END_EXITED, 0);
    assert_true(fcntl(leak, F_GETFD) >= 0);
    close(leak);
    close(fd);
}

static void environment_is_complete(void **state)
{
    (void)state;
    setup s;
    static const char *const given[] = {"ONE=1", "TMPDIR=/tmp", NULL};
    setenv("KFORGE_TEST_KEY", "secret", 1);
    prepare(&s, "environment", NULL, NULL);
    kf_auto(kf_sandbox) sandbox = spawn(&s);
    expect(sandbox, KF_END_EXITED, 0);
    assert_null(strstr(kf_sandbox_output(sandbox)->data, "KFORGE_TEST_KEY"));
    assert_non_null(strstr(kf_sandbox_output(sandbox)->data, "LANG=C.UTF-8\n"));
    s.spec.environment = given;
    kf_auto(kf_sandbox) own = spawn(&s);
    expect(own, KF_END_EXITED, 0);
    assert_int_equal(strncmp(kf_sandbox_output(own)->data, "ONE=1\nTMPDIR=/tmp", 17), 0);
    if (has(own, KF_LAYER_MOUNT_NS))
        assert_string_equal(kf_sandbox_output(own)->data, "ONE=1\nTMPDIR=/tmp\n");
}

/* Stack, heap, mappings and code of two children, where they are not randomised, and where they
 * are. */
static void addresses_are_the_same_on_request(void **state)
{
    (void)state;
    char said[2][2][300];
    for (int same = 0; same < 2; same++)
        for (int turn = 0; turn < 2; turn++) {
            setup s;
            prepare(&s, "addresses", NULL, NULL);
            s.spec.same_addresses = same;
            kf_auto(kf_sandbox) sandbox = spawn(&s);
            expect(sandbox, KF_END_EXITED, 0);
            const kf_buffer *output = kf_sandbox_output(sandbox);
            assert_in_range(output->size, 20, sizeof said[0][0] - 1);
            snprintf(said[same][turn], sizeof said[same][turn], "%.*s", (int)output->size,
                     (const char *)output->data);
        }
    assert_int_equal(strcmp(said[1][0], said[1][1]) == 0, kf_sandbox_same_addresses());
    assert_true(!kf_sandbox_same_addresses() || strcmp(said[0][0], said[0][1]) != 0);
}

static void ends_are_told_apart(void **state)
{
    (void)state;
    setup s;
    char text[128];
    prepare(&s, "exit", "7", NULL);
    kf_auto(kf_sandbox) exited = spawn(&s);
    expect(exited, KF_END_EXITED, 7);
    kf_sandbox_describe(kf_sandbox_outcome(exited), text, sizeof text);
    assert_string_equal(text, "exit status 7");
    prepare(&s, "crash", NULL, NULL);
    kf_auto(kf_sandbox) crashed = spawn(&s);
    expect(crashed, KF_END_SIGNAL, SIGSEGV);
    kf_sandbox_describe(kf_sandbox_outcome(crashed), text, sizeof text);
    assert_string_equal(text, "signal 11 (Segmentation fault)");
    for (int locked = 0; locked < 2; locked++) {
        prepare(&s, "abort", locked ? "lockdown" : NULL, NULL);
        kf_auto(kf_sandbox) aborted = spawn(&s);
        expect(aborted, KF_END_SIGNAL, has(aborted, KF_LAYER_PID_NS) ? SIGSEGV : SIGABRT);
    }
    prepare(&s, "sleep", NULL, NULL);
    kf_auto(kf_sandbox) killed = spawn(&s);
    assert_false(kf_sandbox_pump(killed, 0));
    kf_sandbox_kill(killed);
    expect(killed, KF_END_KILLED, 0);
    assert_true(kf_sandbox_pump(killed, 0));
}

static void mistakes_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *program, *directory, *path, *text;
    } cases[] = {
        {"/usr/bin/no-such-program", NULL, NULL, "no-such-program: No such file"},
        {"true", NULL, NULL, "absolute path"},
        {"/etc/passwd", NULL, NULL, "/etc/passwd: "},
        {NULL, "/no/such/place", NULL, "working directory /no/such/place"},
        {NULL, NULL, "/no/such/path", "path '/no/such/path': No such file"},
        {NULL, NULL, "relative", "must be absolute"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup s;
        kf_error error = {0};
        kf_sandbox_path one[8];
        prepare(&s, "exit", "0", NULL);
        memcpy(one, paths, sizeof one);
        if (cases[i].program) s.argv[0] = cases[i].program;
        if (cases[i].directory) s.spec.directory = cases[i].directory;
        if (cases[i].path)
            one[s.spec.path_count++] = (kf_sandbox_path){cases[i].path, KF_PATH_READ, false};
        s.spec.paths = one;
        assert_null(kf_sandbox_spawn(&s.spec, &error));
        assert_int_equal(error.code, KF_ERROR_INPUT);
        if (!strstr(error.text, cases[i].text))
            fail_msg("'%s' lacks '%s'", error.text, cases[i].text);
        if (cases[i].path) {
            one[s.spec.path_count - 1].optional = true;
            if (cases[i].path[0] != '/') continue;
            kf_auto(kf_sandbox) sandbox = spawn(&s);
            expect(sandbox, KF_END_EXITED, 0);
        }
    }
    kf_sandbox_fd twice[] = {{0, 5}, {1, 5}}, low[] = {{0, 1}}, closed[] = {{200, 5}};
    const struct {
        kf_sandbox_fd *fds;
        size_t count;
    } lists[] = {{twice, 2}, {low, 1}, {closed, 1}};
    for (size_t i = 0; i < 3; i++) {
        setup s;
        kf_error error = {0};
        prepare(&s, "exit", "0", NULL);
        s.spec.fds = lists[i].fds;
        s.spec.fd_count = lists[i].count;
        assert_null(kf_sandbox_spawn(&s.spec, &error));
        assert_int_equal(error.code, KF_ERROR_INPUT);
    }
    signal(SIGCHLD, SIG_IGN);
    setup s;
    kf_error error = {0};
    prepare(&s, "exit", "0", NULL);
    assert_null(kf_sandbox_spawn(&s.spec, &error));
    assert_non_null(strstr(error.text, "SIGCHLD"));
    signal(SIGCHLD, SIG_DFL);
}

static void layers_are_reported(void **state)
{
    (void)state;
    kf_autobuffer reasons = {0};
    int granted = kf_sandbox_available(&reasons);
    for (int bit = 1; bit <= KF_LAYER_ALL; bit <<= 1) {
        const char *name = kf_sandbox_layer_name((kf_sandbox_layer)bit);
        assert_string_not_equal(name, "unknown");
        /* Each refused layer has its line. */
        if (!(granted & bit) && (!reasons.data || !strstr(reasons.data, name)))
            fail_msg("no reason for %s", name);
    }
    if (way.refused || way.chrooted) {
        assert_false(granted & KF_LAYER_USER_NS);
        assert_non_null(strstr(reasons.data, "remedy: "));
    }
    setup s;
    kf_error error = {0};
    prepare(&s, "exit", "0", NULL);
    s.spec.strict = true;
    int wanted = way.layers ? way.layers : KF_LAYER_ALL;
    kf_auto(kf_sandbox) sandbox = kf_sandbox_spawn(&s.spec, &error);
    assert_int_equal(sandbox != NULL, (wanted & ~granted) == 0);
    if (sandbox) assert_int_equal(kf_sandbox_layers(sandbox), wanted);
    if (!sandbox) assert_int_equal(error.code, KF_ERROR_MACHINE);
    s.spec.strict = false;
    kf_auto(kf_sandbox) lax = spawn(&s);
    assert_int_equal(kf_sandbox_layers(lax), wanted & granted);
    assert_true(has(lax, KF_LAYER_LANDLOCK | KF_LAYER_SECCOMP)); /* the cases above assume them */
}

static void *spawn_many(void *unused)
{
    long bad = 0;
    for (int i = 0; i < 10; i++) {
        setup s;
        kf_error error;
        prepare(&s, "exit", "3", NULL);
        kf_auto(kf_sandbox) sandbox = kf_sandbox_spawn(&s.spec, &error);
        if (!sandbox || !kf_sandbox_pump(sandbox, 20)) {
            bad++;
            continue;
        }
        bad += kf_sandbox_outcome(sandbox)->end != KF_END_EXITED ||
               kf_sandbox_outcome(sandbox)->status != 3;
    }
    (void)unused;
    return (void *)(intptr_t)bad;
}

static void threads_may_spawn_at_once(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, spawn_many, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
}

int test_program(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_reported),
        cmocka_unit_test(files_outside_are_unreadable),
        cmocka_unit_test(files_read_only_stay),
        cmocka_unit_test(files_given_are_usable),
        cmocka_unit_test(proc_of_the_machine_is_read_only_for_fixed_code),
        cmocka_unit_test(files_hidden_are_not_there),
        cmocka_unit_test(temporary_files_are_private),
        cmocka_unit_test(other_processes_are_out_of_reach),
        cmocka_unit_test(network_is_out_of_reach),
        cmocka_unit_test(system_calls_are_filtered),
        cmocka_unit_test(lockdown_denies_the_rest),
        cmocka_unit_test(no_code_is_made),
        cmocka_unit_test(start_state_is_clean),
        cmocka_unit_test(descriptors_are_those_listed),
        cmocka_unit_test(environment_is_complete),
        cmocka_unit_test(addresses_are_the_same_on_request),
        cmocka_unit_test(ends_are_told_apart),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(threads_may_spawn_at_once),
        cmocka_unit_test(nothing_is_left),
    };
    return run_in_all_ways(tests, sizeof tests / sizeof *tests);
}
