/* How long the judge waits for a runner: in time that the machine gave it, not in time that passed.
 * A machine may stand still (a virtual one without a processor of its host, a frozen container) or
 * have more to run than processors. A deadline in passed time would then convict the runner.
 *
 * - The judge looks at least every KF_RUNNER_TIMEOUT_TURN seconds. If more than twice that passes
 *   between two looks, the judge itself did not run, and the rest counts as a stall, not as
 * waiting. But hundreds of threads of a runner on the judge's processor can keep it from running.
 * The time in which the judge was ready without a processor while the runner computed is the
 * runner's.
 * - Before the judge gives up, it reads how long a thread of the runner was ready without a
 *   processor (/proc/PID/task/TID/schedstat, second number:
 *   Documentation/scheduler/sched-stats.rst). It waits that long once more, at most
 *   KF_RUNNER_TIMEOUT_GRANT seconds, because a runner can have more threads than there are
 *   processors. A runner that sleeps gets no more time.
 * - A part of that wait can be the doing of other programs only (kf_runner_timeout_foreign). It
 *   counts as a stall, up to KF_RUNNER_TIMEOUT_LOAD times the runner's time. So a limit that was
 *   found on an idle machine holds on a busy one.
 * - All that is added to one wait ends at the ceiling of the job (clock.h), which is a point of
 *   time. So a busy machine cannot make a job long without end. A wait while the job's clock is
 *   paused has no ceiling, and its stalls are not the job's. */
#ifndef KFORGE_RUNNER_TIMEOUT_H
#define KFORGE_RUNNER_TIMEOUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "clock.h"

#define KF_RUNNER_TIMEOUT_TURN 0.1
#define KF_RUNNER_TIMEOUT_GRANT 1.5
/* Other programs may make a runner this many times slower. */
#define KF_RUNNER_TIMEOUT_LOAD 20
/* A runner with more threads gets the lowest priority once they keep the judge from running. */
#define KF_RUNNER_TIMEOUT_CROWD 100
/* so many threads of a runner are watched, those with the lowest numbers */
#define KF_RUNNER_TIMEOUT_THREADS 32

typedef struct kf_runner_timeout {
    /* seconds that the runner may take, and that it has used of them */
    double seconds, used;
    /* seconds that passed but do not count */
    double stalled;
    /* seconds that were added to `seconds`, because threads had no processor */
    double granted;
    /* the part of `stalled` in which other programs had the processors */
    double excused;
    /* kf_now() of the last look */
    double looked;
    /* `computed` and `starved` are known */
    bool watched;
    /* processor time of all threads of the runner, in seconds since it began */
    double computed;
    /* the processor time of all threads, and `used`, at the last look at the threads */
    double counted, marked;
    /* seconds in which the judge's thread was ready without a processor */
    double starved;
    /* in `queue`; -1 before the first look at them */
    int threads;
    struct kf_runner_timeout_thread {
        pid_t thread;
        /* seconds without and with a processor since it began */
        double queued, ran;
    } queue[KF_RUNNER_TIMEOUT_THREADS];
} kf_runner_timeout;

/* Ends all waits of this thread at the ceiling of that clock, and counts their stalls there. NULL:
 * no longer. The clock is the caller's and has to live until then. */
void kf_runner_timeout_bound(kf_clock *clock);
/* Begins to wait. `now` is kf_now(). */
void kf_runner_timeout_begin(kf_runner_timeout *runner_timeout, double seconds, double now);
/* Begins to watch for a runner that keeps the judge from running. That takes some microseconds, so
 * call it while no batch is timed. */
void kf_runner_timeout_watch(kf_runner_timeout *runner_timeout, pid_t pid);
/* Accounts for `went` seconds between two looks, in which the runner computed for `computed`
 * seconds and the judge had no processor for `starved` seconds. Pure. */
void kf_runner_timeout_spend(kf_runner_timeout *runner_timeout, double went, double computed,
                             double starved);
/* Returns the part of a thread's wait for a processor that its own process did not cause, because
 * while it did, another of its threads ran there. `ran`, `computed`: the processor time of the
 * thread and of all threads meanwhile. Pure. */
double kf_runner_timeout_foreign(double queued, double ran, double computed);
/* Accounts for the time since the last look. False if the runner's time or the job's is over. `pid`
 * is the runner's; 0, or the id of a process that has ended, gets no grant. */
bool kf_runner_timeout_look(kf_runner_timeout *runner_timeout, pid_t pid, double now);
/* Ends the wait for a runner that has answered. Counts what other programs took of a long wait as a
 * stall. */
void kf_runner_timeout_end(kf_runner_timeout *runner_timeout, pid_t pid);
/* Returns the milliseconds until the next look, for poll(2). */
int kf_runner_timeout_sleep(const kf_runner_timeout *runner_timeout);

#endif
