/* Theory of operation.
 *
 *   caller                                    child (process 1 of its pid namespace)
 *   plan: paths, mounts, filter, limits
 *   clone into new namespaces and cgroup ───► reset signals, die with the parent
 *   write user and group maps ◄─── ready ──── (only with a user namespace)
 *                             ──── go ──────► session, descriptors, mounts, limits,
 *                                             capabilities, no_new_privs, landlock, seccomp
 *   end of file on the channel ◄───────────── exec
 *   (or step, errno: whose fault it was)
 *
 * plan.c and paths.c prepare, child.c carries out (mounts.c and landlock.c for the files, seccomp.c
 * for the system calls), watch.c looks after the running program, tree.c and cgroup.c know who
 * belongs to it, layers.c finds out what the machine grants, lockdown.c is for the program itself.
 * The program is the caller's own child, not a grandchild behind a supervisor: fewer processes
 * between the judge and what it times, and killing process 1 of a pid namespace makes the kernel
 * kill everything in it.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "kforge/file.h"

int kf_clone_flags(int layers)
{
    return (layers & KF_LAYER_USER_NS ? CLONE_NEWUSER : 0) |
           (layers & KF_LAYER_PID_NS ? CLONE_NEWPID : 0) |
           (layers & KF_LAYER_NET_NS ? CLONE_NEWNET : 0) |
           (layers & KF_LAYER_IPC_NS ? CLONE_NEWIPC : 0) |
           (layers & KF_LAYER_MOUNT_NS ? CLONE_NEWNS : 0) |
           (layers & KF_LAYER_UTS_NS ? CLONE_NEWUTS : 0);
}

/* Like fork, with its copy of the memory. Only clone3 can place the child in a cgroup; clone does
 * the rest also where clone3 is denied. */
static long clone_child(int flags, const kf_cgroup *cgroup, int *pidfd)
{
    flags |= CLONE_PIDFD;
    if (cgroup && cgroup->fd >= 0) {
        struct clone_args arguments = {.flags = (uint64_t)flags | CLONE_INTO_CGROUP,
                                       .pidfd = (uint64_t)(uintptr_t)pidfd,
                                       .exit_signal = SIGCHLD,
                                       .cgroup = (uint64_t)cgroup->fd};
        return syscall(SYS_clone3, &arguments, sizeof arguments);
    }
    return syscall(SYS_clone, flags | SIGCHLD, NULL, pidfd, 0, 0);
}

static bool write_map(pid_t pid, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return kf_write_text(path, text);
}

/* The caller's own ids, as 0 inside: files keep their owner, and a process that made itself
 * non-dumpable stays visible to the caller. */
static bool write_maps(pid_t pid)
{
    char text[64];
    if (!write_map(pid, "setgroups", "deny") && errno != ENOENT) return false;
    snprintf(text, sizeof text, "0 %u 1", getegid());
    if (!write_map(pid, "gid_map", text)) return false;
    snprintf(text, sizeof text, "0 %u 1", geteuid());
    return write_map(pid, "uid_map", text);
}

/* Follows the child to its exec. */
static bool attend(int channel, pid_t pid, kf_failure *failure)
{
    for (;;) {
        ssize_t size = recv(channel, failure, sizeof *failure, 0);
        if (size < 0 && errno == EINTR) continue;
        if (size == 0) return true; /* exec closed the other end */
        if (size != (ssize_t)sizeof *failure) {
            *failure = (kf_failure){KF_SANDBOX_STEP_CLONE, size < 0 ? errno : EPROTO, 0};
            return false;
        }
        if (failure->step != KF_SANDBOX_STEP_READY) return false;
        if (!write_maps(pid)) {
            *failure = (kf_failure){KF_SANDBOX_STEP_MAPS, errno, 0};
            return false;
        }
        send(channel, "", 1, MSG_NOSIGNAL); /* a dead child shows as end of file */
    }
}

bool kf_spawn_child(const kf_plan *plan, const kf_cgroup *cgroup, int output, pid_t *pid,
                    int *pidfd, kf_failure *failure)
{
    int channel[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel)) {
        *failure = (kf_failure){KF_SANDBOX_STEP_CLONE, errno, 0};
        return false;
    }
    /* The caller's signal handlers must not run in the child. */
    uint64_t all = ~0ull, before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
    *pidfd = -1;
    long child = clone_child(kf_clone_flags(plan->layers), cgroup, pidfd);
    int number = errno;
    if (child == 0) {
        KF_NEW_PROCESS();
        close(channel[0]);
        kf_child_run(plan, channel[1], output);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    close(channel[1]);
    bool running = false;
    if (child < 0) {
        *failure = (kf_failure){KF_SANDBOX_STEP_CLONE, number, 0};
    } else {
        *pid = (pid_t)child;
        running = attend(channel[0], *pid, failure);
    }
    close(channel[0]);
    if (child > 0 && !running) {
        kill(*pid, SIGKILL);
        siginfo_t info;
        while (kf_waitid(P_PID, *pid, &info, WEXITED, NULL) == -EINTR) continue;
        close(*pidfd);
        *pidfd = -1;
    }
    return running;
}

/* What was being done, in the words of the user. */
static const char *const step_texts[KF_SANDBOX_STEP_COUNT] = {
    [KF_SANDBOX_STEP_CLONE] = "creating the process and its namespaces",
    [KF_SANDBOX_STEP_PARENT] = "tying the process to its parent",
    [KF_SANDBOX_STEP_MAPS] = "writing the user and group maps",
    [KF_SANDBOX_STEP_SESSION] = "starting a session",
    [KF_SANDBOX_STEP_DESCRIPTORS] = "placing descriptors",
    [KF_SANDBOX_STEP_MOUNT_ROOT] = "mounting the new root",
    [KF_SANDBOX_STEP_MOUNT_PATH] = "mounting",
    [KF_SANDBOX_STEP_MOUNT_PROC] = "mounting /proc",
    [KF_SANDBOX_STEP_MOUNT_PIVOT] = "entering the new root",
    [KF_SANDBOX_STEP_DIRECTORY] = "entering the working directory",
    [KF_SANDBOX_STEP_RLIMIT] = "setting resource limit",
    [KF_SANDBOX_STEP_CAPABILITIES] = "dropping capabilities",
    [KF_SANDBOX_STEP_NO_NEW_PRIVS] = "setting no_new_privs",
    [KF_SANDBOX_STEP_LANDLOCK] = "putting on landlock",
    [KF_SANDBOX_STEP_LANDLOCK_PATH] = "landlock rule for",
    [KF_SANDBOX_STEP_SECCOMP] = "putting on the system call filter",
    [KF_SANDBOX_STEP_EXEC] = "starting",
};

void kf_failure_text(const kf_failure *failure, const kf_plan *plan, kf_error *error)
{
    int step =
        failure->step > 0 && failure->step < KF_SANDBOX_STEP_COUNT && step_texts[failure->step]
            ? failure->step
            : KF_SANDBOX_STEP_CLONE;
    char object[256] = "";
    const char *hint = "";
    kf_error_code code = KF_ERROR_MACHINE;
    if ((step == KF_SANDBOX_STEP_MOUNT_PATH || step == KF_SANDBOX_STEP_LANDLOCK_PATH) &&
        (size_t)failure->index < plan->mount_count)
        snprintf(object, sizeof object, " %.200s", plan->mounts[failure->index].path);
    if (step == KF_SANDBOX_STEP_RLIMIT) snprintf(object, sizeof object, " %d", failure->index);
    if (step == KF_SANDBOX_STEP_DIRECTORY) {
        snprintf(object, sizeof object, " %.200s", plan->directory);
        hint = " (it must lie under one of the sandbox's paths)";
        code = KF_ERROR_INPUT;
    }
    if (step == KF_SANDBOX_STEP_EXEC) {
        snprintf(object, sizeof object, " %.200s", plan->program);
        code = KF_ERROR_INPUT;
        if (failure->error == ENOENT)
            hint = " (the program, its interpreter or its loader is not under the sandbox's paths)";
        if (failure->error == EACCES)
            hint = " (it must be executable and under a path with execute access)";
    }
    if (step == KF_SANDBOX_STEP_DESCRIPTORS && failure->error == EBADF) code = KF_ERROR_INPUT;
    kf_fail(error, code, "sandbox: %s%s: %s%s", step_texts[step], object, strerror(failure->error),
            hint);
}

static bool make_poll_set(kf_sandbox *sandbox, kf_error *error)
{
    struct epoll_event event = {.events = EPOLLIN};
    sandbox->epoll = epoll_create1(EPOLL_CLOEXEC);
    sandbox->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    bool made = sandbox->epoll >= 0 && sandbox->timer >= 0;
    if (made && sandbox->limits.wall_seconds > 0) {
        double deadline = sandbox->started + sandbox->limits.wall_seconds;
        struct itimerspec when = {
            .it_value = {.tv_sec = (time_t)deadline,
                         .tv_nsec = (long)((deadline - (double)(time_t)deadline) * 1e9)}};
        sandbox->deadline = deadline;
        made = timerfd_settime(sandbox->timer, TFD_TIMER_ABSTIME, &when, NULL) == 0;
    }
    if (sandbox->limits.cpu_seconds > 0) sandbox->look = kf_next_look(sandbox, sandbox->started);
    int fds[] = {sandbox->output_fd, sandbox->pidfd, sandbox->timer};
    for (size_t i = 0; i < 3 && made; i++) {
        event.data.fd = fds[i];
        made = epoll_ctl(sandbox->epoll, EPOLL_CTL_ADD, fds[i], &event) == 0;
    }
    return made || kf_fail(error, KF_ERROR_MACHINE, "sandbox: setting up the watchdog: %s",
                           strerror(errno));
}

/* The layers that this child gets, or an error where a wanted one is missing and `strict`. */
static bool choose_layers(const kf_sandbox_spec *spec, int *layers, kf_error *error)
{
    int wanted = spec->layers ? spec->layers & KF_LAYER_ALL : KF_LAYER_ALL;
    *layers = wanted & kf_sandbox_available(NULL);
    int missing = wanted & ~*layers;
    if (!spec->strict || !missing) return true;
    kf_autobuffer names = {0};
    for (int bit = 1; bit <= KF_LAYER_ALL; bit <<= 1)
        if (missing & bit)
            kf_buffer_format(&names, " %s", kf_sandbox_layer_name((kf_sandbox_layer)bit));
    return kf_fail(error, KF_ERROR_MACHINE,
                   "sandbox: strict, but this machine refuses:%s; `kforge doctor` says why and "
                   "what to do, or run without strict",
                   names.data ? names.data : "");
}

/* A caller that ignores SIGCHLD has its children reaped by the kernel, and their status thrown
 * away. */
static bool check_caller(kf_error *error)
{
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action)) return true;
    if ((!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN) ||
        (action.sa_flags & SA_NOCLDWAIT))
        return kf_fail(
            error, KF_ERROR_INPUT,
            "sandbox: the calling program ignores SIGCHLD, so no child's end could be learned");
    return true;
}

static bool start(kf_sandbox *sandbox, const kf_plan *plan, kf_error *error)
{
    int output[2];
    if (pipe2(output, O_CLOEXEC))
        return kf_fail(error, KF_ERROR_MACHINE, "sandbox: pipe: %s", strerror(errno));
    sandbox->output_fd = output[0];
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    fcntl(output[0], F_SETPIPE_SZ, 1 << 18);
    /* who opens /proc/self/fd/1 for reading, a compiler on a source's behalf, would wait for ever
     */
    fchmod(output[1], S_IWUSR);
    /* Orphans of a tree without a pid namespace come to us, so that they can be reaped and counted.
     */
    if (!(plan->layers & KF_LAYER_PID_NS)) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    kf_failure failure = {0};
    sandbox->started = kf_now();
    bool running =
        kf_spawn_child(plan, &sandbox->cgroup, output[1], &sandbox->pid, &sandbox->pidfd, &failure);
    close(output[1]);
    if (running) return true;
    kf_failure_text(&failure, plan, error);
    return false;
}

kf_sandbox *kf_sandbox_spawn(const kf_sandbox_spec *spec, kf_error *error)
{
    kf_plan plan __attribute__((cleanup(kf_plan_free))) = {0};
    int layers;
    if (!spec->argv || !spec->argv[0]) {
        kf_fail(error, KF_ERROR_INPUT, "sandbox: no program given");
        return NULL;
    }
    if (!check_caller(error) || !choose_layers(spec, &layers, error)) return NULL;
    kf_auto(kf_sandbox) sandbox = calloc(1, sizeof *sandbox);
    if (!sandbox) {
        kf_fail(error, KF_ERROR_MEMORY, "sandbox: out of memory");
        return NULL;
    }
    *sandbox = (kf_sandbox){.pidfd = -1,
                            .epoll = -1,
                            .timer = -1,
                            .output_fd = -1,
                            .cgroup.fd = -1,
                            .guard = -1,
                            .guard_fd = -1};
    sandbox->limits = spec->limits;
    sandbox->profile = spec->seccomp;
    sandbox->output.limit = spec->limits.output_bytes ? spec->limits.output_bytes : 1u << 20;
    if ((layers & KF_LAYER_CGROUP) && !kf_cgroup_create(&sandbox->cgroup, &spec->limits, error))
        return NULL;
    if (!kf_plan_build(spec, layers, &plan, error) || !start(sandbox, &plan, error)) return NULL;
    sandbox->layers = plan.layers;
    sandbox->temporary = kf_steal(&plan.temporary);
    bool scattered = !(plan.layers & KF_LAYER_PID_NS) && kf_may_have_descendants(sandbox);
    if (scattered || sandbox->temporary)
        sandbox->guard = kf_guard_start(sandbox->pid, sandbox->temporary, &sandbox->guard_fd);
    if (!make_poll_set(sandbox, error)) return NULL; /* frees, and so kills */
    return kf_steal(&sandbox);
}
