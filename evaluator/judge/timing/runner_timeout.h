/* How long the judge waits for a runner: in time that the machine gave it, not in time that passed.
 * A machine may stand still (a virtual one that its host does not schedule, a container that is
 * frozen) or have more to run than processors; a deadline on the wall then convicts whoever was
 * waited for.
 *
 * - The one who waits looks at least every KF_RUNNER_TIMEOUT_TURN seconds. When twice that and more
 * went by between two looks, the waiter itself was not run, and what lies beyond counts as a stall,
 * not as waiting. But a runner can keep the waiter from running, by hundreds of threads on its
 * processor: as much of it as the waiter was ready and no processor took it while the runner
 * computed is the runner's time.
 * - Before it gives up it asks for how long a thread of the runner was ready and no processor took
 * it (/proc/PID/task/TID/schedstat, second number: Documentation/scheduler/sched-stats.rst), and
 * waits for so long once more: KF_RUNNER_TIMEOUT_GRANT seconds at most, since a runner can have
 * more threads than there are processors by itself. One that sleeps gets nothing.
 */
#ifndef KFORGE_EVALUATOR_PATIENCE_H
#define KFORGE_EVALUATOR_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define KF_RUNNER_TIMEOUT_TURN 0.1
#define KF_RUNNER_TIMEOUT_GRANT 1.5
/* threads of a runner that keep the waiter from running, and then get the last priority */
#define KF_RUNNER_TIMEOUT_CROWD 100
/* of a runner that are looked at, those with the lowest numbers */
#define KF_RUNNER_TIMEOUT_THREADS 32

typedef struct kf_runner_timeout {
    double seconds;  /* what it may take */
    double used;     /* of these */
    double stalled;  /* what went by beside that */
    double granted;  /* added to `seconds` for waiting in the machine's queue */
    double looked;   /* kf_now() of the last look */
    bool watched;    /* the next two are known */
    double computed; /* by the runner's threads together, seconds since it began */
    double starved;  /* by the waiter: seconds that it was ready and not run */
    int threads;     /* -1: not looked at yet */
    struct kf_runner_timeout_thread {
        pid_t thread;
        double queued; /* seconds, since it began */
    } queue[KF_RUNNER_TIMEOUT_THREADS];
} kf_runner_timeout;

/* Begins now, `now` being kf_now(). */
void kf_runner_timeout_begin(kf_runner_timeout *runner_timeout, double seconds, double now);
/* What is to be seen of a runner that may starve the waiter is seen from now on. Takes some
 * microseconds, so not within what is timed. */
void kf_runner_timeout_watch(kf_runner_timeout *runner_timeout, pid_t pid);
/* Accounts for `went` seconds between two looks, in which the runner computed and the waiter
 * starved for so long. Pure. */
void kf_runner_timeout_spend(kf_runner_timeout *runner_timeout, double went, double computed,
                             double starved);
/* Accounts for the time since the last look. False: it is over. `pid` is the runner's; 0 or one
 * that is gone: nobody queues. */
bool kf_runner_timeout_look(kf_runner_timeout *runner_timeout, pid_t pid, double now);
/* For poll(2): milliseconds until the next look. */
int kf_runner_timeout_sleep(const kf_runner_timeout *runner_timeout);

#endif
