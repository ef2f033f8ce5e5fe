#include "verdict_brief.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/json.h"
#include "mismatches.h"
#include "throttling.h"

/* Bytes of a summary, and of the text of an error in JSON: together with the keys about 120 tokens.
 */
#define SUMMARY_BYTES 180
#define ERROR_BYTES 90
#define HASH_DIGITS 12
/* An interval with a larger ratio of its ends says little. */
#define WIDE 1.5
/* A workload this close to the device's least time has little left to gain. */
#define NEAR_FLOOR 1.15

/* Cuts the text at `most` bytes, between two characters. */
static void cut(char *text, size_t most)
{
    if (strlen(text) <= most) return;
    size_t end = most - 3;
    while (end && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    memcpy(text + end, "...", 4);
}

/* ---- the deciding finding -------------------------------------------------------------------- */

typedef struct decision {
    /* NULL: no finding decides. */
    const kf_finding *finding;
    /* NULL: the finding belongs to the whole verdict. */
    const kf_workload_verdict *workload;
} decision;

static void prefer(decision *best, const kf_finding *findings, size_t count,
                   const kf_workload_verdict *workload)
{
    for (size_t i = 0; i < count; i++)
        if ((!workload || kf_finding_decides(workload, &findings[i])) &&
            findings[i].status < (best->finding ? best->finding->status : KF_CORRECT))
            *best = (decision){&findings[i], workload};
}

/* Returns the finding that gave the verdict its status, as kf_verdict_conclude chose it. */
static decision decide(const kf_verdict *verdict)
{
    decision best = {0};
    prefer(&best, verdict->findings, verdict->finding_count, NULL);
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        prefer(&best, w->findings, w->finding_count, w);
    }
    return best;
}

/* Returns the output with wrong elements that a mismatch is about, or NULL. */
static const kf_output_check *wrong_output(const decision *d)
{
    if (!d->workload || !d->finding || d->finding->status != KF_WRONG_RESULT) return NULL;
    for (size_t i = 0; i < d->workload->output_count; i++) {
        const kf_output_check *output = &d->workload->outputs[i];
        size_t length = strlen(output->argument);
        const char *text = d->finding->text;
        if (strncmp(text, "output ", 7) == 0) text += 7;
        if (output->figures.mismatched > 0 && output->figures.first_index >= 0 &&
            strncmp(text, output->argument, length) == 0 && text[length] == ':')
            return output;
    }
    return NULL;
}

/* ---- errors of the compiler ------------------------------------------------------------------ */

/* Reads "candidate.cu:4:3: " or "candidate.cu(4): " at `at`. Returns the text behind it, or NULL.
 */
static const char *read_place(const char *at, kf_source_error *error)
{
    static const char name[] = "candidate.";
    if (strncmp(at, name, sizeof name - 1) != 0) return NULL;
    at += sizeof name - 1;
    if (strncmp(at, "cu", 2) != 0 && strncmp(at, "py", 2) != 0) return NULL;
    at += 2;
    char *end;
    if ((*at != ':' && *at != '(') || !isdigit((unsigned char)at[1])) return NULL;
    bool brackets = *at == '(';
    error->line = strtol(at + 1, &end, 10);
    error->column = 0;
    if (brackets && *end == ')') end++;
    if (!brackets && *end == ':' && isdigit((unsigned char)end[1]))
        error->column = strtol(end + 1, &end, 10);
    return *end == ':' ? end + 1 : NULL;
}

/* Reads one line of the log. False if it is not an error in the candidate's file. */
static bool read_error(const char *line, size_t size, kf_source_error *error)
{
    static const char *const kinds[] = {"error:", "fatal error:", "catastrophic error:",
                                        "unsupported on the CPU device:", "error #"};
    kf_autofree char *copy = strndup(line, size);
    if (!copy) return false;
    const char *name = strstr(copy, "candidate.");
    if (!name || (name != copy && name[-1] != '/')) return false;
    const char *text = read_place(name, error);
    if (!text) return false;
    while (*text == ' ') text++;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i]);
        if (strncmp(text, kinds[i], length) != 0) continue;
        bool numbered = kinds[i][length - 1] == '#', unsupported = kinds[i][0] == 'u';
        const char *behind = numbered ? strchr(text, ':') : text + length - 1;
        if (!behind) return false;
        if (!unsupported) text = behind + 1;
        while (*text == ' ') text++;
        snprintf(error->text, sizeof error->text, "%s", text);
        cut(error->text, sizeof error->text - 1);
        return true;
    }
    return false;
}

size_t kf_verdict_errors(const kf_verdict *verdict, kf_source_error *errors, size_t most)
{
    const char *log = kf_json_get_text(verdict->build, "log", NULL);
    size_t count = 0;
    if (verdict->status != KF_COMPILE_ERROR && verdict->status != KF_UNSUPPORTED_DEVICE) return 0;
    for (const char *line = log; line && *line && count < most;) {
        size_t size = strcspn(line, "\n");
        kf_source_error found = {0};
        bool known = !read_error(line, size, &found);
        for (size_t i = 0; i < count && !known; i++)
            known = errors[i].line == found.line && errors[i].column == found.column &&
                    strcmp(errors[i].text, found.text) == 0;
        if (!known) errors[count++] = found;
        line += size + (line[size] != '\0');
    }
    return count;
}

/* ---- the summary ----------------------------------------------------------------------------- */

static void summarize_correct(const kf_verdict *verdict, kf_buffer *text)
{
    const kf_interval *s = &verdict->speedup;
    if (isnan(s->value))
        kf_buffer_string(text, "correct, speed not measured");
    else
        kf_buffer_format(text, "correct, %.3g times the baseline's speed", s->value);
    if (!isnan(s->value) && !isnan(s->low) && !isnan(s->high))
        kf_buffer_format(text, " (95 %% [%.3g, %.3g]%s)", s->low, s->high,
                         s->low > 1 || s->high < 1 ? "" : ", no difference shown");
    if (!isnan(s->value) && verdict->reverified) kf_buffer_string(text, ", measured twice");
    kf_autofree char *general = kf_verdict_generalises(verdict, false);
    if (general && *general) kf_buffer_format(text, "; generalises: %s", general);
}

/* Writes the first wrong element as the finding does, "y[3][1000]", or by its flat index. */
static void word_place(const decision *d, const kf_output_check *output, kf_buffer *text)
{
    const char *at = strstr(d->finding->text, "first at ");
    size_t length = strlen(output->argument);
    if (at) at += strlen("first at ");
    if (at && strncmp(at, output->argument, length) == 0 && at[length] == '[')
        kf_buffer_format(text, "%.*s", (int)strcspn(at, ":"), at);
    else
        kf_buffer_format(text, "%s[%lld]", output->argument,
                         (long long)output->figures.first_index);
}

/* Writes the mismatch with its place and both values. */
static void summarize_mismatch(const decision *d, const kf_output_check *output, kf_buffer *text)
{
    const kf_error_figures *f = &output->figures;
    bool inexact = strcmp(d->finding->rule, "output.inaccurate") == 0;
    kf_buffer_format(text, "%s%s in workload %s: ", kf_status_name(d->finding->status),
                     inexact ? " (inexact)" : "", d->workload->workload);
    word_place(d, output, text);
    kf_buffer_format(text, " expected %.6g, got %.6g", f->first_expected, f->first_got);
    if (isfinite(f->allowed_max) && f->allowed_max > 0)
        kf_buffer_format(text, ", largest error %.3g, limit %.3g", f->max, f->allowed_max);
    if (f->pattern[0]) kf_buffer_format(text, " (%s)", f->pattern);
}

char *kf_verdict_summary(const kf_verdict *verdict)
{
    kf_autobuffer text = {0};
    decision d = decide(verdict);
    const kf_output_check *output = wrong_output(&d);
    if (verdict->status == KF_CORRECT) {
        summarize_correct(verdict, &text);
    } else if (output) {
        summarize_mismatch(&d, output, &text);
    } else if (d.finding) {
        kf_buffer_string(&text, kf_status_name(verdict->status));
        if (d.workload) kf_buffer_format(&text, " in workload %s", d.workload->workload);
        kf_buffer_format(&text, ": %s", d.finding->text);
    } else {
        kf_buffer_string(&text, verdict->message && verdict->message[0]
                                    ? verdict->message
                                    : kf_status_name(verdict->status));
    }
    return kf_buffer_take(&text);
}

/* ---- the next step --------------------------------------------------------------------------- */

/* Sorted by rule, as docs/reference/verdict-rules.md. */
static const struct {
    const char *rule, *next;
} steps[] = {
    {"asan.report", "Fix the access that AddressSanitizer reports."},
    {"baseline.disturbed", "Stop other work on the machine and judge the same source again."},
    {"baseline.failed", "Repair the task's baseline, because the candidate was not judged."},
    {"baseline.library", "Install the library that this baseline needs, or use another baseline."},
    {"baseline.wrong", "Repair the task: its baseline and its oracle disagree."},
    {"calls.early", "Read the inputs of a call inside that call."},
    {"calls.late", "Finish all work of a call in the call."},
    {"code.known", "Use the stored verdict: this source gives the same binary."},
    {"device.busy", "Start all work inside the call and leave none behind."},
    {"device.error", "Check grid, block size, shared memory, indices and pointers."},
    {"device.shared", "Stop the other program on the GPU and judge the same source again."},
    {"files.open", "Close every file in the constructor."},
    {"floor.undercut",
     "Do the whole work in every call, or correct `work` in the task: no device is this fast."},
    {"forward.raised", "Fix the exception that forward raises."},
    {"guard.broken", "Check the bounds of every write."},
    {"input.mutated", "Write to outputs only, and copy an input that has to change."},
    {"judge.failed", "Run `kforge doctor`, then judge the same source again."},
    {"launch.undercut", "Launch the work in every call."},
    {"library.loaded", "Remove the library, or name it under `libraries` in the task."},
    {"load.failed", "Check the exported symbol, static initialisers and constructors."},
    {"memory.held", "Free device memory inside the call, or use less of it."},
    {"memory.limit", "Allocate less memory."},
    {"memory.short", "Free memory of the device or give the task smaller params."},
    {"mode.other", "Follow the task's mode: training and evaluation differ."},
    {"oracle.failed", "Repair the task's oracle, because the candidate was not judged."},
    {"output.aliased", "Return new tensors from each call, or let the task allow aliasing."},
    {"output.count", "Return as many tensors as the reference."},
    {"output.dtype", "Cast the result to the reference's dtype."},
    {"output.inaccurate",
     "Add long sums in pieces or in a wider type, keep operands as they are, round once at the "
     "end, and check constants."},
    {"output.late", "Launch into the call's stream, so that the work ends with it."},
    {"output.mismatch", "Compare the code with the reference: the results are wrong."},
    {"output.shape", "Give the result the reference's shape."},
    {"output.type", "Return a dense tensor on the inputs' device."},
    {"output.unreadable", "Return a plain tensor that owns its memory."},
    {"protocol.closed", "Leave file descriptors alone that the candidate did not open."},
    {"protocol.forged", "Leave file descriptors alone that the candidate did not open."},
    {"runner.crashed", "Find the bad access with --asan."},
    {"runner.exited", "Do not end the process: return from the entry."},
    {"runner.moved", "Do not change the processor affinity of the calling thread."},
    {"runner.woken", "Send no signals."},
    {"sanitizer.initcheck", "Initialise the memory that the kernel reads."},
    {"sanitizer.memcheck", "Fix the invalid access that memcheck reports."},
    {"sanitizer.racecheck", "Add the missing barrier between accesses to shared memory."},
    {"signal.outside", "Free memory on the machine and judge the same source again."},
    {"source.forbidden", "Leave out what the task's `forbidden` lists, in comments, too."},
    {"state.cached", "Read the parameters in forward, at each call."},
    {"state.constructed", "Read the parameters in forward, because the judge replaces them."},
    {"stream.left", "Join other streams to the call's stream with events."},
    {"stream.unordered", "Launch into the call's stream, or order other streams with events both "
                         "ways."},
    {"task.build", "Repair the task: its oracle or baseline does not build."},
    {"threads.ended", "End only threads that the call has started."},
    {"threads.left", "Join all threads before the call returns."},
    {"time.budget", "Judge again with a larger --timeout, on a machine with less work."},
    {"time.limit", "Make it faster, look for an endless loop, or raise --timeout."},
    {"unchosen.written", "Write only to the buffers that the call gets."},
};

/* For rules that have no row. */
static const char *step_of_status(const kf_verdict *verdict)
{
    if (verdict->blame == KF_BLAME_MACHINE || verdict->blame == KF_BLAME_JUDGE)
        return "Judge the same source again, and run `kforge doctor` if that fails.";
    if (verdict->blame == KF_BLAME_TASK) return "Repair the task, then judge the source again.";
    switch (verdict->status) {
    case KF_COMPILE_ERROR: return "Fix the compiler's first error.";
    case KF_UNSUPPORTED_DEVICE: return "Replace the construct, or judge on a GPU.";
    case KF_OUT_OF_MEMORY: return "Use less memory.";
    case KF_CRASH: return "Find the bad access: check indices, bounds and pointers.";
    case KF_TIMEOUT: return "Make it faster, or look for an endless loop.";
    case KF_LAUNCH_FAILURE: return "Check grid, block size, shared memory and the exported symbol.";
    case KF_CONTRACT_VIOLATION:
        return "Follow the task's contract: write outputs only, in the call.";
    case KF_WRONG_RESULT: return "Compare the code with the reference: the results are wrong.";
    case KF_CHEATING: return "Do the task's work in every call and leave the measurement alone.";
    case KF_INTERFERENCE: return "Judge the same source again on a quiet machine.";
    case KF_IMPOSSIBLE: return "Do the whole work in every call.";
    case KF_JUDGE_ERROR:
    case KF_CORRECT:
    case KF_STATUS_COUNT: break;
    }
    return "Judge the same source again, and run `kforge doctor` if that fails.";
}

/* Labels of wrong outputs that look like a cheat's (docs/reference/verdict-rules.md). */
static const struct {
    const char *flag, *next;
} suspicions[] = {
    {KF_FLAG_SUSPECTED "state.skips_work",
     "Write all outputs in every call, not only in the first."},
    {KF_FLAG_SUSPECTED "output.unwritten",
     "Write the outputs: check the launch and its error code."},
    {KF_FLAG_SUSPECTED "state.stale_output",
     "Compute from this call's inputs, not an earlier one's."},
    {KF_FLAG_SUSPECTED "output.constant", "Compute the result: the output is one constant."},
};

/* True if AddressSanitizer can judge the candidate. A crash under it has a rule of its own. */
static bool takes_asan(const kf_verdict *verdict)
{
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(verdict->provenance, "options");
    return strncmp(verdict->device, "cpu", 3) == 0 &&
           !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "torch"));
}

/* Names the place if elements are not written, because that place is exactly what to mend. */
static bool name_unwritten(const kf_output_check *output, kf_buffer *text)
{
    const char *pattern = output->figures.pattern, *end = strstr(pattern, KF_PATTERN_UNWRITTEN);
    if (!end || end == pattern || strncmp(pattern, "everywhere", 10) == 0) return false;
    kf_buffer_format(text,
                     "Write every element of %s: check grid size, loop bounds and early returns "
                     "(%.*s).",
                     output->argument, (int)(end - pattern), pattern);
    return true;
}

/* False: the rule's own step is the best. */
static bool step_of_wrong_output(const kf_verdict *verdict, const decision *d, kf_buffer *text)
{
    const kf_output_check *output = wrong_output(d);
    bool inexact = strcmp(d->finding->rule, "output.inaccurate") == 0;
    for (size_t i = 0; i < sizeof suspicions / sizeof *suspicions && !inexact; i++)
        if (kf_verdict_has_flag(verdict, suspicions[i].flag)) {
            kf_buffer_string(text, suspicions[i].next);
            return true;
        }
    if (!output) return false;
    if (!inexact && name_unwritten(output, text)) return true;
    const char *cause = kf_mismatch_cause(output->figures.pattern, inexact);
    if (cause) kf_buffer_string(text, cause);
    return cause != NULL;
}

/* Names the kernel and the limit of a launch that the CPU device refuses. */
static bool step_of_launch(const char *text, kf_buffer *step)
{
    const char *kernel = strstr(text, ": kernel "), *size = kernel ? strstr(kernel, " <<<") : NULL,
               *limit = size ? strstr(size, ">>>: ") : NULL;
    if (!limit || strchr(limit, '\n')) return false;
    kernel += strlen(": kernel ");
    kf_buffer_format(step, "Change the launch of %.*s: %s.", (int)(size - kernel), kernel,
                     limit + strlen(">>>: "));
    return true;
}

/* Appends the step of a finding that is not about the build. */
static void step_of_finding(const kf_verdict *verdict, const decision *d, kf_buffer *text)
{
    const char *rule = d->finding ? d->finding->rule : "", *step = NULL;
    bool is_output = strcmp(rule, "output.mismatch") == 0 || strcmp(rule, "output.inaccurate") == 0;
    if (is_output && step_of_wrong_output(verdict, d, text)) return;
    if (strcmp(rule, "device.error") == 0 && step_of_launch(d->finding->text, text)) return;
    if (strcmp(rule, "runner.crashed") == 0 && !takes_asan(verdict)) rule = "";
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !step; i++)
        if (strcmp(rule, steps[i].rule) == 0) step = steps[i].next;
    kf_buffer_string(text, step ? step : step_of_status(verdict));
}

/* Appends the step for data on which a correct candidate fails. Other sizes are left out, because a
 * candidate may be for the given sizes only. False if it fails on none. */
static bool step_of_unseen_data(const kf_verdict *verdict, kf_buffer *text)
{
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        for (size_t k = 0; k < w->finding_count; k++) {
            const kf_finding *finding = &w->findings[k];
            if (w->unseen != KF_UNSEEN_DATA || w->status == KF_CORRECT ||
                finding->status != w->status || finding->blame != KF_BLAME_CANDIDATE)
                continue;
            kf_autobuffer step = {0};
            step_of_finding(verdict, &(decision){finding, w}, &step);
            if (!step.size) return false;
            step.data[0] = (char)tolower((unsigned char)step.data[0]);
            kf_buffer_format(text, "For workload %s, %s", w->workload, step.data);
            return true;
        }
    }
    return false;
}

static void step_of_build(const kf_verdict *verdict, const kf_finding *finding, kf_buffer *text)
{
    kf_source_error error;
    if (verdict->blame == KF_BLAME_MACHINE && verdict->status == KF_JUDGE_ERROR)
        kf_buffer_string(text, "Run `kforge doctor`, then judge the same source again.");
    else if (verdict->status == KF_UNSUPPORTED_DEVICE && kf_verdict_errors(verdict, &error, 1))
        kf_buffer_format(text, "Replace the construct in line %ld, or judge on a GPU.", error.line);
    else if (strstr(finding->text, "does not define") ||
             strstr(finding->text, ". Define extern \"C\" "))
        kf_buffer_format(text,
                         "Define the entry exactly as the task's prototype, which `kforge task "
                         "show %s` prints.",
                         verdict->task);
    else if (strstr(finding->text, "undefined reference"))
        kf_buffer_string(text, "Define the missing symbol, or remove its use.");
    else if (strstr(finding->text, "went over a limit"))
        kf_buffer_string(text, "Make the source simpler: fewer templates and less unrolling.");
    else if (kf_verdict_errors(verdict, &error, 1))
        kf_buffer_format(text, "Fix line %ld first.", error.line);
    else
        kf_buffer_string(text, step_of_status(verdict));
}

/* Returns the timed workload that is furthest from the device's least time, or NULL. */
static const kf_workload_verdict *furthest(const kf_verdict *verdict, double *ratio)
{
    const kf_workload_verdict *worst = NULL;
    *ratio = 0;
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        double r = w->floor_seconds > 0 ? w->candidate_seconds / w->floor_seconds : NAN;
        if (!w->timed || !(r > *ratio)) continue;
        *ratio = r;
        worst = w;
    }
    return worst;
}

/* Returns the timed workload with the lowest speedup, or NULL. */
static const kf_workload_verdict *slowest(const kf_verdict *verdict)
{
    const kf_workload_verdict *worst = NULL;
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (!w->timed || isnan(w->speedup.value)) continue;
        if (!worst || w->speedup.value < worst->speedup.value) worst = w;
    }
    return worst;
}

static bool has_flag_with(const kf_verdict *verdict, const char *prefix)
{
    for (size_t i = 0; i < verdict->flag_count; i++)
        if (strncmp(verdict->flags[i], prefix, strlen(prefix)) == 0) return true;
    return false;
}

static kf_next_action step_of_correct(const kf_verdict *verdict, kf_buffer *text)
{
    double ratio;
    const kf_workload_verdict *far = furthest(verdict, &ratio), *slow = slowest(verdict);
    const char *throttled = kf_throttling_find(verdict);
    if (step_of_unseen_data(verdict, text)) return KF_NEXT_NOTHING;
    if (isnan(verdict->speedup.value) && !kf_verdict_was_timed(verdict)) {
        kf_buffer_string(text, "Time it: its results are right.");
        return KF_NEXT_TIME;
    }
    if (isnan(verdict->speedup.value)) {
        kf_buffer_string(text, "Measure again with a larger --seconds: a call is shorter than this "
                               "machine's timing noise.");
        return KF_NEXT_LONGER;
    }
    if (throttled && kf_throttling_next(throttled, text)) return KF_NEXT_NOTHING;
    if (has_flag_with(verdict, "verify.disagrees")) {
        kf_buffer_string(text, "Measure again on a quiet machine: two measurements disagree.");
        return KF_NEXT_LONGER;
    }
    if (!(verdict->speedup.high <= WIDE * verdict->speedup.low)) {
        kf_buffer_string(text, "Measure again with a larger --seconds on a quiet machine: the "
                               "interval is too wide.");
        return KF_NEXT_LONGER;
    }
    if (far && ratio <= NEAR_FLOOR) {
        kf_buffer_format(text,
                         "Stop here: every workload is within %.0f %% of the device's least "
                         "time.",
                         100 * (NEAR_FLOOR - 1));
        return KF_NEXT_NOTHING;
    }
    if (far) {
        kf_buffer_format(text, "Profile workload %s: it takes %.3g times the device's least time.",
                         far->workload, ratio);
        return KF_NEXT_PROFILE;
    }
    if (slow) {
        kf_buffer_format(text,
                         "Profile workload %s: it gains least, with %.3g times the baseline's "
                         "speed.",
                         slow->workload, slow->speedup.value);
        return KF_NEXT_PROFILE;
    }
    kf_buffer_string(text, "Measure again with more seconds.");
    return KF_NEXT_LONGER;
}

kf_next_action kf_verdict_next_action(const kf_verdict *verdict)
{
    kf_autobuffer text = {0};
    decision d = decide(verdict);
    if (verdict->status == KF_CORRECT) return step_of_correct(verdict, &text);
    return d.finding && strcmp(d.finding->rule, "runner.crashed") == 0 && takes_asan(verdict)
               ? KF_NEXT_ADDRESS
               : KF_NEXT_NOTHING;
}

char *kf_verdict_next(const kf_verdict *verdict)
{
    kf_autobuffer text = {0};
    if (verdict->status == KF_CORRECT) {
        step_of_correct(verdict, &text);
        return kf_buffer_take(&text);
    }
    decision d = decide(verdict);
    const char *throttled = kf_throttling_find(verdict);
    bool built = !d.finding || (strcmp(d.finding->rule, "build.failed") != 0 &&
                                verdict->status != KF_COMPILE_ERROR);
    bool disturbed = d.finding && strcmp(d.finding->rule, "baseline.disturbed") == 0;
    if (!built)
        step_of_build(verdict, d.finding, &text);
    else if (!disturbed || !throttled || !kf_throttling_next(throttled, &text))
        step_of_finding(verdict, &d, &text);
    return kf_buffer_take(&text);
}

/* ---- the brief verdict ----------------------------------------------------------------------- */

/* Adds a figure in four digits, or null. */
static bool add_digits(cJSON *array, double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.4g", value);
    cJSON *item = isfinite(value) ? cJSON_CreateNumber(strtod(digits, NULL)) : cJSON_CreateNull();
    if (cJSON_AddItemToArray(array, item)) return true;
    cJSON_Delete(item);
    return false;
}

static bool add_speedup(cJSON *json, const kf_verdict *verdict)
{
    const kf_interval *s = &verdict->speedup;
    if (verdict->status != KF_CORRECT || isnan(s->value))
        return cJSON_AddNullToObject(json, "speedup") != NULL;
    cJSON *array = cJSON_AddArrayToObject(json, "speedup");
    return array && add_digits(array, s->value) && add_digits(array, s->low) &&
           add_digits(array, s->high);
}

/* Adds a text of at most `most` bytes. */
static bool add_cut(cJSON *json, const char *key, char *text, size_t most)
{
    if (!text) return false;
    cut(text, most);
    return cJSON_AddStringToObject(json, key, text) != NULL;
}

static bool add_errors(cJSON *json, const kf_verdict *verdict)
{
    kf_source_error errors[KF_BRIEF_ERRORS];
    size_t count = kf_verdict_errors(verdict, errors, KF_BRIEF_ERRORS);
    cJSON *array = cJSON_AddArrayToObject(json, "errors");
    for (size_t i = 0; i < count && array; i++) {
        cJSON *row = cJSON_CreateObject();
        if (!cJSON_AddItemToArray(array, row)) {
            cJSON_Delete(row);
            return false;
        }
        if (!cJSON_AddNumberToObject(row, "line", (double)errors[i].line) ||
            !(errors[i].column ? cJSON_AddNumberToObject(row, "col", (double)errors[i].column)
                               : cJSON_AddNullToObject(row, "col")) ||
            !add_cut(row, "text", errors[i].text, ERROR_BYTES))
            return false;
    }
    return array != NULL;
}

/* The errors say what the compiler says: the summary only counts them. */
static char *brief_summary(const kf_verdict *verdict)
{
    kf_source_error errors[KF_BRIEF_ERRORS + 1];
    size_t count = kf_verdict_errors(verdict, errors, KF_BRIEF_ERRORS + 1);
    char *text = NULL;
    if (!count) return kf_verdict_summary(verdict);
    if (verdict->status == KF_UNSUPPORTED_DEVICE) return strdup("not supported on the CPU device");
    int size = asprintf(
        &text, "does not compile: %s%zu error%s", count > KF_BRIEF_ERRORS ? "more than " : "",
        count > KF_BRIEF_ERRORS ? (size_t)KF_BRIEF_ERRORS : count, count == 1 ? "" : "s");
    return size < 0 ? NULL : text;
}

cJSON *kf_verdict_brief(const kf_verdict *verdict, const char *candidate)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    kf_autofree char *summary = brief_summary(verdict), *next = kf_verdict_next(verdict);
    char hash[HASH_DIGITS + 1];
    snprintf(hash, sizeof hash, "%s", verdict->source_hash ? verdict->source_hash : "");
    if (!candidate && hash[0]) candidate = hash;
    bool made = json && summary && next &&
                cJSON_AddStringToObject(json, "status", kf_status_name(verdict->status)) &&
                cJSON_AddBoolToObject(json, "ok", verdict->status == KF_CORRECT) &&
                add_speedup(json, verdict) && add_cut(json, "summary", summary, SUMMARY_BYTES) &&
                add_errors(json, verdict) && cJSON_AddStringToObject(json, "next", next) &&
                (candidate ? cJSON_AddStringToObject(json, "candidate", candidate)
                           : cJSON_AddNullToObject(json, "candidate"));
    return made ? kf_steal(&json) : NULL;
}

cJSON *kf_brief_no_source(const char *why)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    kf_autofree char *summary = strdup(why);
    bool made = json && cJSON_AddStringToObject(json, "status", KF_STATUS_NO_SOURCE) &&
                cJSON_AddFalseToObject(json, "ok") && cJSON_AddNullToObject(json, "speedup") &&
                add_cut(json, "summary", summary, SUMMARY_BYTES) &&
                cJSON_AddArrayToObject(json, "errors") &&
                cJSON_AddStringToObject(
                    json, "next", "Answer with one fenced block that holds the whole source.") &&
                cJSON_AddNullToObject(json, "candidate");
    return made ? kf_steal(&json) : NULL;
}
