/* Stops, continues and counts the processes of a running child's tree. */
#include "internal.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "kforge/file.h"

/* Processor seconds after which a program that has not stopped is itself at fault, not the machine.
 */
#define BUSY_SECONDS 1.5
/* The same for a program that shared its processors for all of KF_SIGNAL_SECONDS. */
#define BUSY_MIN 0.5
/* Looks at its threads after which a program is at fault, if each look found one in a system call
 * that no signal interrupts, or one that ends and does not leave the memory. Looks that the judge
 * makes are counted, because seconds would also pass while the whole machine stands still. */
#define LOOKS 150
/* The same for a program that runs no foreign code. It is never at fault. */
#define PATIENT_LOOKS 1000
#define LOOK_SECONDS 0.01
/* Looks begin after this time, which is enough for almost every stop. */
#define PATIENT_SECONDS 0.1

/* Returns 1 if the process is stopped, 0 if not yet, otherwise a negative errno. -ECANCELED:
 * another signal continued it meanwhile. */
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

/* Returns the CPU seconds of a process, all threads together. */
static double processor_seconds(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits until the kernel reports the leader as stopped. Returns 0 or a negative errno.
 *
 * -EBUSY: a thread is in a system call that no stop interrupts: it computes (MADV_POPULATE_READ
 * over terabytes), or it sleeps (a read of a slow disk). The kernel reports the stop after the last
 * thread has stopped.
 *
 * The loop first yields, because the stop usually takes microseconds and this runs inside a timing
 * loop. Then it sleeps: a thread of the child that waits for the caller's processor gets it only
 * while the caller sleeps. The timer's usual slack of 50 us is lowered for that. */
static int wait_stopped(kf_sandbox *sandbox)
{
    pid_t pid = sandbox->pid;
    int status = 0, looks = 0;
    for (int i = 0; i < 24 && status == 0; i++) {
        if (i) sched_yield();
        status = is_stopped(pid);
    }
    if (status) return status > 0 ? 0 : status;
    int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1);
    double computed = processor_seconds(pid);
    double now = kf_now(), patient = now + PATIENT_SECONDS, until = now + KF_SIGNAL_SECONDS;
    for (double wait = 4e-6; status == 0;
         wait = fmin(1.5 * wait, now > patient ? LOOK_SECONDS : 1e-3)) {
        kf_pause(wait);
        /* sends it again, because a SIGCONT cancels a pending stop */
        kill(pid, SIGSTOP);
        status = is_stopped(pid);
        if (status) break;
        now = kf_now();
        double busy = processor_seconds(pid) - computed;
        if (now > patient && kf_tree_list_threads(pid, &sandbox->threads) == 0)
            looks = sandbox->threads.waiting ? looks + 1 : 0;
        if (now > until) status = busy > BUSY_MIN ? -EBUSY : -ETIMEDOUT;
        bool asleep = sandbox->threads.distrusted && looks > LOOKS;
        if (busy > BUSY_SECONDS || asleep) status = -EBUSY;
    }
    if (slack > 0) prctl(PR_SET_TIMERSLACK, slack);
    return status > 0 ? 0 : status;
}

/* Waits until each thread is seen stopped or gone, and lists them. Returns 0 or a negative errno.
 * -EBUSY: a thread ends and does not leave the process's memory. A thread that was joined leaves it
 * some microseconds after its join. */
static int wait_for_threads(kf_sandbox *sandbox)
{
    double wait = 4e-6;
    int most = sandbox->threads.distrusted ? LOOKS : PATIENT_LOOKS;
    for (int looks = 0; looks <= most; looks++, wait = fmin(1.5 * wait, LOOK_SECONDS)) {
        int status = kf_tree_list_threads(sandbox->pid, &sandbox->threads);
        if (status) return status;
        if (sandbox->threads.running + sandbox->threads.waiting == 0) return 0;
        kf_pause(wait);
        sandbox->threads.stopped_at = kf_now();
    }
    return sandbox->threads.distrusted ? -EBUSY : -ETIMEDOUT;
}

bool kf_may_have_descendants(const kf_sandbox *sandbox)
{
    return !sandbox->settled &&
           !(sandbox->profile == KF_SECCOMP_RUNNER && (sandbox->layers & KF_LAYER_SECCOMP));
}

/* Stops the rest of the tree. Repeats until two scans find the same number of processes, all
 * stopped. */
static bool stop_descendants(kf_sandbox *sandbox, kf_error *error)
{
    double until = kf_now() + KF_SIGNAL_SECONDS;
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
        if (!stopped) kf_pause(wait);
    }
    return kf_fail(error, KF_ERROR_MACHINE,
                   "sandbox: a process in the tree of process %d did not stop within %.0f s",
                   sandbox->pid, KF_SIGNAL_SECONDS);
}

#define CONTINUED "sandbox: a signal continued the program while it was stopped"

bool kf_sandbox_freeze(kf_sandbox *sandbox, kf_error *error)
{
    if (sandbox->frozen) return true;
    if (sandbox->ended || kill(sandbox->pid, SIGSTOP))
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    int status = wait_stopped(sandbox);
    sandbox->threads.stopped_at = kf_now();
    if (!status) status = wait_for_threads(sandbox);
    if (status == -ESRCH || status == -ECHILD)
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    if (status == -ECANCELED) return kf_fail(error, KF_ERROR_INPUT, CONTINUED);
    if (status == -EBUSY)
        return kf_fail(
            error, KF_ERROR_LIMIT,
            "sandbox: a thread of process %d does not end, or is in a system call that no signal "
            "interrupts",
            sandbox->pid);
    if (status)
        return kf_fail(error, KF_ERROR_MACHINE, "sandbox: stopping process %d: %s", sandbox->pid,
                       strerror(-status));
    if (kf_may_have_descendants(sandbox) && !stop_descendants(sandbox, error)) return false;
    sandbox->frozen = true;
    return true;
}

void kf_sandbox_distrust(kf_sandbox *sandbox)
{
    sandbox->threads.distrusted = true;
}

double kf_sandbox_stopped_at(const kf_sandbox *sandbox)
{
    return sandbox->threads.stopped_at;
}

bool kf_sandbox_thaw(kf_sandbox *sandbox, kf_error *error)
{
    if (!sandbox->frozen) return true;
    sandbox->frozen = false;
    siginfo_t info;
    if (sandbox->ended || kf_waitid(P_PID, sandbox->pid, &info,
                                    WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT, NULL))
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    /* is_stopped consumed the report of the stop. Another report, of a stop or a continuation, is
     * therefore later and has another cause. */
    if (info.si_pid && (info.si_code == CLD_CONTINUED || info.si_code == CLD_STOPPED))
        return kf_fail(error, KF_ERROR_INPUT, CONTINUED);
    if (info.si_pid) return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    if (kf_may_have_descendants(sandbox)) {
        kf_tree tree;
        if (kf_tree_scan(sandbox->pid, &tree))
            for (size_t i = 0; i < tree.count; i++) kill(tree.pids[i], SIGCONT);
        kf_tree_free(&tree);
    }
    if (kill(sandbox->pid, SIGCONT))
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    /* consumes the report of this continuation, so that the next freeze does not see it */
    kf_waitid(P_PID, sandbox->pid, &info, WCONTINUED | WNOHANG, NULL);
    return true;
}

/* True if the child has one filter more than it inherited and the sandbox installed. The program
 * inside installs that filter, so this proves something only before it runs foreign code. */
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

size_t kf_sandbox_threads(const kf_sandbox *sandbox, const pid_t **ids)
{
    *ids = sandbox->threads.ids;
    return sandbox->threads.count;
}

bool kf_sandbox_take_census(kf_sandbox *sandbox, kf_sandbox_census *census, kf_error *error)
{
    *census = (kf_sandbox_census){.descriptors = -1};
    bool listed = !sandbox->ended &&
                  (sandbox->frozen || !kf_tree_list_threads(sandbox->pid, &sandbox->threads));
    census->threads = listed ? (int)sandbox->threads.count : -1;
    if (census->threads <= 0)
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: the program has ended");
    census->descriptors = kf_tree_descriptors(sandbox->pid);
    if (!kf_may_have_descendants(sandbox))
        /* saves a scan of /proc, which takes milliseconds with many processes */
        return true;
    kf_tree tree;
    if (!kf_tree_scan(sandbox->pid, &tree))
        return kf_fail(error, KF_ERROR_MACHINE, "sandbox: /proc cannot be read");
    census->processes = (int)tree.count;
    kf_tree_free(&tree);
    return true;
}
