/* The status, the rule and the text of an event of a runner: crash, timeout, forged answer. */
#include "runner_process_internal.h"

#include <stdio.h>
#include <string.h>

char *kf_runner_output(const kf_runner *runner, size_t most)
{
    /* The answer may arrive before the output that was printed ahead of it. */
    if (!runner->dead) kf_sandbox_pump(runner->sandbox, 0);
    const kf_buffer *output = kf_sandbox_output(runner->sandbox);
    if (!output || !output->size) return NULL;
    size_t first = output->size > most ? output->size - most : 0;
    return kf_text_clean(output->data + first, output->size - first, false);
}

const kf_error *kf_runner_error(const kf_runner *runner)
{
    return &runner->error;
}

bool kf_runner_ended_outside(const kf_runner *runner)
{
    return runner->dead && kf_sandbox_ended_outside(kf_sandbox_outcome(runner->sandbox));
}

static void explain_end(const kf_runner *runner, const char *doing, kf_runner_explanation *e)
{
    const kf_sandbox_result *result = kf_sandbox_outcome(runner->sandbox);
    char words[256];
    kf_sandbox_describe(result, words, sizeof words);
    e->status = KF_CRASH;
    e->rule = "runner.crashed";
    if (result->end == KF_END_MEMORY) e->status = KF_OUT_OF_MEMORY, e->rule = "memory.limit";
    if (result->end == KF_END_CPU || result->end == KF_END_WALL)
        e->status = KF_TIMEOUT, e->rule = "time.limit";
    if (result->end == KF_END_EXITED) e->rule = "runner.exited";
    /* Without a cgroup, an allocation fails at the limit, and the program crashes. */
    if (result->end == KF_END_SIGNAL && runner->memory_limit &&
        result->peak_memory_bytes > runner->memory_limit / 10 * 9)
        e->status = KF_OUT_OF_MEMORY, e->rule = "memory.limit";
    e->outside = e->status == KF_CRASH && kf_sandbox_ended_outside(result);
    snprintf(e->text, sizeof e->text, "the process ended while %s: %s", doing, words);
}

void kf_runner_explain(const kf_runner *runner, kf_runner_event event, const char *doing,
                       kf_runner_explanation *e)
{
    static const struct {
        kf_status status;
        const char *rule, *text;
    } table[] = {
        [KF_RUNNER_OK] = {KF_CORRECT, "", ""},
        [KF_RUNNER_CLOSED] = {KF_CONTRACT_VIOLATION, "protocol.closed",
                              "the process closed the judge's connection while"},
        [KF_RUNNER_TIMEOUT] = {KF_TIMEOUT, "time.limit", "the time limit passed while"},
        [KF_RUNNER_FORGED] = {KF_CHEATING, "protocol.forged",
                              "an answer was written that the runner did not give, while"},
        [KF_RUNNER_WOKEN] = {KF_CHEATING, "runner.woken",
                             "the process was made to run while the judge had stopped it, after"},
        [KF_RUNNER_THREAD_ENDED] = {KF_CONTRACT_VIOLATION, "threads.ended",
                                    "a thread of the runner itself has ended. End only threads "
                                    "that the call has started. Noticed after"},
        [KF_RUNNER_FILES_OPEN] = {KF_CONTRACT_VIOLATION, "files.open",
                                  "a file is open that the process opened while it was loaded. "
                                  "Close it in the constructor. Noticed after"},
        [KF_RUNNER_MOVED] = {KF_CONTRACT_VIOLATION, "runner.moved",
                             "the launching thread left the processor that it was bound to, while"},
        [KF_RUNNER_REFUSED] = {KF_LAUNCH_FAILURE, "load.failed",
                               "the runner cannot continue while"},
        [KF_RUNNER_DEVICE_ERROR] = {KF_LAUNCH_FAILURE, "device.error",
                                    "the device reports an error after"},
        [KF_RUNNER_STOPPED] = {KF_JUDGE_ERROR, "interrupted", "interrupted while"},
        [KF_RUNNER_MACHINE] = {KF_JUDGE_ERROR, "machine", "the machine failed while"},
    };
    e->outside = event == KF_RUNNER_WOKEN;
    if (event == KF_RUNNER_ENDED) {
        explain_end(runner, doing, e);
        return;
    }
    e->status = table[event].status;
    e->rule = table[event].rule;
    bool has_reason =
        event == KF_RUNNER_MACHINE || (event == KF_RUNNER_TIMEOUT && !kf_runner_can_stop(runner));
    snprintf(e->text, sizeof e->text, "%s %s%s%.300s", table[event].text, doing,
             has_reason ? ": " : "", has_reason ? runner->error.text : "");
}
