/* Verdicts in memory: builds a verdict and computes its status. verdict_json.c has the JSON. */
#include "kforge/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "utf8.h"

/* ---- text ------------------------------------------------------------------------------------ */

/* True for control characters beyond ASCII, and for characters that are invisible or change the
 * direction of text: a terminal then shows another text than the file contains (CVE-2021-42574). */
static bool changes_display(const unsigned char *bytes, size_t length)
{
    unsigned code = length == 2 ? (bytes[0] & 0x1fu) << 6 | (bytes[1] & 0x3fu)
                                : (bytes[0] & 0x0fu) << 12 | (bytes[1] & 0x3fu) << 6 |
                                      (bytes[length - 1] & 0x3fu);
    return length < 4 && ((code >= 0x80 && code < 0xa0) || code == 0x061c || code == 0x200e ||
                          code == 0x200f || code == 0x200b || (code >= 0x2028 && code <= 0x202e) ||
                          (code >= 0x2060 && code <= 0x2069) || code == 0xfeff);
}

char *kf_text_clean(const char *bytes, size_t size, bool one_line)
{
    if (size > (SIZE_MAX - 1) / 3) return NULL;
    /* U+FFFD takes 3 bytes for each byte that it replaces */
    size_t bad = 0;
    for (size_t i = 0, length; i < size; i += length ? length : 1) {
        length = kf_utf8_length((const unsigned char *)bytes + i, size - i);
        bad += length == 0;
    }
    char *text = malloc(size + 2 * bad + 1), *out = text;
    if (!text) return NULL;
    for (size_t i = 0; i < size;) {
        size_t length = kf_utf8_length((const unsigned char *)bytes + i, size - i);
        unsigned char c = (unsigned char)bytes[i];
        if (length == 0) {
            memcpy(out, "\xef\xbf\xbd", 3);
            out += 3, i++;
        } else if (length == 1) {
            bool keep = c >= 0x20 ? c != 0x7f : !one_line && (c == '\n' || c == '\t');
            *out++ = keep ? (char)c : ' ';
            i++;
        } else if (changes_display((const unsigned char *)bytes + i, length)) {
            *out++ = ' ';
            i += length;
        } else {
            memcpy(out, bytes + i, length);
            out += length, i += length;
        }
    }
    *out = '\0';
    return text;
}

static char *clean_line(const char *text)
{
    return kf_text_clean(text, strlen(text), true);
}

__attribute__((format(printf, 1, 0))) static char *format_line(const char *format,
                                                               va_list arguments)
{
    kf_autobuffer buffer = {.limit = 4096};
    kf_buffer_format_va(&buffer, format, arguments);
    /* below the limit a buffer only fails for lack of memory; text beyond the limit is truncated */
    if (buffer.failed && buffer.size < buffer.limit) return NULL;
    return kf_text_clean(buffer.data ? buffer.data : "", buffer.size, true);
}

bool kf_verdict_set_text(char **field, const char *text)
{
    char *copy = clean_line(text);
    if (!copy) return false;
    free(*field);
    *field = copy;
    return true;
}

/* ---- create and free ------------------------------------------------------------------------- */

static const kf_interval unknown_interval = {NAN, NAN, NAN};

static void free_findings(kf_finding *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(findings[i].rule);
        free(findings[i].text);
    }
    free(findings);
}

static void free_workload(kf_workload_verdict *workload)
{
    free(workload->workload);
    free_findings(workload->findings, workload->finding_count);
    for (size_t i = 0; i < workload->output_count; i++) free(workload->outputs[i].argument);
    free(workload->outputs);
    free(workload->samples);
}

void kf_verdict_free(kf_verdict *verdict)
{
    if (!verdict) return;
    free(verdict->id);
    free(verdict->task);
    free(verdict->task_hash);
    free(verdict->source_hash);
    free(verdict->binary_hash);
    free(verdict->code_hash);
    free(verdict->device);
    free(verdict->message);
    free_findings(verdict->findings, verdict->finding_count);
    for (size_t i = 0; i < verdict->workload_count; i++) free_workload(&verdict->workloads[i]);
    free(verdict->workloads);
    for (size_t i = 0; i < verdict->flag_count; i++) free(verdict->flags[i]);
    free(verdict->flags);
    cJSON_Delete(verdict->build);
    cJSON_Delete(verdict->counters);
    cJSON_Delete(verdict->kernelbench);
    cJSON_Delete(verdict->provenance);
    free(verdict);
}

kf_verdict *kf_verdict_new(const char *id, const char *task, const char *device)
{
    kf_auto(kf_verdict) verdict = calloc(1, sizeof *verdict);
    if (!verdict) return NULL;
    verdict->status = KF_JUDGE_ERROR;
    verdict->blame = KF_BLAME_JUDGE;
    verdict->speedup = unknown_interval;
    bool made = kf_verdict_set_text(&verdict->id, id) &&
                kf_verdict_set_text(&verdict->task, task) &&
                kf_verdict_set_text(&verdict->device, device) &&
                kf_verdict_set_text(&verdict->task_hash, "") &&
                kf_verdict_set_text(&verdict->source_hash, "") &&
                kf_verdict_set_text(&verdict->binary_hash, "") &&
                kf_verdict_set_text(&verdict->code_hash, "") &&
                kf_verdict_set_text(&verdict->message, "not judged");
    return made ? kf_steal(&verdict) : NULL;
}

/* ---- appending ------------------------------------------------------------------------------- */

/* Makes room for one more element of `size` bytes in *array, which grows at powers of two. Returns
 * the new element, zeroed, or NULL without memory. */
static void *append(void *array_pointer, size_t count, size_t size)
{
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    if ((count & (count - 1)) == 0) {
        size_t capacity = count ? 2 * count : 1;
        if (capacity > SIZE_MAX / size) return NULL;
        array = realloc(array, capacity * size);
        if (!array) return NULL;
        memcpy(array_pointer, &array, sizeof array);
    }
    return memset((char *)array + count * size, 0, size);
}

kf_workload_verdict *kf_verdict_add_workload(kf_verdict *verdict, const char *workload, bool timed)
{
    kf_autofree char *name = clean_line(workload);
    kf_workload_verdict *added =
        name ? append(&verdict->workloads, verdict->workload_count, sizeof *added) : NULL;
    if (!added) return NULL;
    *added = (kf_workload_verdict){.workload = kf_steal(&name),
                                   .timed = timed,
                                   .status = KF_JUDGE_ERROR,
                                   .speedup = unknown_interval,
                                   .baseline_seconds = NAN,
                                   .candidate_seconds = NAN,
                                   .latency_speedup = unknown_interval,
                                   .latency_baseline_seconds = NAN,
                                   .latency_candidate_seconds = NAN,
                                   .batch_cost_seconds = NAN};
    verdict->workload_count++;
    return added;
}

kf_finding *kf_verdict_add_finding(kf_verdict *verdict, kf_workload_verdict *workload,
                                   kf_status status, kf_blame blame, const char *rule,
                                   double measured, double limit, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kf_autofree char *text = format_line(format, arguments);
    va_end(arguments);
    kf_autofree char *rule_copy = clean_line(rule);
    if (!text || !rule_copy) return NULL;
    kf_finding **findings = workload ? &workload->findings : &verdict->findings;
    size_t *count = workload ? &workload->finding_count : &verdict->finding_count;
    kf_finding *added = append(findings, *count, sizeof *added);
    if (!added) return NULL;
    *added = (kf_finding){status, blame, kf_steal(&rule_copy), kf_steal(&text), measured, limit};
    (*count)++;
    return added;
}

void kf_workload_drop_finding(kf_workload_verdict *workload)
{
    kf_finding *last = &workload->findings[--workload->finding_count];
    free(last->rule);
    free(last->text);
}

kf_output_check *kf_workload_add_output(kf_workload_verdict *workload, const char *argument)
{
    kf_autofree char *name = clean_line(argument);
    kf_output_check *added =
        name ? append(&workload->outputs, workload->output_count, sizeof *added) : NULL;
    if (!added) return NULL;
    added->argument = kf_steal(&name);
    added->figures.first_index = -1;
    workload->output_count++;
    return added;
}

bool kf_workload_add_sample(kf_workload_verdict *workload, const kf_sample *sample)
{
    kf_sample *added = append(&workload->samples, workload->sample_count, sizeof *added);
    if (!added) return false;
    *added = *sample;
    workload->sample_count++;
    return true;
}

bool kf_verdict_has_flag(const kf_verdict *verdict, const char *flag)
{
    for (size_t i = 0; i < verdict->flag_count; i++)
        if (strcmp(verdict->flags[i], flag) == 0) return true;
    return false;
}

bool kf_verdict_add_flag(kf_verdict *verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kf_autofree char *flag = format_line(format, arguments);
    va_end(arguments);
    if (!flag) return false;
    if (kf_verdict_has_flag(verdict, flag)) return true;
    char **added = append(&verdict->flags, verdict->flag_count, sizeof *added);
    if (!added) return false;
    *added = kf_steal(&flag);
    verdict->flag_count++;
    return true;
}

/* ---- generalisation -------------------------------------------------------------------------- */

static const char *const unseen_names[KF_UNSEEN_COUNT] = {"", "sizes", "data"};

const char *kf_unseen_name(kf_unseen unseen)
{
    return unseen_names[unseen];
}

bool kf_unseen_parse(const char *name, kf_unseen *unseen)
{
    for (int i = KF_UNSEEN_SIZES; i < KF_UNSEEN_COUNT; i++)
        if (strcmp(name, unseen_names[i]) == 0) return *unseen = (kf_unseen)i, true;
    return false;
}

bool kf_finding_decides(const kf_workload_verdict *workload, const kf_finding *finding)
{
    return !workload->unseen || finding->status == KF_CHEATING;
}

/* What an unseen workload shows. */
typedef enum shown { GENERALISES, GIVEN_ONLY, UNJUDGED, SHOWN_COUNT } shown;

static const char *const unseen_flags[KF_UNSEEN_COUNT][SHOWN_COUNT] = {
    [KF_UNSEEN_SIZES] = {"sizes.generalise", "sizes.given_only", "sizes.unjudged"},
    [KF_UNSEEN_DATA] = {"data.generalise", "data.given_only", "data.unjudged"},
};

static shown shown_by(const kf_workload_verdict *workload)
{
    if (workload->status == KF_CORRECT) return GENERALISES;
    for (size_t i = 0; i < workload->finding_count; i++)
        if (workload->findings[i].status == workload->status &&
            workload->findings[i].blame == KF_BLAME_CANDIDATE)
            return GIVEN_ONLY;
    return UNJUDGED;
}

/* Sets the flags of a correct verdict. Without memory some are missing. */
static void flag_unseen(kf_verdict *verdict)
{
    for (int kind = KF_UNSEEN_SIZES; kind < KF_UNSEEN_COUNT; kind++) {
        size_t count = 0, passed = 0;
        for (int i = 0; i < SHOWN_COUNT; i++) /* names may have changed */
            kf_verdict_remove_flags(verdict, unseen_flags[kind][i]);
        for (size_t i = 0; i < verdict->workload_count; i++) {
            const kf_workload_verdict *w = &verdict->workloads[i];
            if ((int)w->unseen != kind) continue;
            shown what = shown_by(w);
            count++;
            passed += what == GENERALISES;
            if (what != GENERALISES)
                kf_verdict_add_flag(verdict, "%s:%s", unseen_flags[kind][what], w->workload);
        }
        if (count && passed == count)
            kf_verdict_add_flag(verdict, "%s", unseen_flags[kind][GENERALISES]);
    }
}

/* Appends to which unseen workloads of one kind a candidate generalises. */
static void describe_unseen(const kf_verdict *verdict, kf_unseen kind, bool named, kf_buffer *text)
{
    size_t count = 0, failed = 0, passed = 0;
    kf_autobuffer names = {0};
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (w->unseen != kind) continue;
        shown what = shown_by(w);
        count++;
        passed += what == GENERALISES;
        if (what == GIVEN_ONLY) kf_buffer_format(&names, "%s%s", failed++ ? ", " : "", w->workload);
    }
    if (!count) return;
    const char *between = text->size ? "; " : "", *name = unseen_names[kind];
    if (failed)
        kf_buffer_format(text, "%snot to other %s%s%s%s", between, name, named ? " (" : "",
                         named ? names.data : "", named ? ")" : "");
    else if (passed == count)
        kf_buffer_format(text, "%sto other %s", between, name);
    else
        kf_buffer_format(text, "%sto other %s: not all judged", between, name);
}

char *kf_verdict_generalises(const kf_verdict *verdict, bool names)
{
    kf_autobuffer text = {0};
    for (int kind = KF_UNSEEN_SIZES; kind < KF_UNSEEN_COUNT; kind++)
        describe_unseen(verdict, (kf_unseen)kind, names, &text);
    if (kf_verdict_has_flag(verdict, KF_FLAG_SIZES_FIXED))
        kf_buffer_format(&text, "%ssizes are fixed by the signature", text.size ? "; " : "");
    if (!text.size) kf_buffer_string(&text, "");
    return kf_buffer_take(&text);
}

void kf_verdict_remove_flags(kf_verdict *verdict, const char *prefix)
{
    size_t kept = 0;
    for (size_t i = 0; i < verdict->flag_count; i++)
        if (strncmp(verdict->flags[i], prefix, strlen(prefix)) == 0)
            free(verdict->flags[i]);
        else
            verdict->flags[kept++] = verdict->flags[i];
    verdict->flag_count = kept;
}

/* ---- conclusion ------------------------------------------------------------------------------ */

/* Returns the first finding with the lowest status. Findings with status KF_CORRECT are notes. NULL
 * if there are no others. */
static const kf_finding *deciding_finding(const kf_finding *findings, size_t count)
{
    const kf_finding *deciding = NULL;
    for (size_t i = 0; i < count; i++)
        if (findings[i].status < (deciding ? deciding->status : KF_CORRECT))
            deciding = &findings[i];
    return deciding;
}

/* Adds a finding for mismatched elements, unless the judge added one. False without memory. */
static bool add_mismatch_findings(kf_verdict *verdict, kf_workload_verdict *workload)
{
    for (size_t i = 0; i < workload->finding_count; i++)
        if (workload->findings[i].status <= KF_CHEATING) return true;
    for (size_t i = 0; i < workload->output_count; i++) {
        const kf_error_figures *f = &workload->outputs[i].figures;
        if (f->mismatched <= 0) continue;
        bool rms = isfinite(f->allowed_rms) && f->rms > f->allowed_rms;
        if (!kf_verdict_add_finding(
                verdict, workload, KF_WRONG_RESULT, KF_BLAME_CANDIDATE, "output.mismatch",
                rms ? f->rms : f->max, rms ? f->allowed_rms : f->allowed_max,
                "output %s: %lld of %lld elements are wrong%s%s%s; first at %lld: expected %.9g, "
                "got %.9g",
                workload->outputs[i].argument, (long long)f->mismatched, (long long)f->compared,
                f->pattern[0] ? " (" : "", f->pattern, f->pattern[0] ? ")" : "",
                (long long)f->first_index, f->first_expected, f->first_got))
            return false;
    }
    return true;
}

static void settle_workload(kf_verdict *verdict, kf_workload_verdict *workload)
{
    bool added = add_mismatch_findings(verdict, workload);
    const kf_finding *finding = deciding_finding(workload->findings, workload->finding_count);
    if (finding)
        workload->status = finding->status;
    else if (workload->status != KF_CORRECT || !added)
        workload->status = KF_JUDGE_ERROR;
}

static kf_interval combined_speedup(const kf_verdict *verdict)
{
    kf_autofree kf_interval *speedups = calloc(verdict->workload_count + 1, sizeof *speedups);
    if (!speedups) return unknown_interval;
    size_t count = 0;
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].timed) speedups[count++] = verdict->workloads[i].speedup;
    return kf_speedup_combine(speedups, count);
}

const char *kf_verdict_first_rule(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].finding_count) return verdict->workloads[i].findings[0].rule;
    return verdict->finding_count ? verdict->findings[0].rule : "";
}

bool kf_verdict_was_timed(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].timed && verdict->workloads[i].pairs > 0) return true;
    return false;
}

static void describe_correct(const kf_verdict *verdict, kf_buffer *message)
{
    const kf_interval *s = &verdict->speedup;
    if (isnan(s->value)) {
        kf_buffer_string(message, kf_verdict_was_timed(verdict)
                                      ? "correct; no speedup: the calls took less time than the "
                                        "machine's noise; judge it again while the machine is "
                                        "idle, or give the task larger sizes"
                                      : "correct; speed not measured");
        return;
    }
    kf_buffer_format(message, "correct; %.3g times the baseline's speed", s->value);
    if (isnan(s->low) || isnan(s->high))
        kf_buffer_string(message, " (too few measurements for an interval)");
    else if (s->low > 1)
        kf_buffer_format(message, " (95 %% interval %.4g to %.4g: faster)", s->low, s->high);
    else if (s->high < 1)
        kf_buffer_format(message, " (95 %% interval %.4g to %.4g: slower)", s->low, s->high);
    else
        kf_buffer_format(message, " (95 %% interval %.4g to %.4g: no difference shown)", s->low,
                         s->high);
}

static size_t count_findings(const kf_verdict *verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < verdict->finding_count; i++)
        count += verdict->findings[i].status != KF_CORRECT;
    for (size_t k = 0; k < verdict->workload_count; k++) {
        const kf_workload_verdict *w = &verdict->workloads[k];
        for (size_t i = 0; i < w->finding_count; i++)
            count += w->findings[i].status != KF_CORRECT && kf_finding_decides(w, &w->findings[i]);
    }
    return count;
}

static void describe_finding(const kf_verdict *verdict, const char *workload,
                             const kf_finding *finding, kf_buffer *message)
{
    for (const char *c = kf_status_name(finding->status); *c; c++)
        kf_buffer_append(message, *c == '_' ? " " : c, 1);
    if (workload) kf_buffer_format(message, " in workload \"%s\"", workload);
    kf_buffer_format(message, ": %s", finding->text);
    if (finding->blame != KF_BLAME_CANDIDATE && finding->blame != KF_BLAME_NOBODY)
        kf_buffer_format(message, " (the %s's fault, not the candidate's)",
                         kf_blame_name(finding->blame));
    size_t more = count_findings(verdict) - 1;
    if (more) kf_buffer_format(message, " (and %zu more finding%s)", more, more > 1 ? "s" : "");
}

/* Sets the status from the workloads, because there is no finding. */
static void conclude_without_findings(kf_verdict *verdict, kf_buffer *message)
{
    const kf_workload_verdict *worst = NULL;
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (!verdict->workloads[i].unseen &&
            (!worst || verdict->workloads[i].status < worst->status))
            worst = &verdict->workloads[i];
    verdict->status = worst ? worst->status : KF_JUDGE_ERROR;
    verdict->blame = verdict->status == KF_CORRECT ? KF_BLAME_NOBODY : KF_BLAME_JUDGE;
    if (!worst)
        kf_buffer_string(
            message,
            "judge error: no workload was judged, and no finding explains it; please report this");
    else if (verdict->status != KF_CORRECT)
        kf_buffer_format(message,
                         "judge error: workload \"%s\" was not judged, and no finding explains it; "
                         "please report this",
                         worst->workload);
}

void kf_verdict_conclude(kf_verdict *verdict)
{
    const kf_finding *deciding = deciding_finding(verdict->findings, verdict->finding_count);
    const char *workload = NULL;
    for (size_t i = 0; i < verdict->workload_count; i++) {
        kf_workload_verdict *w = &verdict->workloads[i];
        settle_workload(verdict, w);
        for (size_t k = 0; k < w->finding_count; k++) {
            const kf_finding *finding = &w->findings[k];
            if (!kf_finding_decides(w, finding) ||
                finding->status >= (deciding ? deciding->status : KF_CORRECT))
                continue;
            deciding = finding;
            workload = w->workload;
        }
    }
    kf_autobuffer message = {.limit = 8192};
    if (deciding) {
        verdict->status = deciding->status;
        verdict->blame = deciding->blame;
        describe_finding(verdict, workload, deciding, &message);
    } else {
        conclude_without_findings(verdict, &message);
    }
    verdict->speedup = verdict->status == KF_CORRECT ? combined_speedup(verdict) : unknown_interval;
    if (verdict->status == KF_CORRECT) {
        describe_correct(verdict, &message);
        flag_unseen(verdict);
        kf_autofree char *general = kf_verdict_generalises(verdict, true);
        if (general && *general) kf_buffer_format(&message, "; generalises: %s", general);
    }
    /* without memory the message becomes empty, and the status stays correct */
    if (!kf_verdict_set_text(&verdict->message,
                             message.data ? message.data : kf_status_name(verdict->status)) &&
        verdict->message)
        verdict->message[0] = '\0';
}
