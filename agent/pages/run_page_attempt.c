/* One attempt with all its texts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kforge/json.h"
#include "output.h"
#include "page_internal.h"
#include "run_page.h"
#include "search.h"
#include "text_diff.h"

/* Most bytes of a text, and most lines around a change. */
#define TEXT_BYTES (512u << 10)
#define CONTEXT 5

kf_verdict *kf_page_verdict(kf_store *store, int64_t id)
{
    size_t size;
    kf_autofree char *text = id ? kf_store_verdict_json(store, id, &size, NULL) : NULL;
    kf_auto(cJSON) json =
        text ? kf_json_parse(text, size, KF_STORE_BLOB_BYTES, "verdict in the store", NULL) : NULL;
    return json ? kf_verdict_from_json(json, NULL) : NULL;
}

/* Returns the source with the values of its tunables as defaults, else as it is stored. */
static char *source_of(kf_store *store, const char *run, int64_t candidate, kf_error *error)
{
    kf_error why = {0};
    char *source = kf_search_source(store, run, candidate, &why);
    return source ? source : kf_store_source(store, candidate, NULL, error);
}

/* Adds a text of any bytes, cut at the limit. */
static void add_bytes(cJSON *object, const char *key, const char *text, size_t size)
{
    kf_autofree char *clean = kf_text_clean(text, size < TEXT_BYTES ? size : TEXT_BYTES, false);
    if (!size || !clean) return;
    cJSON_AddStringToObject(object, key, clean);
    if (size > TEXT_BYTES) cJSON_AddBoolToObject(object, "cut", true);
}

static bool add_call(kf_store *store, int64_t id, cJSON *json, kf_error *error)
{
    static const char *const keys[] = {
        [KF_CALL_SYSTEM] = "system", [KF_CALL_PROMPT] = "prompt", [KF_CALL_REPLY] = "reply"};
    for (int which = 0; which < 3; which++) {
        size_t size;
        kf_autofree char *text =
            kf_store_model_call_text(store, id, (kf_call_text)which, &size, error);
        if (!text) return false;
        add_bytes(json, keys[which], text, size);
    }
    return true;
}

static void add_findings(cJSON *array, const char *workload, const kf_finding *findings,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(array, row);
        kf_page_add_text(row, "workload", workload);
        kf_page_add_text(row, "rule", findings[i].rule);
        kf_page_add_text(row, "text", findings[i].text);
        kf_page_add_number(row, "measured", findings[i].measured);
        kf_page_add_number(row, "limit", findings[i].limit);
    }
}

static void add_verdict(const kf_verdict *verdict, cJSON *json)
{
    cJSON *out = cJSON_AddObjectToObject(json, "verdict");
    cJSON_AddStringToObject(out, "status", kf_status_name(verdict->status));
    cJSON_AddBoolToObject(out, "verified", verdict->reverified);
    kf_page_add_text(out, "message", verdict->message);
    kf_page_add_interval(out, "x", verdict->speedup);
    kf_page_add_number(out, "build", verdict->build_seconds);
    kf_page_add_number(out, "judge", verdict->judge_seconds);
    cJSON *workloads = cJSON_AddArrayToObject(out, "workloads"),
          *findings = cJSON_AddArrayToObject(out, "findings"),
          *flags = cJSON_AddArrayToObject(out, "flags");
    add_findings(findings, NULL, verdict->findings, verdict->finding_count);
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(workloads, row);
        kf_page_add_text(row, "name", w->workload);
        cJSON_AddStringToObject(row, "status", kf_status_name(w->status));
        kf_page_add_interval(row, "x", w->speedup);
        if (w->baseline_seconds > 0) kf_page_add_number(row, "baseline", w->baseline_seconds);
        if (w->candidate_seconds > 0) kf_page_add_number(row, "candidate", w->candidate_seconds);
        if (w->floor_seconds > 0) kf_page_add_number(row, "floor", w->floor_seconds);
        add_findings(findings, w->workload, w->findings, w->finding_count);
    }
    for (size_t i = 0; i < verdict->flag_count; i++) {
        kf_autofree char *clean = kf_text_clean(verdict->flags[i], strlen(verdict->flags[i]), true);
        cJSON_AddItemToArray(flags, cJSON_CreateString(clean ? clean : ""));
    }
    kf_page_add_text(out, "log", kf_json_get_text(verdict->build, "log", NULL));
}

/* Adds the difference from each parent of the attempt. */
static bool add_parents(kf_store *store, const char *run, const kf_store_attempt *attempt,
                        const char *source, cJSON *json, kf_error *error)
{
    cJSON *array = cJSON_AddArrayToObject(json, "parents");
    kf_auto(kf_store_cursor) cursor = kf_store_parents(store, run, attempt->number, error);
    kf_autoresult kf_store_edge edge = {0};
    int more = cursor ? 1 : -1;
    while (more == 1 && (more = kf_store_next_edge(cursor, &edge, error)) == 1) {
        char child[24], parent[24];
        snprintf(child, sizeof child, "c%lld", (long long)attempt->candidate);
        snprintf(parent, sizeof parent, "c%lld", (long long)edge.parent);
        kf_autofree char *before = source_of(store, run, edge.parent, error);
        kf_autofree char *diff = before
                                     ? kf_text_diff(&(kf_diff_side){parent, before},
                                                    &(kf_diff_side){child, source}, CONTEXT, error)
                                     : NULL;
        if (!diff) return false;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(array, row);
        cJSON_AddNumberToObject(row, "c", (double)edge.parent);
        kf_page_add_text(row, "role", edge.role);
        add_bytes(row, "diff", diff, strlen(diff));
    }
    return more >= 0;
}

static bool add_candidate(kf_store *store, const char *run, const kf_store_attempt *attempt,
                          cJSON *json, kf_error *error)
{
    kf_autoresult kf_store_candidate candidate = {0};
    if (!kf_store_get_candidate(store, attempt->candidate, run, &candidate, error)) return false;
    kf_autofree char *source = source_of(store, run, attempt->candidate, error);
    if (!source) return false;
    kf_autobuffer flags = {0};
    cJSON_AddNumberToObject(json, "c", (double)attempt->candidate);
    cJSON_AddStringToObject(json, "hash", candidate.hash);
    kf_flags_text(candidate.flags, &flags);
    kf_page_add_text(json, "flags", flags.data);
    kf_page_add_text(json, "tunables", candidate.tunables);
    add_bytes(json, "source", source, strlen(source));
    kf_auto(kf_verdict) verdict = kf_page_verdict(store, candidate.verdict);
    if (verdict) add_verdict(verdict, json);
    return add_parents(store, run, attempt, source, json, error);
}

cJSON *kf_page_attempt(kf_store *store, const char *run, int64_t number, kf_error *error)
{
    kf_autoresult kf_store_attempt attempt = {0};
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run, number, error);
    int more = cursor ? kf_store_next_attempt(cursor, &attempt, error) : -1;
    if (more < 0) return NULL;
    if (more == 0 || attempt.number != number) {
        kf_fail(error, KF_ERROR_INPUT, "run %s has no attempt %lld", run, (long long)number);
        return NULL;
    }
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "n", (double)number);
    if (attempt.model_call && !add_call(store, attempt.model_call, json, error)) return NULL;
    if (attempt.candidate && !add_candidate(store, run, &attempt, json, error)) return NULL;
    return kf_steal(&json);
}
