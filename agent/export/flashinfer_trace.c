#include "flashinfer_trace.h"

#include <math.h>
#include <string.h>

#include "kforge/json.h"

static const char *status_of(const kf_flashinfer_trace *t)
{
    const kf_workload_verdict *w = t->workload;
    switch (w ? w->status : t->status) {
    case KF_CORRECT: return "PASSED";
    case KF_COMPILE_ERROR: return "COMPILE_ERROR";
    case KF_TIMEOUT: return "TIMEOUT";
    case KF_CHEATING: return t->sol_execbench ? "REWARD_HACK" : "RUNTIME_ERROR";
    case KF_WRONG_RESULT: return w && w->output_count ? "INCORRECT_NUMERICAL" : "RUNTIME_ERROR";
    default: return "RUNTIME_ERROR";
    }
}

static bool add_correctness(cJSON *evaluation, const kf_workload_verdict *w)
{
    double most = 0;
    for (size_t i = 0; i < w->output_count; i++)
        if (!(w->outputs[i].figures.max <= most)) most = w->outputs[i].figures.max;
    cJSON *object = cJSON_AddObjectToObject(evaluation, "correctness");
    if (!object) return false;
    /* kforge has no relative error, and the format knows "NaN". */
    return cJSON_AddStringToObject(object, "max_relative_error", "NaN") &&
           (isfinite(most) ? cJSON_AddNumberToObject(object, "max_absolute_error", most)
                           : cJSON_AddStringToObject(object, "max_absolute_error", "NaN"));
}

static bool add_performance(cJSON *evaluation, const kf_workload_verdict *w)
{
    cJSON *object = cJSON_AddObjectToObject(evaluation, "performance");
    return object && cJSON_AddNumberToObject(object, "latency_ms", w->candidate_seconds * 1e3) &&
           cJSON_AddNumberToObject(object, "reference_latency_ms", w->baseline_seconds * 1e3) &&
           cJSON_AddNumberToObject(object, "speedup_factor", w->speedup.value);
}

static cJSON *evaluation_of(const kf_flashinfer_trace *t)
{
    char stamp[32];
    struct tm utc;
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t->when, &utc));
    const char *status = status_of(t);
    kf_auto(cJSON) object = cJSON_CreateObject();
    cJSON *environment = NULL;
    bool made =
        cJSON_AddStringToObject(object, "status", status) &&
        cJSON_AddStringToObject(object, "timestamp", stamp) &&
        cJSON_AddStringToObject(object, "log", t->summary) &&
        (environment = cJSON_AddObjectToObject(object, "environment")) &&
        cJSON_AddStringToObject(environment, "hardware", *t->hardware ? t->hardware : "unknown") &&
        cJSON_AddObjectToObject(environment, "libs");
    bool passed = strcmp(status, "PASSED") == 0;
    if (made && (passed || strcmp(status, "INCORRECT_NUMERICAL") == 0))
        made = add_correctness(object, t->workload);
    if (made && passed) made = add_performance(object, t->workload);
    return made ? kf_steal(&object) : NULL;
}

static cJSON *workload_of(const kf_flashinfer_trace *t)
{
    if (t->given) return cJSON_Duplicate(t->given, true);
    kf_auto(cJSON) workload = cJSON_CreateObject();
    bool made =
        cJSON_AddStringToObject(workload, "uuid", t->workload ? t->workload->workload : "all") &&
        cJSON_AddObjectToObject(workload, "axes") && cJSON_AddObjectToObject(workload, "inputs");
    return made ? kf_steal(&workload) : NULL;
}

bool kf_flashinfer_has_trace(const kf_workload_verdict *w)
{
    if (w->unseen) return false;
    return w->status == KF_CORRECT ? w->speedup.value > 0 : w->finding_count > 0;
}

cJSON *kf_flashinfer_trace_json(const kf_flashinfer_trace *t)
{
    kf_auto(cJSON) trace = cJSON_CreateObject();
    cJSON *evaluation = evaluation_of(t), *workload = workload_of(t);
    if (!evaluation || !cJSON_AddItemToObject(trace, "evaluation", evaluation)) {
        cJSON_Delete(evaluation);
        cJSON_Delete(workload);
        return NULL;
    }
    if (!workload || !cJSON_AddItemToObject(trace, "workload", workload)) {
        cJSON_Delete(workload);
        return NULL;
    }
    bool made = cJSON_AddStringToObject(trace, "definition", t->definition) &&
                cJSON_AddStringToObject(trace, "solution", t->solution);
    return made ? kf_steal(&trace) : NULL;
}
