/* A timed batch of calls: the judge's clock from the request until all threads are stopped. */
#include "runner_process_internal.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "kforge/file.h"
#include "light_sleeper.h"
#include "processor_time.h"

/* The judge waits actively for the first part of a batch. Most batches are shorter. */
#define SPIN_SECONDS 0.1
#define PING_SPIN_SECONDS 0.002
/* seconds at a time that a look waits for the request */
#define SHORTEST_NAP 20e-6
#define LONGEST_NAP 1e-3

/* Returns the processor time of a runner that has answered a ping. Its other threads may go on. On
 * a GPU, and in Python, their time is no evidence. */
static double seconds_of_woken(const kf_runner *runner)
{
    pid_t pid = kf_sandbox_pid(runner->sandbox);
    return runner->at_launcher ? kf_processor_seconds_now(pid) : kf_processor_seconds(pid);
}

/* Binds this thread to the first processor that it may use. *before: its processors until now. */
static bool go_to_launcher(cpu_set_t *before)
{
    cpu_set_t first;
    if (sched_getaffinity(0, sizeof *before, before) || CPU_COUNT(before) < 2) return false;
    int cpu = 0;
    while (!CPU_ISSET(cpu, before)) cpu++;
    CPU_ZERO(&first);
    CPU_SET(cpu, &first);
    return sched_setaffinity(0, sizeof first, &first) == 0;
}

/* A look at a batch, by a thread that has slept before. It is woken before the runner is. Between
 * ping and request nothing is added, because a candidate could measure that. */
typedef struct look {
    kf_runner *runner;
    kf_batch *batch;
    /* when the request was sent; 0 before, INFINITY if it will not be */
    double started;
    kf_light_sleeper *sleeper;
} look;

static void look_later(void *context)
{
    look *l = context;
    kf_batch *batch = l->batch;
    double started, nap = fmax(batch->running_after / 2, SHORTEST_NAP);
    prctl(PR_SET_TIMERSLACK, 1ul); /* A timer may be 50 us late otherwise. */
    for (;;) {
        __atomic_load(&l->started, &started, __ATOMIC_SEQ_CST);
        if (started > 0) break;
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * fmin(nap, LONGEST_NAP))}, NULL);
    }
    if (started < INFINITY && !kf_runner_answers_before(l->runner, started + batch->running_after))
        batch->running(batch->running_context);
}

static void end_look(look *l)
{
    double none = 0, never = INFINITY;
    __atomic_compare_exchange(&l->started, &none, &never, false, __ATOMIC_SEQ_CST,
                              __ATOMIC_SEQ_CST);
    kf_light_sleeper_end(l->sleeper);
    l->sleeper = NULL;
}

/* `own` NULL, or the processors that this thread had before it went to the launcher's. `looker`
 * NULL, or the look at this batch. */
static kf_runner_event run_batch(kf_runner *runner, kf_batch *batch, const cpu_set_t *own,
                                 look *looker)
{
    kf_wire_answer answer;
    kf_wire_command ping = {.type = KF_WIRE_PING, .flags = batch->keep ? 0 : KF_WIRE_FORGET};
    kf_wire_command command = {.type = KF_WIRE_BATCH,
                               .count = batch->count,
                               .flags = (batch->null ? KF_WIRE_EMPTY : 0) |
                                        (batch->check ? KF_WIRE_CHECK : 0) |
                                        (batch->generate ? KF_WIRE_GENERATE : 0) |
                                        (batch->warp_order == 1 ? KF_WIRE_REVERSED : 0) |
                                        (batch->warp_order == 2 ? KF_WIRE_REVERSED_BUT_LAST : 0)};
    batch->code = 0;
    /* Before every batch, because a candidate can read it. */
    if (runner->progress) __atomic_store_n(&runner->progress->begun, 0, __ATOMIC_SEQ_CST);
    /* A runner needs time to wake up. The ping keeps it out of `seconds`. A candidate's signal
     * handler could run in it, on inputs that are ready, so the caller gets `waking`. */
    kf_runner_timeout runner_timeout;
    kf_runner_timeout_begin(&runner_timeout, batch->timeout, kf_now());
    /* Before the clock starts. */
    kf_runner_timeout_watch(&runner_timeout, kf_sandbox_pid(runner->sandbox));
    double worked = kf_processor_seconds(kf_sandbox_pid(runner->sandbox)), woken_at = kf_now();
    if (looker) kf_light_sleeper_wake(looker->sleeper);
    /* The judge does not sleep during the ping if it will not sleep after it: a processor that
     * comes out of deep sleep is slow at first. */
    if (batch->answered) runner->awake_until = woken_at + PING_SPIN_SECONDS;
    kf_runner_event event = kf_runner_wake(runner);
    if (event == KF_RUNNER_OK)
        event = kf_runner_only_good(runner, kf_runner_ask_command(runner, &ping, NULL, 0, &answer),
                                    &answer);
    runner->awake_until = 0;
    if (event != KF_RUNNER_OK) return event;
    if (!batch->null) runner->calls += batch->count;
    batch->waking_work = seconds_of_woken(runner) - worked;
    double started = kf_now();
    batch->waking = started - woken_at;
    runner->awake_until = batch->answered ? started + SPIN_SECONDS : 0;
    runner_timeout.looked = started;
    if (batch->begun) batch->begun(batch->begun_context);
    if (looker) __atomic_store(&looker->started, &started, __ATOMIC_SEQ_CST);
    batch->maps = NULL;
    runner->look.batch = batch->look_at > 0 ? batch : NULL;
    runner->look.began = started;
    runner->look.after = batch->look_at;
    event = kf_runner_request(runner, &command, batch->order, batch->count * sizeof *batch->order,
                              -1, &runner_timeout);
    if (looker) {
        end_look(looker);
    } else if (event == KF_RUNNER_OK && batch->running) {
        /* A judge with something to do in the batch needs another processor for that. */
        if (own) sched_setaffinity(0, sizeof *own, own);
        batch->running(batch->running_context);
    }
    if (event == KF_RUNNER_OK)
        event = kf_runner_await(runner, command.nonce, &runner_timeout, &answer);
    runner->awake_until = 0;
    runner->look.batch = NULL;
    batch->nonce = command.nonce;
    if (batch->answered) batch->seconds = kf_now() - started;
    if (batch->answered && event == KF_RUNNER_OK) batch->answered(batch->context);
    double stopping = runner->limits.stopping;
    if (event == KF_RUNNER_OK) event = kf_runner_freeze(runner);
    if (!batch->answered) {
        /* Without the time in which the judge looked at stopped threads. */
        batch->seconds = kf_sandbox_stopped_at(runner->sandbox) - started;
        runner->limits.stopping = stopping;
    }
    if (event == KF_RUNNER_OK)
        kf_runner_timeout_end(&runner_timeout, kf_sandbox_pid(runner->sandbox));
    batch->stalled = runner_timeout.stalled;
    if (event != KF_RUNNER_OK) return event;
    batch->claimed = answer.claimed_seconds;
    batch->gap = answer.gap_seconds;
    if (answer.result == KF_WIRE_OK) return KF_RUNNER_OK;
    if (answer.result != KF_WIRE_DEVICE_ERROR || !answer.code)
        return kf_runner_end(runner, KF_RUNNER_FORGED);
    batch->code = answer.code;
    return KF_RUNNER_DEVICE_ERROR;
}

/* On the CPU device the launching thread runs on the first processor (kfcpu_ready). The judge waits
 * on the same processor. So a message takes microseconds: no sleeping processor has to wake up, and
 * no busy one has to switch. */
kf_runner_event kf_runner_batch(kf_runner *runner, kf_batch *batch)
{
    cpu_set_t before;
    look looker = {.runner = runner, .batch = batch};
    bool looks = batch->running && batch->running_after > 0;
    if (looks) looker.sleeper = kf_light_sleeper_start(look_later, &looker, runner->at_launcher);
    if (looks && !looker.sleeper)
        return kf_runner_fail(runner,
                              "cannot start a thread; raise the limit on processes (ulimit -u)");
    bool moved = runner->at_launcher && go_to_launcher(&before);
    bool bound = batch->answered && runner->frozen &&
                 kf_launch_affinity_bind(&runner->affinity, kf_sandbox_pid(runner->sandbox));
    kf_runner_event event =
        run_batch(runner, batch, moved ? &before : NULL, looks ? &looker : NULL);
    end_look(&looker);
    if (event == KF_RUNNER_OK && batch->answered) {
        /* Only runners without a deadline: a candidate could choose its waking time. */
        if (!runner->limits.deadline) kf_cpu_idle_guard_note(runner->idle_guard, batch->waking);
        kf_cpu_idle_guard_keep(runner->idle_guard);
        if (bound)
            kf_launch_affinity_free_threads(&runner->affinity, kf_sandbox_pid(runner->sandbox));
        if (bound && kf_launch_affinity_left(&runner->affinity, kf_sandbox_pid(runner->sandbox)))
            event = kf_runner_end(runner, KF_RUNNER_MOVED);
    }
    if (moved) sched_setaffinity(0, sizeof before, &before);
    return event;
}

bool kf_runner_shows_progress(const kf_runner *runner)
{
    return runner->progress != NULL;
}

uint32_t kf_runner_begun(const kf_runner *runner)
{
    return __atomic_load_n(&runner->progress->begun, __ATOMIC_SEQ_CST);
}

bool kf_runner_answers_before(const kf_runner *runner, double time)
{
    struct pollfd socket = {.fd = runner->socket, .events = POLLIN};
    for (;;) {
        kf_wire_answer answer;
        ssize_t got = recv(runner->socket, &answer, sizeof answer, MSG_DONTWAIT | MSG_PEEK);
        if (got == 0 || got == (ssize_t)sizeof answer) return true;
        if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return true;
        double left = time - kf_now();
        if (left <= 0) return false;
        /* A part of an answer does not count, and would end the poll at once. */
        if (got > 0) left = fmin(left, SHORTEST_NAP);
        struct timespec rest = {.tv_sec = (time_t)left,
                                .tv_nsec = (long)(1e9 * (left - (double)(time_t)left))};
        /* A timer may be 50 us late otherwise. */
        prctl(PR_SET_TIMERSLACK, 1ul);
        (void)ppoll(&socket, got > 0 ? 0 : 1, &rest, NULL);
        prctl(PR_SET_TIMERSLACK, 0ul);
    }
}

uint64_t kf_runner_calls(const kf_runner *runner)
{
    return runner->calls;
}
