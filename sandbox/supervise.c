/* A running child: reads its output, enforces its limits, kills and reaps its tree. freeze.c stops
 * it. */
#include "internal.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>

#include "kforge/file.h"

/* Least time between two checks of a tree's CPU time. Without a cgroup a check reads all of /proc.
 */
#define CPU_CHECK_SECONDS 0.1

int kf_sandbox_layers(const kf_sandbox *sandbox)
{
    return sandbox->layers;
}

pid_t kf_sandbox_pid(const kf_sandbox *sandbox)
{
    return sandbox->pid;
}

int kf_sandbox_descriptor(const kf_sandbox *sandbox)
{
    return sandbox->epoll;
}

const kf_sandbox_result *kf_sandbox_outcome(const kf_sandbox *sandbox)
{
    return &sandbox->result;
}

const kf_buffer *kf_sandbox_output(const kf_sandbox *sandbox)
{
    return &sandbox->output;
}

/* Sends SIGKILL once. In a pid namespace the leader's death kills the rest. Otherwise the group and
 * each process of the tree get the signal, too. */
static void send_sigkill(kf_sandbox *sandbox)
{
    kf_cgroup_kill(&sandbox->cgroup);
    if (!(sandbox->layers & KF_LAYER_PID_NS)) {
        kill(-sandbox->pid, SIGKILL);
        kf_tree tree;
        if (kf_tree_scan(sandbox->pid, &tree))
            for (size_t i = 0; i < tree.count; i++) kill(tree.pids[i], SIGKILL);
        kf_tree_free(&tree);
    }
    /* safe: the child's number is not reused before it is reaped */
    kill(sandbox->pid, SIGKILL);
}

static void kill_for(kf_sandbox *sandbox, kf_sandbox_end reason)
{
    if (!sandbox->killing) {
        sandbox->killing = true;
        sandbox->reason = reason;
    }
    send_sigkill(sandbox);
}

/* Kills and reaps what the leader leaves without a pid namespace. Runs while the leader is a
 * zombie, whose number keeps the process group from being reused. The caller adopts each orphan, so
 * the loop ends when no process of the tree is left. */
static void kill_orphans(kf_sandbox *sandbox)
{
    double until = kf_now() + KF_SIGNAL_SECONDS;
    for (double wait = 50e-6; kf_now() < until; wait = fmin(2 * wait, 0.01)) {
        siginfo_t info;
        kf_tree tree = {0};
        bool known = kf_tree_scan(sandbox->pid, &tree);
        for (size_t i = 0; i < tree.count; i++) kill(tree.pids[i], SIGKILL);
        for (size_t i = 0; i < tree.count; i++)
            kf_waitid(P_PID, tree.pids[i], &info, WEXITED | WNOHANG, NULL);
        size_t left = tree.count;
        kf_tree_free(&tree);
        if (known && left == 0) return;
        kf_pause(wait);
    }
}

/* Reaps the zombies of the process group, after the leader. */
static void reap_group(pid_t group)
{
    siginfo_t info;
    for (double until = kf_now() + KF_SIGNAL_SECONDS; kf_now() < until;) {
        int status = kf_waitid(P_PGID, group, &info, WEXITED | WNOHANG, NULL);
        if (status == -ECHILD) return;
        if (status == 0 && info.si_pid == 0) {
            kill(-group, SIGKILL);
            kf_pause(0.001);
        }
    }
}

static void drain(kf_sandbox *sandbox, int chunks)
{
    char chunk[65536];
    for (int i = 0; i < chunks; i++) {
        ssize_t size = read(sandbox->output_fd, chunk, sizeof chunk);
        if (size < 0 && errno == EINTR) continue;
        /* all writers closed the pipe: poll it no longer */
        if (size == 0) epoll_ctl(sandbox->epoll, EPOLL_CTL_DEL, sandbox->output_fd, NULL);
        if (size <= 0) return;
        if (!sandbox->output.failed) kf_buffer_append(&sandbox->output, chunk, (size_t)size);
        if (sandbox->output.failed) sandbox->truncated = true;
    }
}

static void classify(kf_sandbox *sandbox, const siginfo_t *info)
{
    kf_sandbox_result *result = &sandbox->result;
    result->status = info->si_status;
    result->end = info->si_code == CLD_EXITED ? KF_END_EXITED : KF_END_SIGNAL;
    if (result->end == KF_END_EXITED) return;
    if (sandbox->killing && result->status == SIGKILL)
        result->end = sandbox->reason;
    else if (kf_cgroup_out_of_memory(&sandbox->cgroup))
        result->end = KF_END_MEMORY;
    else if (sandbox->limits.cpu_seconds > 0 &&
             /* the kernel's limit counts whole ticks, `cpu_seconds` only the time used in them,
                which is less on a busy virtual machine */
             (result->status == SIGKILL || result->status == SIGXCPU) &&
             result->cpu_seconds >= 0.5 * ceil(sandbox->limits.cpu_seconds))
        result->end = KF_END_CPU;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static void finish(kf_sandbox *sandbox, const siginfo_t *info, const struct rusage *usage)
{
    kf_sandbox_result *result = &sandbox->result;
    /* the last output; all writers are gone */
    drain(sandbox, 64);
    result->wall_seconds = kf_now() - sandbox->started;
    /* `usage` lacks processes that nothing waited for, in a tree that was killed. The last check of
     * the tree counts them. */
    result->cpu_seconds = fmax(seconds_of(usage->ru_utime) + seconds_of(usage->ru_stime),
                               fmax(sandbox->cpu_used, kf_cgroup_cpu_seconds(&sandbox->cgroup)));
    result->peak_memory_bytes = kf_cgroup_peak(&sandbox->cgroup);
    if (!result->peak_memory_bytes) result->peak_memory_bytes = (uint64_t)usage->ru_maxrss * 1024;
    result->output_truncated = sandbox->truncated;
    classify(sandbox, info);
    sandbox->ended = true;
    sandbox->frozen = false;
    kf_cgroup_kill(&sandbox->cgroup);
    kf_cgroup_remove(&sandbox->cgroup);
    kf_guard_dismiss(sandbox->guard, sandbox->guard_fd);
    sandbox->guard = -1;
    if (sandbox->temporary) kf_directory_remove(sandbox->temporary, NULL);
    int *fds[] = {&sandbox->pidfd, &sandbox->timer, &sandbox->output_fd};
    for (size_t i = 0; i < 3; i++) {
        /* close also removes the descriptor from the epoll set */
        if (*fds[i] >= 0) close(*fds[i]);
        *fds[i] = -1;
    }
}

/* Reaps the leader and its tree. True once the leader has ended and its tree is gone. */
static bool reap(kf_sandbox *sandbox)
{
    siginfo_t info;
    struct rusage usage = {0};
    int status = kf_waitid(P_PID, sandbox->pid, &info, WEXITED | WNOHANG | WNOWAIT, NULL);
    if (status == 0 && info.si_pid == 0) return false;
    if (!(sandbox->layers & KF_LAYER_PID_NS)) kill_orphans(sandbox);
    if (status == 0) status = kf_waitid(P_PID, sandbox->pid, &info, WEXITED, &usage);
    /* a waitpid(-1) elsewhere in the program took the status */
    if (status) {
        info.si_code = CLD_KILLED;
        info.si_status = SIGKILL;
    }
    if (!(sandbox->layers & KF_LAYER_PID_NS)) reap_group(sandbox->pid);
    finish(sandbox, &info, &usage);
    return true;
}

double kf_next_cpu_check(const kf_sandbox *sandbox, double now)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double left = sandbox->limits.cpu_seconds - sandbox->cpu_used;
    return now + fmax(CPU_CHECK_SECONDS, left / (double)(processors > 0 ? processors : 1));
}

/* Kills the tree if it is over its CPU limit. Without a cgroup this misses the time of ended
 * processes that their parents did not wait for. */
static void check_cpu_time(kf_sandbox *sandbox, double now)
{
    double measured = kf_cgroup_cpu_seconds(&sandbox->cgroup);
    if (measured <= 0) measured = kf_tree_cpu_seconds(sandbox->pid);
    sandbox->cpu_used = fmax(sandbox->cpu_used, measured);
    if (sandbox->cpu_used >= sandbox->limits.cpu_seconds) kill_for(sandbox, KF_END_CPU);
    sandbox->cpu_check = kf_next_cpu_check(sandbox, now);
}

bool kf_sandbox_pump(kf_sandbox *sandbox, double seconds)
{
    double until = seconds < 0 ? HUGE_VAL : kf_now() + seconds;
    while (!sandbox->ended) {
        drain(sandbox, 16);
        if (reap(sandbox)) break;
        double now = kf_now();
        if (sandbox->deadline > 0 && now >= sandbox->deadline) {
            if (!sandbox->killing) kill_for(sandbox, KF_END_WALL);
            /* clears the timer, so that epoll_wait next wakes at the end of the process */
            uint64_t expirations;
            if (read(sandbox->timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN)
                break;
        }
        if (sandbox->cpu_check > 0 && now >= sandbox->cpu_check && !sandbox->killing)
            check_cpu_time(sandbox, now);
        if (now >= until) return false;
        double wait = until - now;
        if (sandbox->deadline > now) wait = fmin(wait, sandbox->deadline - now);
        if (sandbox->cpu_check > now) wait = fmin(wait, sandbox->cpu_check - now);
        struct epoll_event event;
        epoll_wait(sandbox->epoll, &event, 1, (int)fmin(ceil(wait * 1000), 60000));
    }
    return sandbox->ended;
}

void kf_sandbox_terminate(const kf_sandbox *sandbox)
{
    kf_tree tree = {0};
    if (sandbox->ended || sandbox->pid <= 0) return;
    kf_tree_scan(sandbox->pid, &tree);
    for (size_t i = 0; i < tree.count; i++) kill(tree.pids[i], SIGTERM);
    kf_tree_free(&tree);
    kill(sandbox->pid, SIGTERM);
}

void kf_sandbox_begin_kill(kf_sandbox *sandbox)
{
    if (!sandbox->ended && sandbox->pid > 0) kill_for(sandbox, KF_END_KILLED);
}

void kf_sandbox_kill(kf_sandbox *sandbox)
{
    if (sandbox->ended || sandbox->pid <= 0) return;
    kill_for(sandbox, KF_END_KILLED);
    double until = kf_now() + KF_SIGNAL_SECONDS;
    while (!kf_sandbox_pump(sandbox, 0.5) && kf_now() < until) send_sigkill(sandbox);
}

void kf_sandbox_free(kf_sandbox *sandbox)
{
    if (!sandbox) return;
    kf_sandbox_kill(sandbox);
    kf_cgroup_remove(&sandbox->cgroup);
    kf_guard_dismiss(sandbox->guard, sandbox->guard_fd);
    int fds[] = {sandbox->pidfd, sandbox->timer, sandbox->output_fd, sandbox->epoll};
    for (size_t i = 0; i < 4; i++)
        if (fds[i] >= 0) close(fds[i]);
    kf_buffer_free(&sandbox->output);
    free(sandbox->threads.ids);
    free(sandbox->temporary);
    free(sandbox);
}

bool kf_sandbox_let_open(kf_sandbox *sandbox, bool may, kf_error *error)
{
    struct rlimit limit;
    if (sandbox->ended) return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    if (prlimit(sandbox->pid, RLIMIT_NOFILE, NULL, &limit) == 0) {
        limit.rlim_cur = may ? limit.rlim_max : 0;
        if (prlimit(sandbox->pid, RLIMIT_NOFILE, &limit, NULL) == 0) return true;
    }
    return kf_fail(error, KF_ERROR_MACHINE,
                   "sandbox: limiting the descriptors of process %d: %s (prlimit)", sandbox->pid,
                   strerror(errno));
}

int kf_sandbox_open_files(const kf_sandbox *sandbox)
{
    return sandbox->ended ? -1 : kf_tree_open_files(sandbox->pid);
}

bool kf_sandbox_ended_outside(const kf_sandbox_result *result)
{
    static const int signals[] = {KF_SANDBOX_OUTSIDE_SIGNALS};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (result->end == KF_END_SIGNAL && result->status == signals[i]) return true;
    return false;
}

void kf_sandbox_describe(const kf_sandbox_result *result, char *text, size_t size)
{
    switch (result->end) {
    case KF_END_EXITED: snprintf(text, size, "exit status %d", result->status); break;
    case KF_END_SIGNAL:
        snprintf(text, size, "signal %d (%s)", result->status, strsignal(result->status));
        break;
    case KF_END_WALL:
        snprintf(text, size, "killed after %.1f s of wall time", result->wall_seconds);
        break;
    case KF_END_CPU:
        snprintf(text, size, "killed after %.1f s of CPU time", result->cpu_seconds);
        break;
    case KF_END_MEMORY:
        snprintf(text, size, "killed at %.1f MiB, over its memory limit",
                 (double)result->peak_memory_bytes / 1048576);
        break;
    case KF_END_KILLED:
        snprintf(text, size, "killed by the caller after %.1f s", result->wall_seconds);
        break;
    default: snprintf(text, size, "unknown end %d", (int)result->end);
    }
}
