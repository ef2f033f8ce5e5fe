/* Stops and wakes a runner. Checks at each stop that its threads live on, that it has no file open,
 * and that it has sent nothing unasked. */
#include "runner_process_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "kforge/file.h"

static bool has_thread(const pid_t *ids, size_t count, pid_t thread)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == thread) return true;
    return false;
}

bool kf_runner_note_threads(kf_runner *runner)
{
    const pid_t *ids;
    runner->held.thread_count = kf_sandbox_threads(runner->sandbox, &ids);
    runner->held.threads = calloc(runner->held.thread_count + 1, sizeof *ids);
    if (!runner->held.threads) return false;
    memcpy(runner->held.threads, ids, runner->held.thread_count * sizeof *ids);
    return true;
}

/* True if a thread that the runner had before it loaded its binary has ended. */
static bool lacks_a_thread(const kf_runner *runner)
{
    const pid_t *ids;
    size_t count = kf_sandbox_threads(runner->sandbox, &ids);
    for (size_t i = 0; i < runner->held.thread_count; i++)
        if ((runner->held.sealed || runner->held.threads[i] == kf_sandbox_pid(runner->sandbox)) &&
            !has_thread(ids, count, runner->held.threads[i]))
            return true;
    return false;
}

int kf_runner_extra_threads(kf_runner *runner)
{
    kf_sandbox_census census;
    if (runner->dead || !kf_sandbox_take_census(runner->sandbox, &census, NULL)) return -1;
    const pid_t *ids;
    size_t count = kf_sandbox_threads(runner->sandbox, &ids);
    int extra = census.processes;
    for (size_t i = 0; i < count; i++)
        extra += !has_thread(runner->held.threads, runner->held.thread_count, ids[i]);
    return extra;
}

kf_runner_event kf_runner_freeze(kf_runner *runner)
{
    if (runner->frozen) return KF_RUNNER_OK;
    kf_error error;
    double asked = kf_now();
    bool stopped = kf_sandbox_freeze(runner->sandbox, &error);
    runner->limits.stopping += kf_now() - asked;
    if (!stopped) {
        if (kf_sandbox_pump(runner->sandbox, KF_RUNNER_ENDING_SECONDS))
            return kf_runner_end(runner, KF_RUNNER_ENDED);
        runner->error = error;
        /* A thread does not return from a system call of its own choice. */
        bool endless = error.code == KF_ERROR_LIMIT;
        return kf_runner_end(runner, error.code == KF_ERROR_INPUT ? KF_RUNNER_WOKEN
                                     : endless                    ? KF_RUNNER_TIMEOUT
                                                                  : KF_RUNNER_MACHINE);
    }
    runner->frozen = true;
    if (lacks_a_thread(runner)) {
        /* The threads of a killed process end before the process does. */
        bool ended = kf_sandbox_pump(runner->sandbox, KF_RUNNER_ENDING_SECONDS);
        return kf_runner_end(runner, ended ? KF_RUNNER_ENDED : KF_RUNNER_THREAD_ENDED);
    }
    /* No answer is due now. Bytes in the socket are a forged answer to a later command. */
    char byte;
    ssize_t waiting = recv(runner->socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    if (waiting > 0) return kf_runner_end(runner, KF_RUNNER_FORGED);
    return KF_RUNNER_OK;
}

kf_runner_event kf_runner_wake(kf_runner *runner)
{
    if (runner->dead) return KF_RUNNER_ENDED;
    if (!runner->frozen) return KF_RUNNER_OK;
    kf_error error;
    runner->frozen = false;
    kf_cpu_idle_guard_rest(runner->idle_guard);
    if (kf_sandbox_thaw(runner->sandbox, &error)) return KF_RUNNER_OK;
    if (kf_sandbox_pump(runner->sandbox, KF_RUNNER_ENDING_SECONDS))
        return kf_runner_end(runner, KF_RUNNER_ENDED);
    runner->error = error;
    return kf_runner_end(runner,
                         error.code == KF_ERROR_INPUT ? KF_RUNNER_WOKEN : KF_RUNNER_MACHINE);
}

kf_runner_event kf_runner_let_open(kf_runner *runner, bool may)
{
    kf_error error;
    if (!runner->held.sealed || !runner->held.loaded ||
        kf_sandbox_let_open(runner->sandbox, may, &error))
        return KF_RUNNER_OK;
    if (kf_sandbox_pump(runner->sandbox, KF_RUNNER_ENDING_SECONDS))
        return kf_runner_end(runner, KF_RUNNER_ENDED);
    return kf_runner_fail(runner, error.text);
}

kf_runner_event kf_runner_freeze_and_seal(kf_runner *runner)
{
    kf_runner_event event = kf_runner_freeze(runner);
    if (event == KF_RUNNER_OK) event = kf_runner_let_open(runner, false);
    if (event == KF_RUNNER_OK && runner->held.sealed && runner->held.loaded &&
        kf_sandbox_open_files(runner->sandbox) > 0)
        return kf_runner_end(runner, KF_RUNNER_FILES_OPEN);
    return event;
}

bool kf_runner_can_stop(const kf_runner *runner)
{
    return runner->error.code != KF_ERROR_LIMIT;
}
