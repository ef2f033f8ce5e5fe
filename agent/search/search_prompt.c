/* What a prompt says: the task in words, and the measurements of the parent. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "kforge/roofline.h"
#include "kforge/scan.h"
#include "hardware_card.h"
#include "mismatches.h"
#include "search_internal.h"

/* notes for a summary */
#define SUMMARISED 60
/* most findings of a prompt */
#define FINDINGS 12
/* A larger parent is edited instead of rewritten. */
#define WHOLE_SOURCE_BYTES 12000

/* ---- the task -------------------------------------------------------------------------------- */

/* Copies the family of the device: "cuda" of "cuda:0". */
static void device_family(const kf_search *s, char family[16])
{
    const char *device = s->workers ? kf_workers_device(s->workers) : s->settings->device;
    snprintf(family, 16, "%s", device && *device ? device : "cpu");
    family[strcspn(family, ":")] = '\0';
}

static void word_workloads(const kf_search *s, kf_buffer *out)
{
    char family[16];
    device_family(s, family);
    for (int i = 0; i < kf_task_workload_count(s->task); i++) {
        kf_autofree kf_problem *problem = malloc(sizeof *problem);
        kf_binding bindings[KF_MAX_PARAMS];
        bool applies;
        if (!problem || !kf_task_resolve(s->task, i, family, problem, &applies, NULL) || !applies ||
            problem->hidden)
            continue;
        int count = kf_task_params(s->task, i, family, bindings, NULL);
        if (!out->size)
            kf_buffer_string(out,
                             "| workload | parameters | counts for the speedup |\n|---|---|---|\n");
        kf_buffer_format(out, "| %s | ", problem->workload);
        for (int k = 0; k < count; k++)
            kf_buffer_format(out, "%s%s = %lld", k ? ", " : "", bindings[k].name,
                             (long long)bindings[k].value);
        kf_buffer_format(out, " | %s |\n", problem->timed ? "yes" : "no, correctness only");
    }
}

static void word_tolerance(const kf_search *s, kf_buffer *out)
{
    char family[16];
    device_family(s, family);
    kf_autofree kf_problem *problem = malloc(sizeof *problem);
    bool applies = false;
    for (int i = 0; problem && i < kf_task_workload_count(s->task) && !applies; i++)
        if (!kf_task_resolve(s->task, i, family, problem, &applies, NULL)) return;
    for (int i = 0; applies && i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind != KF_OUTPUT && argument->kind != KF_INOUT) continue;
        const kf_tolerance *t = &argument->tolerance;
        kf_buffer_format(out, "%s%s: ", out->size ? "; " : "", argument->name);
        switch (t->kind) {
        case KF_ERROR_RATIO:
            kf_buffer_format(out,
                             "error against float64 at most %g times the baseline's own, plus one "
                             "unit of rounding",
                             t->ratio);
            break;
        case KF_ALLCLOSE:
            kf_buffer_format(out, "|got - expected| <= %g + %g |expected| for each element",
                             t->atol, t->rtol);
            break;
        case KF_EXACT: kf_buffer_string(out, "exactly equal"); break;
        case KF_ANY_ORDER: kf_buffer_string(out, "the same values in any order"); break;
        }
    }
}

static void word_device(const kf_search *s, kf_buffer *out)
{
    char family[16];
    device_family(s, family);
    kf_buffer_format(out, "%s.",
                     s->workers ? kf_workers_hardware(s->workers) : s->progress.hardware);
    if (strcmp(family, "cpu") == 0)
        kf_buffer_string(
            out,
            " CUDA C++ is compiled for this CPU: blocks are spread over its cores, the threads of "
            "a block run one after the "
            "other between barriers. What helps is little synchronisation, inner loops that the "
            "compiler can vectorise, "
            "and cache reuse. Inline PTX, tensor cores, TMA, clusters and textures are not there.");
}

static void word_forbidden(const kf_search *s, kf_buffer *out)
{
    const cJSON *text;
    cJSON_ArrayForEach(text, cJSON_GetObjectItemCaseSensitive(kf_task_json(s->task), "forbidden"))
        kf_buffer_format(out, "%s`%s`", out->size ? ", " : "", text->valuestring);
}

static void word_libraries(const kf_search *s, kf_buffer *out)
{
    for (const char *const *library = kf_task_libraries(s->task); *library; library++)
        kf_buffer_format(out, "%s%s", out->size ? ", " : "", *library);
}

/* ---- the candidate under discussion ---------------------------------------------------------- */

static void word_workload_figures(const kf_search *s, const kf_verdict *verdict, kf_buffer *out)
{
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (!(w->candidate_seconds > 0) || kf_task_hides(s->task, w->workload)) continue;
        kf_buffer_format(out, "%s: %.4g us a call, baseline %.4g us", w->workload,
                         w->candidate_seconds * 1e6, w->baseline_seconds * 1e6);
        if (w->speedup.value > 0) kf_buffer_format(out, ", speedup %.3f", w->speedup.value);
        if (w->floor_seconds > 0)
            kf_buffer_format(out,
                             "; memory and arithmetic alone need %.4g us (%.0f %% of the time)",
                             w->floor_seconds * 1e6, 100 * w->floor_seconds / w->candidate_seconds);
        kf_buffer_string(out, "\n");
    }
}

static void word_numbers(const cJSON *object, const char *title, kf_buffer *out)
{
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, object)
    {
        if (!cJSON_IsNumber(item) || strcmp(item->string, "seconds") == 0) continue;
        kf_buffer_format(out, "%s%s %.6g", count++ ? ", " : title, item->string, item->valuedouble);
    }
    if (count) kf_buffer_string(out, "\n");
}

static void word_findings(const kf_finding *findings, size_t count, const char *workload, int *left,
                          kf_buffer *out)
{
    for (size_t i = 0; i<count && * left> 0; i++, --*left) {
        kf_buffer_format(out, "- %s%s%s: %s", workload, *workload ? ": " : "",
                         kf_status_name(findings[i].status), findings[i].text);
        if (!isnan(findings[i].measured))
            kf_buffer_format(out, " (measured %g", findings[i].measured);
        if (!isnan(findings[i].measured) && !isnan(findings[i].limit))
            kf_buffer_format(out, ", limit %g", findings[i].limit);
        kf_buffer_string(out, isnan(findings[i].measured) ? "\n" : ")\n");
    }
}

/* Returns where an error with this first index is likely to lie. */
static const char *place_of(int64_t index, int64_t count)
{
    return index == 0           ? " (the very first)"
           : index >= count - 1 ? " (the very last)"
           : index > count / 2  ? " (in the second half)"
                                : "";
}

/* Adds the most likely cause, as a guess. It is the one of `kforge eval`. */
static void word_hint(const kf_workload_verdict *w, const kf_output_check *output, kf_buffer *out)
{
    bool inexact = false;
    size_t length = strlen(output->argument);
    for (size_t i = 0; i < w->finding_count && !inexact; i++)
        inexact = strcmp(w->findings[i].rule, "output.inaccurate") == 0 &&
                  strncmp(w->findings[i].text, output->argument, length) == 0 &&
                  w->findings[i].text[length] == ':';
    const char *cause = kf_mismatch_cause(output->figures.pattern, inexact);
    if (cause) kf_buffer_format(out, "  perhaps: %s\n", cause);
}

static void word_outputs(const kf_workload_verdict *w, kf_buffer *out)
{
    for (size_t k = 0; k < w->output_count; k++) {
        const kf_error_figures *f = &w->outputs[k].figures;
        if (!f->mismatched) continue;
        const char *at =
            f->compared > 0 && f->first_index >= 0 ? place_of(f->first_index, f->compared) : "";
        kf_buffer_format(
            out,
            "- %s: %s: %lld of %lld elements are off (%.3g %%); the first at flat index %lld%s: "
            "expected %.9g, got %.9g%s%s\n",
            w->workload, w->outputs[k].argument, (long long)f->mismatched, (long long)f->compared,
            100.0 * (double)f->mismatched / (double)f->compared, (long long)f->first_index, at,
            f->first_expected, f->first_got, *f->pattern ? "; pattern: " : "", f->pattern);
        kf_buffer_format(out,
                         "  error: %.3g root mean square (allowed %.3g, the baseline has %.3g), "
                         "%.3g at most (allowed %.3g)\n",
                         f->rms, f->allowed_rms, f->baseline_rms, f->max, f->allowed_max);
        word_hint(w, &w->outputs[k], out);
    }
}

const char *kf_search_failure_word(kf_status status)
{
    return status == KF_COMPILE_ERROR || status == KF_UNSUPPORTED_DEVICE ? kf_status_name(status)
                                                                         : "failed";
}

/* Returns the status that visible workloads and the job as a whole would have. That of a hidden
 * workload would tell the author of a candidate something about its shape. */
static kf_status visible_status(const kf_search *s, const kf_verdict *verdict)
{
    kf_status first = KF_CORRECT;
    for (size_t i = 0; i < verdict->finding_count; i++)
        if (verdict->findings[i].status < first) first = verdict->findings[i].status;
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        for (size_t k = 0; k < w->finding_count && !kf_task_hides(s->task, w->workload); k++)
            if (w->findings[k].status < first) first = w->findings[k].status;
    }
    return first;
}

static void word_failure(const kf_search *s, const kf_verdict *verdict, kf_buffer *out)
{
    int left = FINDINGS;
    kf_status status = visible_status(s, verdict);
    if (status == KF_CORRECT && verdict->status != KF_CORRECT)
        kf_buffer_string(out, "failed\n- only in a workload whose shape is not shown\n");
    else
        kf_buffer_format(out, "%s\n", kf_status_name(status));
    word_findings(verdict->findings, verdict->finding_count, "", &left, out);
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (kf_task_hides(s->task, w->workload)) continue;
        word_findings(w->findings, w->finding_count, w->workload, &left, out);
        word_outputs(w, out);
    }
}

typedef struct parent {
    kf_store_candidate candidate;
    kf_verdict *verdict;
    char *source;
} parent;

static void parent_clear(parent *p)
{
    kf_store_clear(&p->candidate);
    kf_verdict_free(p->verdict);
    free(p->source);
}

/* Returns the candidate's source with the values of its tunables, malloc'd. */
static char *source_as_judged(kf_store *store, const kf_store_candidate *candidate, kf_error *error)
{
    kf_autofree char *source = kf_store_source(store, candidate->id, NULL, error);
    if (!source || !*candidate->tunables) return kf_steal(&source);
    kf_tunable_source as_is = {.space = kf_tune_space_read(source, NULL)};
    kf_auto(kf_tune_space) space = as_is.space;
    kf_tune_point point;
    if (!space || !kf_point_read(&as_is, candidate->tunables, &point)) return kf_steal(&source);
    return kf_tune_point_apply(space, &point, source, error);
}

char *kf_search_source(kf_store *store, const char *run, int64_t id, kf_error *error)
{
    kf_autoresult kf_store_candidate candidate = {0};
    return kf_store_get_candidate(store, id, run, &candidate, error)
               ? source_as_judged(store, &candidate, error)
               : NULL;
}

/* Loads a candidate; with `figures` also its verdict. */
static bool load_parent(kf_search *s, int64_t id, bool figures, parent *p, kf_error *error)
{
    if (!kf_store_get_candidate(s->store, id, s->progress.run, &p->candidate, error)) return false;
    p->source = source_as_judged(s->store, &p->candidate, error);
    if (!p->source) return false;
    if (!figures || !p->candidate.verdict) return true;
    size_t size;
    kf_autofree char *text = kf_store_verdict_json(s->store, p->candidate.verdict, &size, error);
    kf_auto(cJSON) json = text ? kf_json_parse(text, size, 0, "verdict", error) : NULL;
    p->verdict = json ? kf_verdict_from_json(json, error) : NULL;
    return p->verdict;
}

static void word_flag(void *context, const kf_scan_flag *flag)
{
    kf_buffer_format(context, "line %ld: %s: %s", flag->line, flag->word, flag->text);
    if (flag->count > 1) kf_buffer_format(context, " (%ld times)", flag->count);
    kf_buffer_string(context, "\n");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static const char *const no_text = "";

static const char *text_of(const kf_buffer *buffer)
{
    return buffer->data ? buffer->data : no_text;
}

static kf_prompt_kind kind_of(kf_step step)
{
    switch (step) {
    case KF_STEP_IMPROVE: return KF_PROMPT_IMPROVE;
    case KF_STEP_REPAIR_BUILD: return KF_PROMPT_REPAIR_BUILD;
    case KF_STEP_REPAIR_WRONG: return KF_PROMPT_REPAIR_WRONG;
    case KF_STEP_CONTRAST: return KF_PROMPT_CONTRAST;
    case KF_STEP_CROSSOVER: return KF_PROMPT_CROSSOVER;
    case KF_STEP_RETHINK: return KF_PROMPT_RETHINK;
    case KF_STEP_CRITIC_OPTIMISE: return KF_PROMPT_CRITIC_OPTIMISE;
    case KF_STEP_CRITIC_REPAIR: return KF_PROMPT_CRITIC_REPAIR;
    case KF_STEP_SUMMARY: return KF_PROMPT_SUMMARY;
    case KF_STEP_EPISODE: return KF_PROMPT_EPISODE;
    default: return KF_PROMPT_FIRST_DRAFT;
    }
}

void kf_search_words(const kf_search *s, const kf_verdict *verdict, kf_buffer *figures,
                     kf_buffer *failure)
{
    if (figures) {
        word_workload_figures(s, verdict, figures);
        word_numbers(verdict->build, "build: ", figures);
        kf_counters_words(verdict->counters, figures);
    }
    word_failure(s, verdict, failure);
}

const kf_task_file *kf_search_baseline(const kf_search *s)
{
    return s->settings->baseline ? kf_task_baseline_named(s->task, s->settings->baseline)
                                 : kf_task_baseline(s->task);
}

static void word_parent(const kf_search *s, const parent *p, kf_prompt_context *context,
                        kf_buffer *figures, kf_buffer *failure)
{
    context->parent.source = p->source;
    context->parent.speedup = p->candidate.speedup;
    kf_edit_policy edits = s->strategy.edits;
    context->edits = edits == KF_EDIT_ALWAYS ||
                     (edits == KF_EDIT_LARGE && strlen(p->source) > WHOLE_SOURCE_BYTES);
    if (!p->verdict) return;
    kf_search_words(s, p->verdict, s->strategy.context.figures ? figures : NULL, failure);
    const cJSON *log = cJSON_GetObjectItemCaseSensitive(p->verdict->build, "log");
    context->parent.build_log =
        cJSON_IsString(log) && *log->valuestring ? log->valuestring : text_of(failure);
    context->parent.figures = text_of(figures);
    context->parent.failure = text_of(failure);
}

static bool add_best(kf_search *s, kf_prompt_context *context, int64_t best, parent *best_parent,
                     kf_error *error)
{
    if (!best) return true;
    if (!load_parent(s, best, false, best_parent, error)) return false;
    context->best.source = best_parent->source;
    return true;
}

/* Further candidates of a prompt, which live as long as the list. */
typedef struct further {
    parent list[1 + 2 * KF_EXEMPLARS];
    size_t count;
} further;

static void further_clear(further *f)
{
    for (size_t i = 0; i < f->count; i++) parent_clear(&f->list[i]);
}

static bool load_further(kf_search *s, further *f, int64_t id, kf_prompt_exemplar *exemplar,
                         kf_error *error)
{
    parent *p = &f->list[f->count++];
    *p = (parent){0};
    if (!load_parent(s, id, false, p, error)) return false;
    *exemplar = (kf_prompt_exemplar){p->source, p->candidate.speedup.value};
    return true;
}

/* Adds exemplars, the other parent of a crossover, and the latest negative examples. */
static bool add_others(kf_search *s, const kf_call *call, kf_prompt_context *context, further *f,
                       kf_error *error)
{
    for (int i = 0; i < call->origin.other_count; i++) {
        kf_prompt_exemplar exemplar;
        if (!load_further(s, f, call->origin.others[i], &exemplar, error)) return false;
        if (call->origin.step == KF_STEP_CROSSOVER) {
            context->other.source = exemplar.source;
            context->other.speedup = exemplar.speedup;
        } else {
            context->exemplars[context->exemplar_count++] = exemplar;
        }
    }
    int64_t first =
        s->selection.negative_count > KF_NEGATIVES ? s->selection.negative_count - KF_NEGATIVES : 0;
    for (int64_t i = s->selection.negative_count - 1;
         i >= first && context->negative_count < s->strategy.context.negatives; i--)
        if (!load_further(s, f, s->selection.negatives[i % KF_NEGATIVES],
                          &context->negatives[context->negative_count++], error))
            return false;
    return true;
}

/* Returns the critic's reply, malloc'd. */
static char *diagnosis_of(kf_search *s, const kf_call *call, kf_error *error)
{
    size_t size;
    if (!call->critic) return strdup("");
    return kf_store_model_call_text(s->store, call->critic, KF_CALL_REPLY, &size, error);
}

static bool shows_best(const kf_search *s, const kf_call *call)
{
    if (!s->strategy.context.best || !s->progress.best || s->progress.best == call->origin.parent ||
        call->origin.step != KF_STEP_IMPROVE)
        return false;
    for (int i = 0; i < call->origin.other_count; i++)
        if (call->origin.others[i] == s->progress.best) return false;
    return true;
}

char *kf_search_prompt(kf_search *s, const kf_call *call, const char *note, kf_error *error)
{
    kf_autobuffer workloads = {0}, tolerance = {0}, device = {0}, libraries = {0}, forbidden = {0},
                  figures = {0}, failure = {0}, notes = {0}, hardware = {0}, flags = {0};
    __attribute__((cleanup(parent_clear))) parent p = {0}, best = {0};
    __attribute__((cleanup(further_clear))) further others = {.count = 0};
    kf_autofree char *prototype = kf_task_prototype(s->task, false),
                     *diagnosis = diagnosis_of(s, call, error);
    if (!prototype || !diagnosis) return kf_fail_memory(error, "a prompt"), NULL;
    word_workloads(s, &workloads);
    word_tolerance(s, &tolerance);
    word_device(s, &device);
    word_libraries(s, &libraries);
    word_forbidden(s, &forbidden);
    kf_hardware_card(s->workers ? kf_workers_hardware(s->workers) : s->progress.hardware,
                     &hardware);
    if (!kf_notes_read(
            s, call->origin.step == KF_STEP_SUMMARY ? SUMMARISED : s->strategy.context.notes,
            &notes, error))
        return NULL;
    char hash[16] = "";
    /* A baseline that is a PyTorch module is no candidate of the search. */
    const kf_task_file *baseline = kf_search_baseline(s);
    kf_prompt_context context = {
        .task.name = kf_task_name(s->task),
        .task.description = kf_task_description(s->task),
        .task.entry = kf_task_entry(s->task),
        .task.prototype = prototype,
        .task.precision = kf_task_precision(s->task),
        .task.tolerance = text_of(&tolerance),
        .task.libraries = text_of(&libraries),
        .task.forbidden = text_of(&forbidden),
        .device = text_of(&device),
        .hardware = text_of(&hardware),
        .task.workloads = text_of(&workloads),
        .task.baseline_source = baseline ? baseline->text : NULL,
        .task.baseline_module = baseline && baseline->kind == KF_SOURCE_TORCH,
        .parent.speedup = {NAN, NAN, NAN},
        .best.speedup = s->progress.best_speedup.value,
        .notes = text_of(&notes),
        .last = note,
        .parent.diagnosis = diagnosis,
        .tokens = s->strategy.context.tokens,
    };
    if (call->origin.parent) {
        if (!load_parent(s, call->origin.parent, true, &p, error)) return NULL;
        snprintf(hash, sizeof hash, "%.12s", p.candidate.hash);
        context.parent.hash = hash;
        word_parent(s, &p, &context, &figures, &failure);
        /* Only critics see the findings of the scan: a proposer would learn what to hide. */
        if (kf_step_is_critic(call->origin.step) && call->origin.step != KF_STEP_SUMMARY &&
            !kf_scan_source(p.source, strlen(p.source), false, word_flag, &flags, error))
            return NULL;
        context.parent.flags = text_of(&flags);
        if (!add_best(s, &context, shows_best(s, call) ? s->progress.best : 0, &best, error))
            return NULL;
    }
    if (!add_others(s, call, &context, &others, error)) return NULL;
    if (workloads.failed || tolerance.failed || device.failed || libraries.failed ||
        forbidden.failed || figures.failed || failure.failed || notes.failed || flags.failed)
        return kf_fail_memory(error, "a prompt"), NULL;
    return kf_prompt_build(kind_of(call->origin.step), &context, s->settings->prompts, error);
}

char *kf_search_system(kf_search *s, kf_error *error)
{
    return kf_prompt_build(KF_PROMPT_SYSTEM,
                           &(kf_prompt_context){.task.name = kf_task_name(s->task),
                                                .task.entry = kf_task_entry(s->task)},
                           s->settings->prompts, error);
}
