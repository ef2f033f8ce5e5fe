/* A running child: its output, its end, its limits; stopping, counting and killing its tree. */
#include "internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "kforge/file.h"

/* How long to wait for what SIGKILL or SIGSTOP hit: only a driver that hangs inside the kernel
 * takes longer. */
#define PATIENCE 10.0
/* on processors, of one that is to stop: then it is the program that takes so long, not the machine
 */
#define BUSY_SECONDS 3.0
#define BUSY_MIN 0.5 /* the same for one that shared them with others for all of PATIENCE */
/* between two looks at what a tree has computed: /proc is read for that where there is no cgroup */
#define LOOK_SECONDS 0.1

int kf_waitid(int type, pid_t id, siginfo_t *info, int options, struct rusage *usage)
{
    memset(info, 0, sizeof *info);
    return syscall(SYS_waitid, type, id, info, options, usage) ? -errno : 0;
}

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

static void pause_for(double seconds)
{
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)(fmod(seconds, 1) * 1e9)},
        NULL);
}

/* SIGKILL to everybody once. The leader takes the rest of a pid namespace along; else the group and
 * session are hit by name. */
static void strike(kf_sandbox *sandbox)
{
    kf_cgroup_kill(&sandbox->cgroup);
    if (!(sandbox->layers & KF_LAYER_PID_NS)) {
        kill(-sandbox->pid, SIGKILL);
        kf_tree tree;
        if (kf_tree_scan(sandbox->pid, &tree))
            for (size_t i = 0; i < tree.count; i++) kill(tree.pids[i], SIGKILL);
        kf_tree_free(&tree);
    }
    kill(sandbox->pid, SIGKILL); /* safe: the number is ours until it is reaped */
}

static void kill_for(kf_sandbox *sandbox, kf_sandbox_end reason)
{
    if (!sandbox->killing) {
        sandbox->killing = true;
        sandbox->reason = reason;
    }
    strike(sandbox);
}

/* Without a pid namespace the leader's end does not end the others. They are killed while the
 * leader is a zombie, whose number keeps the process group from being reused; each that loses its
 * parent is adopted by us, so reaping until there is no more to reap gets all. */
static void sweep(kf_sandbox *sandbox)
{
    double until = kf_now() + PATIENCE;
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
        pause_for(wait);
    }
}

/* Zombies of the process group, once the leader is reaped. */
static void reap_group(pid_t group)
{
    siginfo_t info;
    for (double until = kf_now() + PATIENCE; kf_now() < until;) {
        int status = kf_waitid(P_PGID, group, &info, WEXITED | WNOHANG, NULL);
        if (status == -ECHILD) return;
        if (status == 0 && info.si_pid == 0) {
            kill(-group, SIGKILL);
            pause_for(0.001);
        }
    }
}

static void drain(kf_sandbox *sandbox, int chunks)
{
    char chunk[65536];
    for (int i = 0; i < chunks; i++) {
        ssize_t size = read(sandbox->output_fd, chunk, sizeof chunk);
        if (size < 0 && errno == EINTR) continue;
        /* all closed it: nothing to wake for */
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
    else if (sandbox->limits.cpu_seconds > 0 && /* the limit counts whole ticks, usage what ran in
                                                   them: less on a busy virtual machine */
             (result->status == SIGKILL || result->status == SIGXCPU) &&
             result->cpu_seconds >= 0.5 * ceil(sandbox->limits.cpu_seconds))
        result->end = KF_END_CPU;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static void conclude(kf_sandbox *sandbox, const siginfo_t *info, const struct rusage *usage)
{
    kf_sandbox_result *result = &sandbox->result;
    drain(sandbox, 64); /* what was written last; nobody writes any more */
    result->wall_seconds = kf_now() - sandbox->started;
    /* Of a tree that was killed nobody has waited for all: what was seen of it counts then. */
    result->cpu_seconds = fmax(seconds_of(usage->ru_utime) + seconds_of(usage->ru_stime),
                               fmax(sandbox->used, kf_cgroup_cpu_seconds(&sandbox->cgroup)));
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
        if (*fds[i] >= 0) close(*fds[i]); /* leaves the epoll set too */
        *fds[i] = -1;
    }
}

/* True once the leader has ended and its tree is gone. */
static bool reap(kf_sandbox *sandbox)
{
    siginfo_t info;
    struct rusage usage = {0};
    int status = kf_waitid(P_PID, sandbox->pid, &info, WEXITED | WNOHANG | WNOWAIT, NULL);
    if (status == 0 && info.si_pid == 0) return false;
    if (!(sandbox->layers & KF_LAYER_PID_NS)) sweep(sandbox);
    if (status == 0) status = kf_waitid(P_PID, sandbox->pid, &info, WEXITED, &usage);
    if (status) { /* somebody else's waitpid(-1) took it */
        info.si_code = CLD_KILLED;
        info.si_status = SIGKILL;
    }
    if (!(sandbox->layers & KF_LAYER_PID_NS)) reap_group(sandbox->pid);
    conclude(sandbox, &info, &usage);
    return true;
}

double kf_next_look(const kf_sandbox *sandbox, double now)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double left = sandbox->limits.cpu_seconds - sandbox->used;
    return now + fmax(LOOK_SECONDS, left / (double)(processors > 0 ? processors : 1));
}

/* Where no cgroup keeps count, what a process did whose parent did not wait for it is not seen. */
static void look_at_tree(kf_sandbox *sandbox, double now)
{
    double seen = kf_cgroup_cpu_seconds(&sandbox->cgroup);
    if (seen <= 0) seen = kf_tree_cpu_seconds(sandbox->pid);
    sandbox->used = fmax(sandbox->used, seen);
    if (sandbox->used >= sandbox->limits.cpu_seconds) kill_for(sandbox, KF_END_CPU);
    sandbox->look = kf_next_look(sandbox, now);
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
            /* the timer has rung: from here the end of the process is what wakes us */
            uint64_t expirations;
            if (read(sandbox->timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN)
                break;
        }
        if (sandbox->look > 0 && now >= sandbox->look && !sandbox->killing)
            look_at_tree(sandbox, now);
        if (now >= until) return false;
        double wait = until - now;
        if (sandbox->deadline > now) wait = fmin(wait, sandbox->deadline - now);
        if (sandbox->look > now) wait = fmin(wait, sandbox->look - now);
        struct epoll_event event;
        epoll_wait(sandbox->epoll, &event, 1, (int)fmin(ceil(wait * 1000), 60000));
    }
    return sandbox->ended;
}

void kf_sandbox_begin_kill(kf_sandbox *sandbox)
{
    if (!sandbox->ended && sandbox->pid > 0) kill_for(sandbox, KF_END_KILLED);
}

void kf_sandbox_kill(kf_sandbox *sandbox)
{
    if (sandbox->ended || sandbox->pid <= 0) return;
    kill_for(sandbox, KF_END_KILLED);
    double until = kf_now() + PATIENCE;
    while (!kf_sandbox_pump(sandbox, 0.5) && kf_now() < until) strike(sandbox);
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
    free(sandbox->temporary);
    free(sandbox);
}

/* 1: stopped, 0: not yet, else negative errno; -ECANCELED: something continued it meanwhile. */
static int is_stopped(pid_t pid)
{
    siginfo_t info;
    int status =
        kf_waitid(P_PID, pid, &info, WSTOPPED | WCONTINUED | WEXITED | WNOWAIT | WNOHANG, NULL);
    if (status == -EINTR || (status == 0 && info.si_pid == 0)) return 0;
    if (status) return status;
    if (info.si_code == CLD_CONTINUED) return -ECANCELED;
    if (info.si_code != CLD_STOPPED) return -ESRCH; /* ended */
    status = kf_waitid(P_PID, pid, &info, WSTOPPED | WNOHANG, NULL);
    return status ? status : 1;
}

/* What a process has spent on processors, all threads together. */
static double processor_seconds(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits for a stop of the leader, 0 or negative errno; -EBUSY: a thread works on in the kernel, in
 * one of the calls that no stop interrupts (mincore, or MADV_POPULATE_READ, over terabytes). The
 * kernel reports it once the last of its threads has stopped. First by yielding, since the stop
 * usually takes microseconds and this is inside a timing loop. A thread that waits for the very
 * processor we run on gets it only when we sleep; the timer's usual slack of 50 us is lowered for
 * that. */
static int wait_stopped(pid_t pid)
{
    int status = 0;
    for (int i = 0; i < 24 && status == 0; i++) {
        if (i) sched_yield();
        status = is_stopped(pid);
    }
    if (status) return status > 0 ? 0 : status;
    int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1);
    double computed = processor_seconds(pid);
    double until = kf_now() + PATIENCE;
    for (double wait = 4e-6; status == 0; wait = fmin(1.5 * wait, 1e-3)) {
        pause_for(wait);
        /* once more: a SIGCONT from anywhere takes back a stop that is still pending */
        kill(pid, SIGSTOP);
        status = is_stopped(pid);
        double busy = status == 0 ? processor_seconds(pid) - computed : 0;
        if (status == 0 && kf_now() > until) status = busy > BUSY_MIN ? -EBUSY : -ETIMEDOUT;
        if (status == 0 && busy > BUSY_SECONDS) status = -EBUSY;
    }
    if (slack > 0) prctl(PR_SET_TIMERSLACK, slack);
    return status > 0 ? 0 : status;
}

bool kf_may_have_descendants(const kf_sandbox *sandbox)
{
    return !sandbox->settled &&
           !(sandbox->profile == KF_SECCOMP_RUNNER && (sandbox->layers & KF_LAYER_SECCOMP));
}

/* Stops the others until a look around finds nobody new and everybody stopped. */
static bool stop_descendants(kf_sandbox *sandbox, kf_error *error)
{
    double until = kf_now() + PATIENCE;
    size_t before = (size_t)-1;
    for (double wait = 20e-6; kf_now() < until; wait = fmin(2 * wait, 5e-3)) {
        kf_tree tree;
        if (!kf_tree_scan(sandbox->pid, &tree)) break;
        bool stopped = true;
        for (size_t i = 0; i < tree.count; i++) {
            if (kf_tree_all_stopped(tree.pids[i])) continue;
            stopped = false;
            kill(tree.pids[i], SIGSTOP);
        }
        size_t count = tree.count;
        kf_tree_free(&tree);
        if (stopped && count == before) return true;
        before = stopped ? count : (size_t)-1;
        if (!stopped) pause_for(wait);
    }
    return kf_fail(error, KF_ERROR_MACHINE,
                   "sandbox: a process of %d's tree could not be stopped within %.0f s",
                   sandbox->pid, PATIENCE);
}

#define woken "sandbox: the program was woken by somebody else while it was to be stopped"

bool kf_sandbox_freeze(kf_sandbox *sandbox, kf_error *error)
{
    if (sandbox->frozen) return true;
    if (sandbox->ended || kill(sandbox->pid, SIGSTOP))
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    int status = wait_stopped(sandbox->pid);
    if (status == -ESRCH || status == -ECHILD)
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    if (status == -ECANCELED) return kf_fail(error, KF_ERROR_INPUT, woken);
    if (status == -EBUSY)
        return kf_fail(error, KF_ERROR_LIMIT,
                       "sandbox: process %d works on in the kernel and does not stop",
                       sandbox->pid);
    if (status)
        return kf_fail(error, KF_ERROR_MACHINE, "sandbox: stopping process %d: %s", sandbox->pid,
                       strerror(-status));
    if (kf_may_have_descendants(sandbox) && !stop_descendants(sandbox, error)) return false;
    sandbox->frozen = true;
    return true;
}

bool kf_sandbox_thaw(kf_sandbox *sandbox, kf_error *error)
{
    if (!sandbox->frozen) return true;
    sandbox->frozen = false;
    siginfo_t info;
    if (sandbox->ended || kf_waitid(P_PID, sandbox->pid, &info,
                                    WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT, NULL))
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    /* The stop was taken note of, so a continuation or another stop seen now came from elsewhere
     * and after it. */
    if (info.si_pid && (info.si_code == CLD_CONTINUED || info.si_code == CLD_STOPPED))
        return kf_fail(error, KF_ERROR_INPUT, woken);
    if (info.si_pid) return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    if (kf_may_have_descendants(sandbox)) {
        kf_tree tree;
        if (kf_tree_scan(sandbox->pid, &tree))
            for (size_t i = 0; i < tree.count; i++) kill(tree.pids[i], SIGCONT);
        kf_tree_free(&tree);
    }
    if (kill(sandbox->pid, SIGCONT))
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    /* ours; the next freeze must not take it for a stranger's */
    kf_waitid(P_PID, sandbox->pid, &info, WCONTINUED | WNOHANG, NULL);
    return true;
}

/* What the child inherited, the sandbox's own where there is one, and its own: it comes from the
 * program inside, so it proves something only of one that has run nobody else's code. */
static bool is_locked_down(const kf_sandbox *sandbox)
{
    int ours = kf_tree_filters(getpid()), its = kf_tree_filters(sandbox->pid);
    return ours >= 0 && its > ours + ((sandbox->layers & KF_LAYER_SECCOMP) != 0);
}

bool kf_sandbox_settle(kf_sandbox *sandbox)
{
    if (!kf_may_have_descendants(sandbox)) return true;
    kf_tree tree;
    if (!sandbox->frozen || !is_locked_down(sandbox) || !kf_tree_scan(sandbox->pid, &tree))
        return false;
    sandbox->settled = tree.count == 0;
    kf_tree_free(&tree);
    return sandbox->settled;
}

bool kf_sandbox_take_census(kf_sandbox *sandbox, kf_sandbox_census *census, kf_error *error)
{
    *census = (kf_sandbox_census){.descriptors = -1};
    census->threads = sandbox->ended ? -1 : kf_tree_threads(sandbox->pid);
    if (census->threads <= 0)
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    census->descriptors = kf_tree_descriptors(sandbox->pid);
    census->who = kf_tree_who(sandbox->pid);
    if (!kf_may_have_descendants(sandbox))
        return true; /* looking through all of /proc takes milliseconds where many processes are */
    kf_tree tree;
    if (!kf_tree_scan(sandbox->pid, &tree))
        return kf_fail(error, KF_ERROR_MACHINE, "sandbox: /proc cannot be read");
    census->processes = (int)tree.count;
    kf_tree_free(&tree);
    return true;
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
