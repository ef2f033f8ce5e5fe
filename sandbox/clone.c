/* Creates the child process and follows it to its exec. */
#include "internal.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int kf_clone_flags(int layers)
{
    return (layers & KF_LAYER_USER_NS ? CLONE_NEWUSER : 0) |
           (layers & KF_LAYER_PID_NS ? CLONE_NEWPID : 0) |
           (layers & KF_LAYER_NET_NS ? CLONE_NEWNET : 0) |
           (layers & KF_LAYER_IPC_NS ? CLONE_NEWIPC : 0) |
           (layers & KF_LAYER_MOUNT_NS ? CLONE_NEWNS : 0) |
           (layers & KF_LAYER_UTS_NS ? CLONE_NEWUTS : 0);
}

/* Clones with a copy of the memory, like fork. Only clone3 can place the child in a cgroup. Without
 * a cgroup clone is enough, and works even if a container denies clone3. */
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

/* Maps the caller's own ids to 0 inside. Files then keep their owner, and the caller still sees a
 * child that made itself non-dumpable. */
static bool write_maps(pid_t pid)
{
    char text[64];
    if (!write_map(pid, "setgroups", "deny") && errno != ENOENT) return false;
    snprintf(text, sizeof text, "0 %u 1", getegid());
    if (!write_map(pid, "gid_map", text)) return false;
    snprintf(text, sizeof text, "0 %u 1", geteuid());
    return write_map(pid, "uid_map", text);
}

/* Answers the child's messages until its exec. */
static bool follow_to_exec(int channel, pid_t pid, kf_failure *failure)
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
        send(channel, "", 1, MSG_NOSIGNAL); /* if the child is dead, recv returns 0 */
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
    /* Blocks all signals: the caller's handlers must not run in the child. */
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
        running = follow_to_exec(channel[0], *pid, failure);
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

/* The steps as parts of error messages. */
static const char *const step_texts[KF_SANDBOX_STEP_COUNT] = {
    [KF_SANDBOX_STEP_CLONE] = "creating the process and its namespaces",
    [KF_SANDBOX_STEP_PARENT] = "setting the parent death signal",
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
    [KF_SANDBOX_STEP_LANDLOCK] = "enforcing landlock rules",
    [KF_SANDBOX_STEP_LANDLOCK_PATH] = "adding a landlock rule for",
    [KF_SANDBOX_STEP_SECCOMP] = "installing the system call filter",
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
