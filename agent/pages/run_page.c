/* The rows of a run: its state, its attempts and its model calls, as far as a reader lacks them. */
#include "run_page.h"

#include <math.h>
#include <string.h>

#include "kforge/verdict.h"
#include "output.h"
#include "page_internal.h"
#include "roof_points.h"
#include "search.h"

#define ROOF_POINTS 16

void kf_page_add_text(cJSON *object, const char *key, const char *text)
{
    if (!text || !*text) return;
    kf_autofree char *clean = kf_text_clean(text, strlen(text), false);
    cJSON_AddStringToObject(object, key, clean ? clean : "");
}

void kf_page_add_number(cJSON *object, const char *key, double value)
{
    if (isfinite(value)) cJSON_AddNumberToObject(object, key, value);
}

void kf_page_add_interval(cJSON *object, const char *key, kf_interval interval)
{
    if (!isfinite(interval.value)) return;
    cJSON *array = cJSON_AddArrayToObject(object, key);
    const double values[] = {interval.value, interval.low, interval.high};
    for (int i = 0; i < 3; i++)
        cJSON_AddItemToArray(array, isfinite(values[i]) ? cJSON_CreateNumber(values[i])
                                                        : cJSON_CreateNull());
}

static cJSON *run_json(const kf_store_run *run, const kf_run_time *time,
                       const kf_store_spent *spent)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "id", run->id);
    kf_page_add_text(json, "task", run->task_name);
    kf_page_add_text(json, "device", run->device);
    kf_page_add_text(json, "host", run->host);
    cJSON_AddStringToObject(json, "state", kf_run_state(run));
    kf_page_add_number(json, "started", run->started);
    kf_page_add_number(json, "seconds", time->seconds);
    kf_page_add_number(json, "attempts", (double)run->attempts);
    if (run->best) kf_page_add_number(json, "best", (double)run->best);
    kf_page_add_interval(json, "bestSpeedup", run->best_speedup);
    cJSON_AddBoolToObject(json, "bestVerified", run->best_reverified);
    kf_page_add_number(json, "calls", (double)spent->calls);
    kf_page_add_number(json, "cost", spent->cost_usd);
    cJSON_AddBoolToObject(json, "unpriced", spent->unpriced > 0);
    kf_page_add_number(json, "deviceSeconds", spent->device_seconds);
    return json;
}

/* Adds the rank of a figure. The page sorts by it, and knows no order of its own. */
static void add_rank(cJSON *json, const kf_store_attempt *a)
{
    double keys[KF_RANK_KEYS];
    if (!isfinite(a->speedup.value)) return;
    bool again = a->outcome == KF_ATTEMPT_REVERIFIED;
    kf_store_rank(a->speedup, again && a->reverified, keys);
    cJSON *array = cJSON_AddArrayToObject(json, "rank");
    for (int i = 0; i < KF_RANK_KEYS; i++) cJSON_AddItemToArray(array, cJSON_CreateNumber(keys[i]));
}

static cJSON *attempt_json(const kf_store_attempt *a, const kf_run_time *time)
{
    kf_autobuffer flags = {0};
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "n", (double)a->number);
    kf_page_add_number(json, "t", kf_run_time_at(time, a->created));
    cJSON_AddStringToObject(json, "outcome", kf_attempt_outcome_name(a->outcome));
    kf_page_add_text(json, "by", a->proposer);
    kf_page_add_text(json, "step", a->step);
    kf_page_add_text(json, "text", a->message);
    if (a->model_call) cJSON_AddNumberToObject(json, "call", (double)a->model_call);
    if (a->candidate) cJSON_AddNumberToObject(json, "c", (double)a->candidate);
    kf_flags_text(a->flags, &flags);
    kf_page_add_text(json, "flags", flags.data);
    if (a->unverified) {
        cJSON_AddStringToObject(json, "status", "unverified");
    } else if (a->verdict) {
        cJSON_AddStringToObject(json, "status", kf_status_name(a->status));
        if (a->blame != KF_BLAME_NOBODY && a->blame != KF_BLAME_CANDIDATE)
            cJSON_AddStringToObject(json, "blame", kf_blame_name(a->blame));
        if (a->reverified) cJSON_AddTrueToObject(json, "agrees");
        kf_page_add_interval(json, "x", a->speedup);
        add_rank(json, a);
    }
    return json;
}

/* The parents of attempts. Both lists are in the order of attempts. */
typedef struct family {
    kf_store_cursor *cursor;
    kf_store_edge edge;
    int more;
} family;

static void family_end(family *f)
{
    kf_store_cursor_free(f->cursor);
    kf_store_clear(&f->edge);
}

static bool add_parents(family *f, int64_t attempt, cJSON *json, kf_error *error)
{
    cJSON *parents = NULL;
    while (f->more == 1 && f->edge.attempt <= attempt) {
        if (f->edge.attempt == attempt) {
            if (!parents) parents = cJSON_AddArrayToObject(json, "from");
            cJSON_AddItemToArray(parents, cJSON_CreateNumber((double)f->edge.parent));
        }
        f->more = kf_store_next_edge(f->cursor, &f->edge, error);
    }
    return f->more >= 0;
}

static bool add_attempts(kf_store *store, const char *run, const kf_run_time *time,
                         kf_page_position *position, int64_t most, cJSON *array, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run, position->attempt + 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    __attribute__((cleanup(family_end)))
    family parents = {.cursor = cursor ? kf_store_family(store, run, error) : NULL};
    if (!parents.cursor) return false;
    parents.more = kf_store_next_edge(parents.cursor, &parents.edge, error);
    int more = 0;
    for (int64_t i = 0; i < most || most == 0; i++) {
        if ((more = kf_store_next_attempt(cursor, &attempt, error)) != 1) break;
        cJSON *row = attempt_json(&attempt, time);
        cJSON_AddItemToArray(array, row);
        if (!add_parents(&parents, attempt.number, row, error)) return false;
        position->attempt = attempt.number;
    }
    return more >= 0;
}

static bool add_calls(kf_store *store, const char *run, const kf_run_time *time,
                      kf_page_position *position, cJSON *array, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_model_calls(store, run, NULL, error);
    kf_autoresult kf_store_model_call call = {0};
    int64_t last = position->call;
    int more = cursor ? 1 : -1;
    while (more == 1 && (more = kf_store_next_model_call(cursor, &call, error)) == 1) {
        if (call.id <= position->call) continue;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(array, row);
        cJSON_AddNumberToObject(row, "id", (double)call.id);
        kf_page_add_number(row, "t", kf_run_time_at(time, call.created));
        kf_page_add_text(row, "provider", call.provider);
        kf_page_add_text(row, "model", call.model);
        kf_page_add_text(row, "outcome", call.outcome);
        kf_page_add_text(row, "text", call.message);
        kf_page_add_number(row, "cost", call.cost_usd);
        kf_page_add_number(row, "seconds", call.seconds);
        if (call.prompt_tokens >= 0) cJSON_AddNumberToObject(row, "in", (double)call.prompt_tokens);
        if (call.completion_tokens >= 0)
            cJSON_AddNumberToObject(row, "out", (double)call.completion_tokens);
        if (call.id > last) last = call.id;
    }
    position->call = last;
    return more >= 0;
}

bool kf_page_is_news(kf_store *store, const char *run, const kf_page_position *position,
                     const char *state, bool *news, kf_error *error)
{
    kf_autoresult kf_store_run now = {0};
    if (!kf_store_find_run(store, run, &now, error)) return false;
    *news = now.attempts > position->attempt || !state || strcmp(state, kf_run_state(&now)) != 0;
    return true;
}

cJSON *kf_page_news(kf_store *store, const char *run, kf_page_position *position, int64_t most,
                    kf_error *error)
{
    kf_autoresult kf_store_run now = {0};
    kf_store_spent spent;
    kf_autotime kf_run_time time = {0};
    if (!kf_store_find_run(store, run, &now, error) ||
        !kf_run_time_read(store, &now, &time, error) ||
        !kf_store_run_spent(store, run, &spent, error))
        return NULL;
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "schema", "kforge-page/1");
    cJSON *state = run_json(&now, &time, &spent);
    cJSON_AddItemToObject(json, "run", state);
    if (!add_attempts(store, run, &time, position, most, cJSON_AddArrayToObject(json, "attempts"),
                      error) ||
        !add_calls(store, run, &time, position, cJSON_AddArrayToObject(json, "calls"), error))
        return NULL;
    cJSON_AddNumberToObject(json, "attempt", (double)position->attempt);
    cJSON_AddNumberToObject(json, "call", (double)position->call);
    /* The store may have grown since the run was read. */
    cJSON_AddBoolToObject(json, "more", position->attempt < now.attempts);
    return kf_steal(&json);
}

/* ---- the roofline ---------------------------------------------------------------------------- */

cJSON *kf_page_roofline(kf_store *store, const kf_store_run *run, kf_error *error)
{
    kf_autoresult kf_store_candidate best = {0};
    if (!run->best || !kf_store_get_candidate(store, run->best, run->id, &best, error)) return NULL;
    kf_auto(kf_verdict) verdict = kf_page_verdict(store, best.verdict);
    kf_auto(kf_task) task = verdict ? kf_stored_task(store, run->task, NULL) : NULL;
    if (!task) return NULL;
    kf_roof_point points[ROOF_POINTS];
    size_t count = kf_roof_points(task, verdict, points, ROOF_POINTS);
    kf_roof_ceilings ceilings = kf_roof_ceilings_of(verdict);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "c", (double)run->best);
    kf_page_add_number(json, "bandwidth", ceilings.bytes_per_second);
    kf_page_add_number(json, "peak", ceilings.flops_per_second);
    cJSON *array = cJSON_AddArrayToObject(json, "points");
    for (size_t i = 0; i < count; i++) {
        cJSON *point = cJSON_CreateObject();
        cJSON_AddItemToArray(array, point);
        kf_page_add_text(point, "name", points[i].workload);
        kf_page_add_number(point, "bytes", points[i].bytes);
        kf_page_add_number(point, "flops", points[i].flops);
        kf_page_add_number(point, "seconds", points[i].seconds);
        kf_page_add_number(point, "baseline", points[i].baseline_seconds);
        kf_page_add_number(point, "floor", points[i].floor_seconds);
    }
    return json;
}
