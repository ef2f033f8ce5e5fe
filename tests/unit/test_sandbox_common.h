/* Shared by the tests of the sandbox: the program inside, the ways in which every case runs, and
 * what has to be gone after them.
 *
 * The same cases run in several ways, each in a process of its own since what the machine grants is
 * found once a process: with all layers, without namespaces (landlock and seccomp carry it), where
 * the kernel refuses user namespaces, and each of these as an ordinary user where the tests run as
 * root. SANDBOX_INMATE is the program's path, from CMake. */
#ifndef TEST_SANDBOX_COMMON_H
#define TEST_SANDBOX_COMMON_H

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
#include <stdlib.h>
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

#include "test_main.h"
#include "kforge/file.h"
#include "kforge/sandbox.h"

enum {
    NO_NAMESPACES = KF_LAYER_RLIMITS | KF_LAYER_NO_NEW_PRIVS | KF_LAYER_LANDLOCK | KF_LAYER_SECCOMP
};

static struct way {
    const char *name;
    int layers;    /* of the spec */
    bool user;     /* as an ordinary user */
    bool refused;  /* the kernel refuses namespaces */
    bool chrooted; /* in a chroot, where user namespaces are refused to root, the others are not */
} way;

/* Returns a user ID for this process only: the kernel counts a user's processes on the whole
 * machine. */
static uid_t ordinary_user(void)
{
    return 60000 + (uid_t)getpid() % 5000;
}

/* a directory of this process's own: HOME/inmate, HOME/secret, HOME/job, HOME/readonly */
static char home[64];
static char inmate[96]; /* the program */
static kf_sandbox_path paths[8];
static char secret[96], job[96], readonly[96];

/* A spec that runs the inmate with these arguments. Tests change the other fields. */
typedef struct setup {
    kf_sandbox_spec spec;
    const char *argv[8];
} setup;

static inline void prepare(setup *s, const char *command, const char *first, const char *second)
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

static inline kf_sandbox *spawn(const setup *s)
{
    kf_error error = {0};
    kf_sandbox *sandbox = kf_sandbox_spawn(&s->spec, &error);
    if (!sandbox) fail_msg("%s", error.text);
    return sandbox;
}

static inline bool has(const kf_sandbox *sandbox, int layer)
{
    return (kf_sandbox_layers(sandbox) & layer) == layer;
}

/* Runs the sandbox to its end and compares the outcome. Prints the program's output if it
 * differs. */
static inline void expect(kf_sandbox *sandbox, kf_sandbox_end end, int status)
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
static inline void expect_escape(char *command, char *first, char *second)
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
    /* reaps leftover processes if spawning made this process a subreaper */
    while (waitpid(-1, NULL, __WALL) > 0) continue;
}

/* In both profiles: contained. */
static inline void expect_contained(const char *command, const char *first, const char *second)
{
    for (int profile = KF_SECCOMP_BUILD; profile <= KF_SECCOMP_RUNNER; profile++) {
        setup s;
        prepare(&s, command, first, second);
        s.spec.seccomp = (kf_seccomp_profile)profile;
        kf_auto(kf_sandbox) sandbox = spawn(&s);
        expect(sandbox, KF_END_EXITED, 0);
    }
}

/* Shared memory that the program inside counts in. */
static int counters_fd;
static _Atomic uint64_t *counters;

/* True if a sandbox folder (a program's /tmp) is left in TMPDIR. Copies its name to `name`. */
static inline bool find_leftover(char *name, size_t size)
{
    DIR *mine = opendir(home);
    assert_non_null(mine);
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(mine));)
        if ((found = strncmp(entry->d_name, "kforge-sandbox", 14) == 0))
            snprintf(name, size, "%s", entry->d_name);
    closedir(mine);
    return found;
}

static inline void nothing_is_left(void **state)
{
    (void)state;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    int open_now = 0;
    for (int fd = 0; fd < 1024; fd++) open_now += fcntl(fd, F_GETFD) >= 0;
    assert_true(open_now < 16);
    char name[256];
    /* a killed caller's guard may still be at it */
    for (double until = kf_now() + 600; find_leftover(name, sizeof name);) {
        if (kf_now() > until) fail_msg("%s is left", name);
        usleep(1000);
    }
}

/* Makes clone and unshare refuse all namespaces, as a container's filter does. */
static inline void refuse_namespaces(void)
{
    const unsigned flags =
        CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
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

static inline void copy_inmate(void)
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
static inline void enter_chroot(void)
{
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("/", "/mnt", NULL, MS_BIND | MS_REC, NULL) || chroot("/mnt") || chdir("/")) {
        fprintf(stderr, "skipped: no chroot: %s\n", strerror(errno));
        _exit(0);
    }
}

static inline int make_home(void **state)
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
    assert_true(kf_file_write(secret, "secret", 6, NULL) &&
                kf_file_write(file, "as it was", 9, NULL));
    if (way.user) {
        const uid_t user = ordinary_user();
        const char *owned[] = {home, inmate, secret, job, readonly, file};
        for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
            assert_int_equal(chown(owned[i], user, user), 0);
        assert_int_equal(setgroups(0, NULL) | setgid(user) | setuid(user), 0);
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

static inline int remove_home(void **state)
{
    (void)state;
    return !kf_directory_remove(home, NULL);
}

static const struct way ways[] = {
    {"all layers", KF_LAYER_ALL, false, false, false},
    {"no namespaces wanted", NO_NAMESPACES, false, false, false},
    {"namespaces refused", KF_LAYER_ALL, false, true, false},
    {"ordinary user, all layers", KF_LAYER_ALL, true, false, false},
    {"ordinary user, no namespaces wanted", NO_NAMESPACES, true, false, false},
    {"ordinary user, namespaces refused", KF_LAYER_ALL, true, true, false},
    {"in a chroot", KF_LAYER_ALL, false, false, true},
};

/* Runs the cases in all ways, or in way number $TEST_WAY. Returns the program's status. */
static inline int run_in_all_ways(const struct CMUnitTest *tests, size_t count)
{
    int failed = 0;
    const char *wanted = getenv("TEST_WAY");
    if (test_lists_only()) return test_group("ways", tests, count, NULL, NULL);
    if (test_count_named(tests, count) == 0) return 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        way = ways[i];
        if ((wanted && atoi(wanted) != (int)i) || ((way.user || way.chrooted) && geteuid() != 0))
            continue;
        fprintf(stderr, "== %s\n", way.name);
        pid_t pid = fork();
        if (pid == 0) _exit(test_group(way.name, tests, count, make_home, remove_home) != 0);
        int status;
        failed += pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
    }
    return failed != 0;
}

#endif
