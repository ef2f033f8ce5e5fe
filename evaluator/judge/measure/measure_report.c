/* Turns events of runners, and the end of the job's time, into findings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error_codes.h"
#include "machine_failures.h"
#include "measure_internal.h"
#include "wire.h"

/* A candidate is to blame for memory that others lack if it held this part of all. */
#define HELD_PART 16

/* Copies the last line that a runner printed, or an empty text. Its own line says more about the
 * error code in front. The candidate prints the others. */
static void last_words(const kf_runner *runner, char *text, size_t size)
{
    kf_autofree char *output = kf_runner_output(runner, 2000);
    text[0] = '\0';
    if (!output) return;
    size_t length = strlen(output);
    while (length && (output[length - 1] == '\n' || output[length - 1] == ' '))
        output[--length] = '\0';
    const char *line = strrchr(output, '\n');
    line = line ? line + 1 : output;
    static const char own[] = "kforge-runner: ";
    if (strncmp(line, own, sizeof own - 1) == 0)
        snprintf(text, size, ": %.300s", line + sizeof own - 1);
    else if (*line)
        snprintf(text, size, ". It printed: %.300s", line);
}

/* Writes ", 400 bytes past the end of x" from the line that the runner prints about the access
 * (device_cpu.c). Empty without one. */
static void access_text(const kf_measurement *r, const char *output, char *text, size_t size)
{
    const kf_problem *problem = r->bench->problem;
    const char *line = strstr(output, "kforge-access: ");
    int argument;
    long long distance;
    text[0] = '\0';
    if (!line || sscanf(line, "kforge-access: %d %lld", &argument, &distance) != 2) return;
    if (argument < 0 || argument >= problem->argument_count) return;
    const char *name = problem->arguments[argument].name;
    if (distance < 0)
        snprintf(text, size, ", %lld bytes before the start of %s", -distance, name);
    else if (distance == 0)
        snprintf(text, size, ", right behind the end of %s", name);
    else
        snprintf(text, size, ", %lld bytes past the end of %s", distance, name);
}

/* Adds a finding from "ERROR: AddressSanitizer: KIND on address …" in the runner's output, with the
 * first frame in the candidate's own file. False without memory. */
static bool asan_report(kf_measurement *r, const kf_runner *runner)
{
    kf_autofree char *output = kf_runner_output(runner, 64000);
    const char *report = output ? strstr(output, "AddressSanitizer: ") : NULL;
    if (!report) return true;
    char kind[64] = "", place[200] = "", access[32] = "", where[160];
    sscanf(report + strlen("AddressSanitizer: "), "%63[a-zA-Z-]", kind);
    const char *operation = strstr(report, "\nWRITE of size");
    if (!operation) operation = strstr(report, "\nREAD of size");
    int bytes;
    if (operation && sscanf(operation + 1, "%*s of size %d", &bytes) == 1)
        snprintf(access, sizeof access, "%s of %d bytes", operation[1] == 'W' ? "write" : "read",
                 bytes);
    access_text(r, output, where, sizeof where);
    const char *file = strstr(report, "candidate.cu:");
    if (file) sscanf(file, "%199[^\n ]", place);
    r->over = true;
    return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_CONTRACT_VIOLATION,
                                  KF_BLAME_CANDIDATE, "asan.report", NAN, NAN,
                                  "AddressSanitizer: %s%s%s%s%s%s", kind, access[0] ? ", " : "",
                                  access, where, place[0] ? ", at " : "", place) != NULL;
}

/* True if the runner ran out of memory. While a module of PyTorch is loaded its output says so. A
 * module that lies about it gains only a verdict that does not count. */
static bool found_no_memory(const kf_measurement *r, const kf_runner *runner, kf_runner_event event,
                            int code, const char *words)
{
    const char *name;
    if (event == KF_RUNNER_DEVICE_ERROR)
        return r->device->error_status(code, &name) == KF_OUT_OF_MEMORY;
    return kf_runner_is_python(kf_runner_kind_of(runner)) &&
           strstr(words, "CUDA out of memory") != NULL;
}

/* True if a solution found no memory, but a larger device, or an idle one, would have had it. */
static bool lacked_memory(const kf_measurement *r, const kf_runner *runner, kf_runner_event event,
                          int code, const char *words)
{
    const kf_workbench *bench = r->bench;
    return kf_runner_is_python(kf_runner_kind_of(runner)) && r->device->python.is_short &&
           r->device->python.is_short(bench->device, runner, bench->problem) &&
           found_no_memory(r, runner, event, code, words);
}

/* Adds a finding that the workload is too large for the device. The task's programs are right. */
static bool report_size(kf_measurement *r, kf_role role, const char *why, const char *words,
                        kf_error *error)
{
    const kf_workbench *bench = r->bench;
    return kf_verdict_add_finding(
               bench->verdict, bench->result, KF_JUDGE_ERROR, KF_BLAME_TASK, "memory.short", NAN,
               NAN,
               "the task's %s finds too little memory in workload %s, which has %.3g GiB of inputs "
               "and "
               "outputs a call. Give it smaller params or device_params for %s, or free memory "
               "that other programs use: %s%s",
               role == KF_ROLE_BASELINE ? "baseline" : "oracle", bench->problem->workload,
               (double)bench->problem->total_bytes / 0x1p30, r->device->kind, why, words) != NULL ||
           kf_fail_memory(error, "a finding");
}

/* Ends a candidate's process. *much: it held so much memory of the device that others can lack it.
 * Without that limit any candidate would be blamed for memory that another program has just freed.
 */
static bool end_holder(kf_measurement *r, kf_runner **going, bool *much, kf_error *error)
{
    kf_workbench *bench = r->bench;
    uint64_t before = 0, after = 0, all = 0;
    bool known = r->device->buffers.memory != NULL;
    if (known && !r->device->buffers.memory(bench->device, &before, &all, error)) return false;
    kf_runner_pool_retire(bench->pool, kf_steal(going), true);
    if (known && !r->device->buffers.memory(bench->device, &after, &all, error)) return false;
    *much = !known || (after > before && after - before >= all / HELD_PART);
    return true;
}

bool kf_measurement_blame_holder(kf_measurement *r, bool *held, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_runner **going =
        r->runners[CANDIDATE] ? &r->runners[CANDIDATE] : bench->round.candidate_runner;
    bool much;
    *held = false;
    /* PyTorch keeps the memory that it frees. */
    if (!going || !*going || kf_runner_is_python(kf_runner_kind_of(*going))) return true;
    if (!end_holder(r, going, &much, error)) return false;
    if (!much) return true;
    if (r->sets) r->device->buffers.sets_free(kf_steal(&r->sets));
    kf_error ignored;
    kf_sets *sets =
        r->device->buffers.sets_new(bench->device, bench->problem, r->set_count, true, &ignored);
    if (!sets) return true;
    r->device->buffers.sets_free(sets);
    *held = r->over = true;
    return kf_verdict_add_finding(bench->verdict, bench->result, KF_OUT_OF_MEMORY,
                                  KF_BLAME_CANDIDATE, "memory.held", NAN, NAN,
                                  "the candidate's process held so much memory of the device that "
                                  "the task's own programs found too little. There was enough once "
                                  "the process had ended") != NULL ||
           kf_fail_memory(error, "a finding");
}

/* Where all map the same buffers, a candidate may have changed the inputs of the task's program.
 * Adds a finding then. False if the buffers cannot be read. */
static bool find_changed_inputs(kf_measurement *r, kf_error *error)
{
    kf_damage damage;
    if (!r->runners[CANDIDATE] || !r->sets || !kf_measurement_shares_buffers(r)) return true;
    if (!r->device->buffers.inspect(r->sets, r->lists.chosen, &damage, error)) return false;
    if (damage.kind != KF_DAMAGE_INPUT) return true;
    r->over = true;
    return kf_checker_damage(r->checker, &damage) || kf_fail_memory(error, "a finding");
}

static const char *name_of(kf_role role)
{
    return role == KF_ROLE_CANDIDATE  ? "candidate"
           : role == KF_ROLE_BASELINE ? "baseline"
                                      : "oracle";
}

/* Adds a finding that something outside ended or continued a runner. Another round follows. */
static bool report_outside(kf_measurement *r, kf_role role, const char *text, kf_error *error)
{
    kf_workbench *bench = r->bench;
    bench->found.outside = r->over = true;
    bench->found.outside_candidate = role == KF_ROLE_CANDIDATE;
    return kf_verdict_add_finding(bench->verdict, bench->result, KF_JUDGE_ERROR, KF_BLAME_MACHINE,
                                  "signal.outside", NAN, NAN,
                                  "something outside kforge sent a signal to the process of the "
                                  "%s, or the machine has too little memory: %s",
                                  name_of(role), text) != NULL ||
           kf_fail_memory(error, "a finding");
}

/* True if the machine used up the job's time. A program of the task that hangs is the task's fault,
 * also at the ceiling. */
static bool was_machine(const kf_workbench *bench)
{
    double now = kf_now();
    return kf_clock_is_starved(&bench->clock, bench->options->timeout_seconds, now) ||
           kf_clock_is_cut(&bench->clock, now);
}

bool kf_measurement_ends_with_job(const kf_workbench *bench, kf_role role)
{
    return role == KF_ROLE_CANDIDATE ? kf_clock_at_ceiling(&bench->clock, kf_now())
                                     : was_machine(bench);
}

bool kf_measurement_report(kf_measurement *r, kf_runner *runner, kf_role role,
                           kf_runner_event event, int code, const char *doing, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_runner_explanation why;
    if (event == KF_RUNNER_TIMEOUT && kf_measurement_ends_with_job(bench, role))
        return kf_measurement_out_of_time(r, error);
    if (event == KF_RUNNER_STOPPED) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    kf_runner_explain(runner, event, doing, &why);
    if (event == KF_RUNNER_MACHINE) return kf_fail(error, KF_ERROR_MACHINE, "%s", why.text);
    bool again = role != KF_ROLE_CANDIDATE || bench->round.outside_before + 1 < KF_OUTSIDE_ROUNDS;
    if (why.outside && again) return report_outside(r, role, why.text, error);
    if (why.outside &&
        !kf_verdict_add_flag(bench->verdict, KF_FLAG_MACHINE_CLEARED ":%d", KF_OUTSIDE_ROUNDS))
        return kf_fail_memory(error, "a flag");
    char words[340];
    last_words(runner, words, sizeof words);
    const char *name = NULL;
    if (event == KF_RUNNER_DEVICE_ERROR) {
        why.status = r->device->error_status(code, &name);
        bool others = code == KF_WIRE_EXCEPTION_OF_OTHERS;
        if (others || code == KF_WIRE_EXCEPTION) {
            snprintf(why.text, sizeof why.text, "forward failed while %s%s", doing,
                     others ? " with the task's weights, where its constructor makes others (type "
                              "or layout)"
                            : "");
            why.rule = "forward.raised";
        } else
            snprintf(why.text + strlen(why.text), sizeof why.text - strlen(why.text), ": %s (%d)",
                     name, code);
    }
    if (role == KF_ROLE_CANDIDATE && event == KF_RUNNER_ENDED &&
        strcmp(r->device->kind, "cpu") == 0 && kf_runner_kind_of(runner) == KF_RUNNER_PLAIN &&
        strcmp(why.rule, "runner.crashed") == 0)
        snprintf(why.text + strlen(why.text), sizeof why.text - strlen(why.text),
                 ". --asan names the line");
    if (role != KF_ROLE_CANDIDATE) {
        if (!find_changed_inputs(r, error)) return false;
        if (r->over) return true;
        bool machine = event == KF_RUNNER_DEVICE_ERROR && kf_cuda_error_is_machine(code);
        r->over = true;
        bool held = false, short_of_memory = found_no_memory(r, runner, event, code, words);
        if (short_of_memory && (!kf_measurement_blame_holder(r, &held, error) || held)) return held;
        if (short_of_memory) return report_size(r, role, why.text, words, error);
        return kf_verdict_add_finding(
                   bench->verdict, bench->result, KF_JUDGE_ERROR,
                   machine ? KF_BLAME_MACHINE : KF_BLAME_TASK,
                   role == KF_ROLE_BASELINE ? "baseline.failed" : "oracle.failed", NAN, NAN,
                   "the task's %s fails: %s%s", role == KF_ROLE_BASELINE ? "baseline" : "oracle",
                   why.text, words) != NULL ||
               kf_fail_memory(error, "a finding");
    }
    if (lacked_memory(r, runner, event, code, words)) {
        r->over = true;
        return kf_verdict_add_finding(bench->verdict, bench->result, KF_JUDGE_ERROR, KF_BLAME_TASK,
                                      "memory.short", NAN, NAN,
                                      "the device has less memory left than a solution to a "
                                      "problem of this size needs: %s%s",
                                      why.text, words) != NULL ||
               kf_fail_memory(error, "a finding");
    }
    if (bench->options->asan && event == KF_RUNNER_ENDED) {
        if (!asan_report(r, runner)) return kf_fail_memory(error, "a measurement");
        if (r->over) return true;
    }
    r->over = true;
    return kf_verdict_add_finding(bench->verdict, bench->result, why.status, KF_BLAME_CANDIDATE,
                                  why.rule, code ? code : NAN, NAN, "%s%s", why.text,
                                  words) != NULL ||
           kf_fail_memory(error, "a finding");
}

/* Adds a finding that the machine had too little time for a job. */
static bool report_machine(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    double limit = bench->options->timeout_seconds, stalled = bench->clock.stalled;
    char why[100] = "in rounds that the machine or signals from outside spoiled";
    if (stalled >= limit)
        snprintf(why, sizeof why,
                 "because other programs had the processors for %.3g s of its waits", stalled);
    r->over = true;
    return kf_verdict_add_finding(bench->verdict, bench->result, KF_JUDGE_ERROR, KF_BLAME_MACHINE,
                                  "time.budget", stalled, limit,
                                  "the job took %d times its %.6g s (--timeout), %s",
                                  KF_JOB_CEILING, limit, why) != NULL ||
           kf_fail_memory(error, "a finding");
}

bool kf_measurement_out_of_time(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    if (was_machine(bench)) return report_machine(r, error);
    kf_clock clock = bench->clock;
    const kf_runner *runner = r->runners[CANDIDATE];
    kf_clock_charge_candidate(&clock, runner ? kf_runner_late_seconds(runner) : 0);
    double all = kf_clock_candidate_total(&clock);
    bool slow = kf_clock_blames_candidate(&clock, bench->options->timeout_seconds, kf_now());
    r->over = true;
    return kf_verdict_add_finding(
               bench->verdict, bench->result, slow ? KF_TIMEOUT : KF_JUDGE_ERROR,
               slow ? KF_BLAME_CANDIDATE : KF_BLAME_MACHINE, slow ? "time.limit" : "time.budget",
               all, bench->options->timeout_seconds,
               "the %.6g s of the whole job (--timeout) are over. The candidate took %.3g s, "
               "%.3g s of them in this workload",
               bench->options->timeout_seconds, all, clock.candidate) != NULL ||
           kf_fail_memory(error, "a finding");
}
