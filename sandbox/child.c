/* The child's steps between clone and exec. kf_child_run, at the end, calls them in order.
 *
 * The caller may have many threads, and the clone copies only one of them. Locks of the other
 * threads stay locked. Therefore this file only calls async-signal-safe functions: no allocation,
 * no stdio. The plan holds everything that needs computing. Its memory is a copy, so the child may
 * write to it. A failure goes to the caller through the channel as (step, errno, index). A
 * successful exec closes the channel.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/securebits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

noreturn void kf_child_fail(int channel, kf_sandbox_step step, int error, int index)
{
    const kf_failure failure = {step, error, index};
    ssize_t sent = send(channel, &failure, sizeof failure, MSG_NOSIGNAL);
    kf_exit_child(sent == (ssize_t)sizeof failure ? 126 : 127);
}

bool kf_write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t length = strlen(text);
    ssize_t written = write(fd, text, length);
    int number = errno;
    close(fd);
    errno = number;
    return written == (ssize_t)length;
}

/* Resets every signal to its default, including 32 and 33, which the C library's sigaction hides.
 */
static void reset_signals(void)
{
    /* struct kernel_sigaction: all zero is SIG_DFL, no flags, empty mask */
    static const char default_action[64];
    for (int number = 1; number <= 64; number++)
        syscall(SYS_rt_sigaction, number, default_action, NULL, 8);
}

static void unblock_signals(void)
{
    const uint64_t none = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
}

/* Asks the kernel to kill the child when the parent dies. If the parent died before this call, its
 * end of the channel is closed. */
static void die_with_parent(int channel)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
        kf_child_fail(channel, KF_SANDBOX_STEP_PARENT, errno, 0);
    struct pollfd state = {.fd = channel};
    if (poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR))) kf_exit_child(127);
}

static void wait_for_maps(const kf_plan *plan, int channel)
{
    if (!(plan->layers & KF_LAYER_USER_NS)) return;
    /* If the caller is non-dumpable, the child's /proc files belong to root, and the caller cannot
     * write the maps. Exec discards the copy of the caller's secrets. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    const kf_failure ready = {.step = KF_SANDBOX_STEP_READY};
    char go;
    if (send(channel, &ready, sizeof ready, MSG_NOSIGNAL) != (ssize_t)sizeof ready ||
        recv(channel, &go, 1, 0) != 1)
        kf_exit_child(127);
}

/* Gives each descriptor its number. It first copies all of them to high numbers, because old and
 * new numbers may overlap. Exec closes all others. Returns the channel's new number. */
static int place_descriptors(kf_plan *plan, int channel, int output)
{
    int base = 3, moved[256];
    for (size_t i = 0; i < plan->fd_count; i++)
        if (plan->fds[i].child >= base) base = plan->fds[i].child + 1;
    int kept = fcntl(channel, F_DUPFD_CLOEXEC, base);
    int out = fcntl(output, F_DUPFD_CLOEXEC, base);
    if (kept < 0 || out < 0) kf_child_fail(channel, KF_SANDBOX_STEP_DESCRIPTORS, errno, 0);
    for (size_t i = 0; i < plan->fd_count; i++) {
        moved[plan->fds[i].child] = fcntl(plan->fds[i].host, F_DUPFD_CLOEXEC, base);
        if (moved[plan->fds[i].child] < 0)
            kf_child_fail(kept, KF_SANDBOX_STEP_DESCRIPTORS, errno, (int)i);
    }
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || (null != 0 && dup2(null, 0) < 0))
        kf_child_fail(kept, KF_SANDBOX_STEP_DESCRIPTORS, errno, 0);
    if (null == 0) fcntl(0, F_SETFD, 0);
    if (dup2(out, 1) < 0 || dup2(out, 2) < 0)
        kf_child_fail(kept, KF_SANDBOX_STEP_DESCRIPTORS, errno, 0);
    if (syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC)) {
        struct rlimit limit = {.rlim_cur = 1 << 16};
        getrlimit(RLIMIT_NOFILE, &limit);
        for (int fd = 3; fd < (1 << 20) && (rlim_t)fd < limit.rlim_cur; fd++)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    /* copies that dup2 makes stay open across exec */
    for (size_t i = 0; i < plan->fd_count; i++)
        if (dup2(moved[plan->fds[i].child], plan->fds[i].child) < 0)
            kf_child_fail(kept, KF_SANDBOX_STEP_DESCRIPTORS, errno, (int)i);
    return kept;
}

static const char *decimal(char text[16], unsigned value)
{
    char *at = text + 15;
    *at = '\0';
    do *--at = (char)('0' + value % 10);
    while (value /= 10);
    return at;
}

/* Changes settings of the new namespaces. No other layer depends on them, so a refusal is no
 * failure. */
static void tune_namespaces(const kf_plan *plan)
{
    char text[16];
    /* Forbids nested user namespaces, which would give new capabilities. seccomp forbids them, too.
     */
    if (plan->layers & KF_LAYER_USER_NS) kf_write_text("/proc/sys/user/max_user_namespaces", "0");
    if (plan->pid_maximum)
        kf_write_text("/proc/sys/kernel/pid_max", decimal(text, (unsigned)plan->pid_maximum));
    if (plan->layers & KF_LAYER_UTS_NS) syscall(SYS_sethostname, "sandbox", 7);
    kf_write_text("/proc/self/oom_score_adj", "500");
}

static void limit_resources(const kf_plan *plan, int channel)
{
    for (size_t i = 0; i < plan->rlimit_count; i++) {
        struct rlimit now;
        if (getrlimit((__rlimit_resource_t)plan->rlimits[i].resource, &now))
            kf_child_fail(channel, KF_SANDBOX_STEP_RLIMIT, errno, plan->rlimits[i].resource);
        rlim_t value = plan->rlimits[i].value;
        if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max) value = now.rlim_max;
        now = (struct rlimit){value, value};
        if (setrlimit((__rlimit_resource_t)plan->rlimits[i].resource, &now))
            kf_child_fail(channel, KF_SANDBOX_STEP_RLIMIT, errno, plan->rlimits[i].resource);
    }
    if (plan->nice) setpriority(PRIO_PROCESS, 0, 5);
    /* takes effect at exec */
    if (plan->same_addresses)
        personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
}

/* Drops all capabilities for good: neither user id 0, which the child has in its namespace, nor a
 * file with capabilities gives any back. */
static void drop_capabilities(int channel)
{
    prctl(PR_SET_SECUREBITS,
          SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
              SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
              SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
          0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (unsigned long capability = 0; capability < 64; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) && errno == EINVAL) break;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capset, &header, data))
        kf_child_fail(channel, KF_SANDBOX_STEP_CAPABILITIES, errno, 0);
}

static void install_filter(kf_plan *plan, int channel)
{
    if (!(plan->layers & KF_LAYER_SECCOMP)) return;
    kf_seccomp_patch(plan->filter, plan->filter_count, getpid(), plan->program);
    const struct sock_fprog program = {.len = (unsigned short)plan->filter_count,
                                       .filter = plan->filter};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
        kf_child_fail(channel, KF_SANDBOX_STEP_SECCOMP, errno, 0);
}

noreturn void kf_child_run(const kf_plan *shared, int channel, int output)
{
    kf_plan *plan = (kf_plan *)(uintptr_t)shared; /* the child's own copy */
    int number = 0, index = 0;
    kf_sandbox_step failed;
    reset_signals();
    die_with_parent(channel);
    wait_for_maps(plan, channel);
    umask(077);
    /* a new session has no controlling terminal */
    if (setsid() < 0) kf_child_fail(channel, KF_SANDBOX_STEP_SESSION, errno, 0);
    channel = place_descriptors(plan, channel, output);
    tune_namespaces(plan);
    if (plan->layers & KF_LAYER_MOUNT_NS) {
        failed = kf_child_mounts(plan, &number, &index);
        if (failed) kf_child_fail(channel, failed, number, index);
    }
    if (chdir(plan->directory)) kf_child_fail(channel, KF_SANDBOX_STEP_DIRECTORY, errno, 0);
    limit_resources(plan, channel);
    drop_capabilities(channel);
    if ((plan->layers & KF_LAYER_NO_NEW_PRIVS) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        kf_child_fail(channel, KF_SANDBOX_STEP_NO_NEW_PRIVS, errno, 0);
    if (plan->layers & KF_LAYER_LANDLOCK) {
        failed = kf_child_landlock(plan, &number, &index);
        if (failed) kf_child_fail(channel, failed, number, index);
    }
    install_filter(plan, channel);
    if (!plan->program) kf_exit_child(0);
    unblock_signals();
    execve(plan->program, plan->argv, plan->environment);
    kf_child_fail(channel, KF_SANDBOX_STEP_EXEC, errno, 0);
}
