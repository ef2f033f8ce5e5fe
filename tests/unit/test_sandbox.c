/* Every layer's effect, proved by a program inside (sandbox_inmate.c) that tries to escape.
 *
 * The same cases run in several ways, each in a process of its own since what the machine grants is found once a process: with all layers, without
 * namespaces (landlock and seccomp carry it), where the kernel refuses user namespaces, and each of these as an ordinary user where
 * the tests run as root. SANDBOX_INMATE is the program's path, from CMake. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "kforge/file.h"
#include "kforge/sandbox.h"

enum { ORDINARY_USER = 65534, NO_NAMESPACES = KF_LAYER_RLIMITS | KF_LAYER_NO_NEW_PRIVS | KF_LAYER_LANDLOCK | KF_LAYER_SECCOMP };

static struct way {
    const char *name;
    int layers;    /* of the spec */
    bool user;     /* as an ordinary user */
    bool refused;  /* the kernel refuses namespaces */
    bool chrooted; /* in a chroot, where user namespaces are refused to root, the others are not */
} way;

static char home[64];   /* a directory of this process's own: HOME/inmate, HOME/secret, HOME/job, HOME/readonly */
static char inmate[96]; /* the program */
static kf_sandbox_path paths[8];
static char secret[96], job[96], readonly[96];

/* A spec that runs the inmate with these arguments; the rest is for the case to change. */
typedef struct setup {
    kf_sandbox_spec spec;
    const char *argv[8];
} setup;

static void prepare(setup *s, const char *command, const char *first, const char *second)
{
    *s = (setup){.argv = {inmate, command, first, first ? second : NULL}};
    s->spec = (kf_sandbox_spec){.argv = s->argv,
                                .paths = paths,
                                .path_count = 7,
                                .directory = job,
                                .limits = {.wall_seconds = 20},
                                .seccomp = KF_SECCOMP_RUNNER,
                                .layers = way.layers};
}

static kf_sandbox *spawn(const setup *s)
{
    kf_error error = {0};
    kf_sandbox *sandbox = kf_sandbox_spawn(&s->spec, &error);
    if (!sandbox) fail_msg("%s", error.text);
    return sandbox;
}

static bool has(const kf_sandbox *sandbox, int layer)
{
    return (kf_sandbox_layers(sandbox) & layer) == layer;
}

/* Runs to the end and expects it; shows the program's output where it differs. */
static void expect(kf_sandbox *sandbox, kf_sandbox_end end, int status)
{
    assert_true(kf_sandbox_pump(sandbox, 60));
    const kf_sandbox_result *result = kf_sandbox_outcome(sandbox);
    if (result->end == end && (end > KF_END_SIGNAL || result->status == status)) return;
    char text[128];
    kf_sandbox_describe(result, text, sizeof text);
    const kf_buffer *output = kf_sandbox_output(sandbox);
    fail_msg("%s; output: %.2000s", text, output->data ? output->data : "");
}

/* The same command without a sandbox: the attack must work there, or the case proves nothing. */
static void expect_escape(char *command, char *first, char *second)
{
    char *argv[] = {inmate, command, first, second, NULL};
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        execv(inmate, argv);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    while (waitpid(-1, NULL, __WALL) > 0) continue; /* what it left behind, where spawning made us a subreaper */
}

/* In both profiles: contained. */
static void expect_contained(const char *command, const char *first, const char *second)
{
    for (int profile = KF_SECCOMP_BUILD; profile <= KF_SECCOMP_RUNNER; profile++) {
        setup s;
        prepare(&s, command, first, second);
        s.spec.seccomp = (kf_seccomp_profile)profile;
        kf_auto(kf_sandbox) sandbox = spawn(&s);
        expect(sandbox, KF_END_EXITED, 0);
    }
}

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
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
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
    int leak = open(secret, O_RDONLY), fd = open("/dev/null", O_RDONLY); /* neither is close-on-exec */
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
    if (has(own, KF_LAYER_MOUNT_NS)) assert_string_equal(kf_sandbox_output(own)->data, "ONE=1\nTMPDIR=/tmp\n");
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

static void spinning_is_cut_off(void **state)
{
    (void)state;
    setup s;
    prepare(&s, "spin", NULL, NULL);
    s.spec.limits.wall_seconds = 0.4;
    kf_auto(kf_sandbox) wall = spawn(&s);
    expect(wall, KF_END_WALL, 0);
    assert_true(kf_sandbox_outcome(wall)->wall_seconds >= 0.4);
    assert_true(kf_sandbox_outcome(wall)->wall_seconds < 0.6);
    /* A caller that waits for the descriptor only. */
    kf_auto(kf_sandbox) polled = spawn(&s);
    struct pollfd ready = {.fd = kf_sandbox_descriptor(polled), .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 5000), 1);
    while (!kf_sandbox_pump(polled, 0)) assert_int_equal(poll(&ready, 1, 5000), 1);
    expect(polled, KF_END_WALL, 0);
    assert_true(kf_sandbox_outcome(polled)->wall_seconds < 0.6);
    s.spec.limits = (kf_sandbox_limits){.wall_seconds = 30, .cpu_seconds = 0.5};
    kf_auto(kf_sandbox) cpu = spawn(&s);
    expect(cpu, KF_END_CPU, 0);
    assert_true(kf_sandbox_outcome(cpu)->cpu_seconds < 2);
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
    assert_true((result->end == KF_END_EXITED && result->status == 0) || result->end == KF_END_MEMORY);
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

/* Shared memory that the program inside counts in. */
static int counters_fd;
static _Atomic uint64_t *counters;

static uint64_t sum_counters(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < 64; i++) sum += atomic_load(&counters[i]);
    return sum;
}

static void wait_for_counters(int slots)
{
    double until = kf_now() + 10;
    for (int i = 0; i < slots; i++)
        while (atomic_load(&counters[i]) == 0) {
            if (kf_now() > until) fail_msg("slot %d never counted", i);
            usleep(1000);
        }
}

static kf_sandbox *spawn_counting(setup *s, int slots)
{
    static kf_sandbox_fd fds[1];
    fds[0] = (kf_sandbox_fd){counters_fd, 3};
    s->spec.fds = fds;
    s->spec.fd_count = 1;
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
    for (double until = kf_now() + 5; sum_counters() == before;) {
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
    assert_true(kf_sandbox_freeze(sandbox, &error));
    kf_sandbox_kill(sandbox);
    expect(sandbox, KF_END_KILLED, 0);
    expect_still();
    assert_false(kf_sandbox_freeze(sandbox, &error));
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
            noticed += strstr(error.text, "woken") != NULL;
            continue;
        }
        uint64_t before = sum_counters();
        usleep(60000);
        bool moved = sum_counters() != before;
        bool thawed = kf_sandbox_thaw(sandbox, &error);
        if (!thawed) noticed += strstr(error.text, "woken") != NULL;
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
    /* The machine's root is exempt from RLIMIT_NPROC; a pid namespace (Linux 6.14) or a pids cgroup holds it then. */
    if (geteuid() != 0) assert_true(made <= 60);
    if (has(build, KF_LAYER_PID_NS) && kf_sandbox_outcome(build)->status == 0) assert_true(made <= 301);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* The caller is killed: its children go with it. */
static void nothing_outlives_the_caller(void **state)
{
    (void)state;
    for (int profile = KF_SECCOMP_BUILD; profile <= KF_SECCOMP_RUNNER; profile++) {
        memset((void *)counters, 0, 4096);
        pid_t caller = fork();
        if (caller == 0) {
            setup s;
            bool family = profile == KF_SECCOMP_BUILD;
            prepare(&s, family ? "family" : "count", "2", NULL);
            s.spec.seccomp = (kf_seccomp_profile)profile;
            kf_sandbox *sandbox = spawn_counting(&s, 2);
            (void)sandbox;
            kill(getpid(), SIGKILL);
        }
        int status;
        assert_int_equal(waitpid(caller, &status, 0), caller);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        usleep(100000);
        assert_true(sum_counters() > 0);
        expect_still();
        while (waitpid(-1, NULL, __WALL) > 0) continue; /* ours now, where we became a subreaper */
    }
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
        if (cases[i].path) one[s.spec.path_count++] = (kf_sandbox_path){cases[i].path, KF_PATH_READ, false};
        s.spec.paths = one;
        assert_null(kf_sandbox_spawn(&s.spec, &error));
        assert_int_equal(error.code, KF_ERROR_INPUT);
        if (!strstr(error.text, cases[i].text)) fail_msg("'%s' lacks '%s'", error.text, cases[i].text);
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
        if (!(granted & bit) && (!reasons.data || !strstr(reasons.data, name))) fail_msg("no reason for %s", name);
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
        bad += kf_sandbox_outcome(sandbox)->end != KF_END_EXITED || kf_sandbox_outcome(sandbox)->status != 3;
    }
    (void)unused;
    return (void *)(intptr_t)bad;
}

static void threads_may_spawn_at_once(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, spawn_many, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
}

static void nothing_is_left(void **state)
{
    (void)state;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    int open_now = 0;
    for (int fd = 0; fd < 1024; fd++) open_now += fcntl(fd, F_GETFD) >= 0;
    assert_true(open_now < 16);
    DIR *mine = opendir(home); /* TMPDIR: what stands for /tmp is made here */
    assert_non_null(mine);
    for (struct dirent *entry; (entry = readdir(mine));)
        if (strncmp(entry->d_name, "kforge-sandbox", 14) == 0) fail_msg("%s is left", entry->d_name);
    closedir(mine);
}

/* Makes clone and unshare refuse all namespaces, as a container's filter does. */
static void refuse_namespaces(void)
{
    const unsigned flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void copy_inmate(void)
{
    size_t size;
    kf_error error;
    kf_autofree char *program = kf_file_read(SANDBOX_INMATE, 64u << 20, &size, &error);
    if (!program) fail_msg("%s", error.text);
    snprintf(inmate, sizeof inmate, "%s/inmate", home);
    int fd = open(inmate, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_true(kf_write_all(fd, program, size));
    close(fd);
}

/* A chroot into the same files. The mount goes with this process. */
static void enter_chroot(void)
{
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("/", "/mnt", NULL, MS_BIND | MS_REC, NULL) || chroot("/mnt") || chdir("/")) {
        fprintf(stderr, "skipped: no chroot: %s\n", strerror(errno));
        _exit(0);
    }
}

static int make_home(void **state)
{
    (void)state;
    if (way.chrooted) enter_chroot();
    snprintf(home, sizeof home, "/tmp/kforge-test.XXXXXX");
    assert_non_null(mkdtemp(home));
    setenv("TMPDIR", home, 1);
    copy_inmate();
    snprintf(secret, sizeof secret, "%s/secret", home);
    snprintf(job, sizeof job, "%s/job", home);
    snprintf(readonly, sizeof readonly, "%s/readonly", home);
    char file[128];
    snprintf(file, sizeof file, "%s/file", readonly);
    assert_int_equal(mkdir(job, 0755) | mkdir(readonly, 0755), 0);
    assert_true(kf_file_write(secret, "secret", 6, NULL) && kf_file_write(file, "as it was", 9, NULL));
    if (way.user) {
        const char *owned[] = {home, inmate, secret, job, readonly, file};
        for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
            assert_int_equal(chown(owned[i], ORDINARY_USER, ORDINARY_USER), 0);
        assert_int_equal(setgroups(0, NULL) | setgid(ORDINARY_USER) | setuid(ORDINARY_USER), 0);
        prctl(PR_SET_DUMPABLE, 1); /* as in a process that started as this user */
    }
    if (way.refused) refuse_namespaces();
    const int run = KF_PATH_READ | KF_PATH_EXEC;
    const kf_sandbox_path list[] = {
        {"/usr", run, false},
        {"/lib", run, true},
        {"/lib64", run, true},
        {"/bin", run, true},
        {inmate, run, false},
        {job, KF_PATH_READ | KF_PATH_WRITE, false},
        {readonly, KF_PATH_READ, false},
    };
    memcpy(paths, list, sizeof list);
    counters_fd = memfd_create("counters", MFD_CLOEXEC);
    assert_int_equal(ftruncate(counters_fd, 4096), 0);
    counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, counters_fd, 0);
    assert_true(counters != MAP_FAILED);
    return 0;
}

static int remove_home(void **state)
{
    (void)state;
    return !kf_directory_remove(home, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(layers_are_reported),
    cmocka_unit_test(files_outside_are_unreadable),
    cmocka_unit_test(files_read_only_stay),
    cmocka_unit_test(files_given_are_usable),
    cmocka_unit_test(temporary_files_are_private),
    cmocka_unit_test(other_processes_are_out_of_reach),
    cmocka_unit_test(network_is_out_of_reach),
    cmocka_unit_test(system_calls_are_filtered),
    cmocka_unit_test(lockdown_denies_the_rest),
    cmocka_unit_test(start_state_is_clean),
    cmocka_unit_test(descriptors_are_those_listed),
    cmocka_unit_test(environment_is_complete),
    cmocka_unit_test(ends_are_told_apart),
    cmocka_unit_test(spinning_is_cut_off),
    cmocka_unit_test(output_is_bounded),
    cmocka_unit_test(memory_is_bounded),
    cmocka_unit_test(files_are_bounded),
    cmocka_unit_test(freezing_stops_threads),
    cmocka_unit_test(freezing_stops_processes),
    cmocka_unit_test(waking_is_noticed),
    cmocka_unit_test(daemons_are_killed),
    cmocka_unit_test(forkbombs_are_bounded),
    cmocka_unit_test(nothing_outlives_the_caller),
    cmocka_unit_test(mistakes_are_explained),
    cmocka_unit_test(threads_may_spawn_at_once),
    cmocka_unit_test(nothing_is_left),
};

static const struct way ways[] = {
    {"all layers", KF_LAYER_ALL, false, false, false},
    {"no namespaces wanted", NO_NAMESPACES, false, false, false},
    {"namespaces refused", KF_LAYER_ALL, false, true, false},
    {"ordinary user, all layers", KF_LAYER_ALL, true, false, false},
    {"ordinary user, no namespaces wanted", NO_NAMESPACES, true, false, false},
    {"ordinary user, namespaces refused", KF_LAYER_ALL, true, true, false},
    {"in a chroot", KF_LAYER_ALL, false, false, true},
};

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc > 2) cmocka_set_test_filter(argv[2]);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        way = ways[i];
        if ((argc > 1 && atoi(argv[1]) != (int)i && argv[1][0] != '*') || ((way.user || way.chrooted) && geteuid() != 0)) continue;
        fprintf(stderr, "== %s\n", way.name);
        pid_t pid = fork();
        if (pid == 0) _exit(cmocka_run_group_tests_name(way.name, tests, make_home, remove_home) != 0);
        int status;
        failed += pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
    }
    return failed != 0;
}
