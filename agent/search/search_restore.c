/* Reads the state that search_state.c wrote. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "kforge/list.h"
#include "search_internal.h"

#define STATE_BYTES (16u << 20)
/* An older state: work that was under way is started anew. */
#define STATE_BEFORE "kforge-search/2"

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Reads the models by position. search_models.c opens them later. */
static bool read_models(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry;
    size_t i = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, "models"))
    {
        if (i == KF_SEARCH_MODELS) break;
        kf_model *model = &s->models.items[i++];
        model->calls = (int64_t)number_of(entry, "calls");
        model->useless = (int)number_of(entry, "useless");
        model->failures = (int)number_of(entry, "failures");
        model->repeats = (int)number_of(entry, "repeats");
        /* Older runs have only the number of calls. */
        const cJSON *answered = cJSON_GetObjectItemCaseSensitive(entry, "answered");
        model->answered = answered ? cJSON_IsTrue(answered) : model->calls > 0;
        model->exhausted = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "exhausted"));
        model->spec = strdup(kf_json_get_text(entry, "spec", ""));
        model->arm = (kf_bandit_arm){.pulls = number_of(entry, "pulls"),
                                     .reward = number_of(entry, "reward"),
                                     .cost = number_of(entry, "cost")};
        const char *note = kf_json_get_text(entry, "note", "");
        model->note = *note ? strdup(note) : NULL;
        s->progress.calls += model->calls;
        if (!model->spec || (*note && !model->note))
            return kf_fail_memory(error, "the state of a run");
    }
    return true;
}

static bool read_dues(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry;
    kf_due **end = &s->calls.dues;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, "due"))
    {
        kf_step step;
        if (!kf_step_parse(kf_json_get_text(entry, "step", ""), &step)) continue;
        *end = calloc(1, sizeof **end);
        if (!*end) return kf_fail_memory(error, "the state of a run");
        **end = (kf_due){.step = step,
                         .candidate = (int64_t)number_of(entry, "candidate"),
                         .critic = (int64_t)number_of(entry, "critic"),
                         .model = (int)number_of(entry, "model"),
                         .depth = (int)number_of(entry, "depth"),
                         .island = (int)number_of(entry, "island")};
        end = &(*end)->next;
    }
    return true;
}

/* Reads a stored reply, or with `call` 0 a request. *result NULL: this version does not know
 * its step. */
static bool read_call(kf_search *s, const cJSON *entry, kf_call **result, kf_error *error)
{
    const cJSON *other;
    kf_step step;
    *result = NULL;
    if (!kf_step_parse(kf_json_get_text(entry, "step", ""), &step)) return true;
    kf_call *c = *result = calloc(1, sizeof *c);
    if (!c) return kf_fail_memory(error, "the state of a run");
    c->origin = (kf_origin){.call = (int64_t)number_of(entry, "call"),
                            .number = (int64_t)number_of(entry, "number"),
                            .model = (int)number_of(entry, "model"),
                            .step = step,
                            .parent = (int64_t)number_of(entry, "parent"),
                            .depth = (int)number_of(entry, "depth"),
                            .island = (int)number_of(entry, "island")};
    cJSON_ArrayForEach(other, cJSON_GetObjectItemCaseSensitive(entry, "others"))
    {
        if (cJSON_IsNumber(other) && c->origin.other_count < KF_EXEMPLARS)
            c->origin.others[c->origin.other_count++] = (int64_t)other->valuedouble;
    }
    if (!c->origin.call) return true;
    kf_autoresult kf_store_model_call stored = {0};
    c->text = kf_store_model_call_text(s->store, c->origin.call, KF_CALL_REPLY, &c->size, error);
    if (!c->text || !kf_store_get_model_call(s->store, c->origin.call, &stored, error))
        return false;
    c->origin.cost_usd = stored.cost_usd;
    c->truncated = strcmp(stored.outcome, kf_llm_outcome_name(KF_LLM_TRUNCATED)) == 0;
    return true;
}

static bool read_replies(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry;
    kf_call **end = &s->calls.replies;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, "replies"))
    {
        if (!read_call(s, entry, end, error)) return false;
        if (*end) end = &(*end)->next;
    }
    return true;
}

/* Reads the calls in flight. search_pending_calls.c sends them again once the models are open. */
static bool read_calls(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry;
    kf_call **end = &s->calls.in_flight;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, "calls"))
    {
        if (!read_call(s, entry, end, error)) return false;
        kf_call *c = *end;
        if (!c) continue;
        c->tag = (int64_t)number_of(entry, "tag");
        c->critic = (int64_t)number_of(entry, "critic");
        c->due = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "due"));
        c->temperature = number_of(entry, "temperature");
        c->sent_at = (int64_t)number_of(entry, "asked");
        c->paused = (uint64_t)number_of(entry, "resting");
        c->unsent = true;
        if (!kf_store_get_pending_call(s->store, s->progress.run, c->tag, &c->prompt, error))
            return false;
        end = &c->next;
    }
    return true;
}

static bool read_work(kf_search *s, const cJSON *entry, kf_under_way *w, kf_error *error)
{
    const cJSON *reply = cJSON_GetObjectItemCaseSensitive(entry, "reply");
    w->began = (int64_t)number_of(entry, "began");
    w->ticket = (int64_t)number_of(entry, "ticket");
    w->candidate = (int64_t)number_of(entry, "candidate");
    w->parent = (int64_t)number_of(entry, "parent");
    w->retries = (int)number_of(entry, "retries");
    w->waits = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "waits"));
    snprintf(w->digits, sizeof w->digits, "%s", kf_json_get_text(entry, "arm", ""));
    w->point = strdup(kf_json_get_text(entry, "point", ""));
    if (!w->point) return kf_fail_memory(error, "the state of a run");
    return !reply || read_call(s, reply, &w->reply, error);
}

/* Puts the proposals back into their lists in the same order. A reply that yields no proposal
 * waits again. */
static void put_back(kf_search *s, kf_under_way *work, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        kf_under_way *w = &work[i];
        kf_proposal *p = w->proposal;
        if (!p && w->reply) {
            w->reply->next = s->calls.replies;
            s->calls.replies = kf_steal(&w->reply);
        }
        if (!p) continue;
        p->again = !w->waits;
        p->began = w->began;
        p->ticket = w->ticket;
        p->retries = w->retries;
        kf_proposal **list = w->waits ? &s->jobs.retries : &s->jobs.in_flight;
        p->next = *list;
        *list = p;
    }
}

static bool rebuild(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry, *list = cJSON_GetObjectItemCaseSensitive(json, "under-way");
    size_t count = 0, most = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
    kf_autofree kf_under_way *work = calloc(most + 1, sizeof *work);
    bool good = work || kf_fail_memory(error, "the state of a run");
    cJSON_ArrayForEach(entry, list)
    {
        if (good && kf_step_parse(kf_json_get_text(entry, "step", ""), &work[count].step))
            good = read_work(s, entry, &work[count++], error);
    }
    good = good && kf_rebuild(s, work, count, error);
    /* The search frees them, even after an error. */
    if (work) put_back(s, work, count);
    for (size_t i = 0; i < count; i++) {
        free(work[i].point);
        kf_call_free(work[i].reply);
    }
    return good;
}

static void read_exhausted(kf_search *s, const cJSON *json)
{
    const char *digits = kf_json_get_text(json, "exhausted", "");
    if (strlen(digits) != (s->sources.count + 3) / 4) return;
    for (size_t i = 0; i < s->sources.count; i++) {
        char digit = digits[i / 4];
        int bits = digit >= 'a' ? digit - 'a' + 10 : digit - '0';
        s->sources.items[i]->exhausted |= bits >> i % 4 & 1;
    }
}

static void read_end(kf_search *s, const cJSON *json)
{
    const cJSON *end = cJSON_GetObjectItemCaseSensitive(json, "end"),
                *limits = cJSON_GetObjectItemCaseSensitive(json, "budget-spent");
    if (end)
        kf_fail(&s->models.why, (kf_error_code)number_of(end, "code"), "%s",
                kf_json_get_text(end, "why", ""));
    s->models.gone = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(end, "gone"));
    s->models.budget_spent = cJSON_GetArraySize(limits) == 3;
    for (int i = 0; i < 3 && s->models.budget_spent; i++) {
        const cJSON *limit = cJSON_GetArrayItem(limits, i);
        s->models.spent_limits[i] = cJSON_IsNumber(limit) ? (int64_t)limit->valuedouble : -1;
    }
}

static void read_round(kf_search *s, const cJSON *json)
{
    const cJSON *round = cJSON_GetObjectItemCaseSensitive(json, "round");
    if (!round || !kf_step_parse(kf_json_get_text(round, "step", ""), &s->selection.round.step))
        return;
    s->selection.round.parent = (int64_t)number_of(round, "parent");
    s->selection.round.failed = (int64_t)number_of(round, "failed");
    s->selection.round.requests = (int64_t)number_of(round, "asked");
    s->selection.round.correct = (int64_t)number_of(round, "correct");
    s->selection.round.repairs = (int64_t)number_of(round, "repairs");
}

/* Reads the starts of a run. Older states have no list: then all time follows the first start. */
static bool read_starts(const cJSON *json, kf_run_start **starts, size_t *count, kf_error *error)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, "starts"))
    {
        if (!kf_list_grow(starts, *count)) return kf_fail_memory(error, "the time of a run");
        (*starts)[(*count)++] =
            (kf_run_start){number_of(entry, "after"), number_of(entry, "elapsed")};
    }
    if (*count) return true;
    if (!kf_list_grow(starts, 0)) return kf_fail_memory(error, "the time of a run");
    **starts = (kf_run_start){0, 0};
    *count = 1;
    return true;
}

static bool read_state(kf_search *s, const cJSON *json, kf_error *error)
{
    const char *schema = kf_json_get_text(json, "schema", "");
    if (strcmp(schema, KF_STATE_SCHEMA) != 0 && strcmp(schema, STATE_BEFORE) != 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "run %s is from an incompatible version of kforge; start a new run",
                       s->progress.run);
    if (!rebuild(s, json, error) ||
        !read_starts(json, &s->clock.starts, &s->clock.start_count, error))
        return false;
    s->clock.elapsed_before = number_of(json, "elapsed");
    s->progress.cost_usd = number_of(json, "cost");
    s->progress.tokens = (int64_t)number_of(json, "tokens");
    s->progress.requests = (int64_t)number_of(json, "requests");
    s->calls.answered = (int64_t)number_of(json, "answered");
    s->progress.replies = (int64_t)number_of(json, "reply-count");
    s->progress.cost_unknown = cJSON_IsTrue(cJSON_GetObjectItem(json, "cost-unknown"));
    s->progress.device_seconds = number_of(json, "device-seconds");
    s->sources.quota = (int)number_of(json, "quota");
    s->jobs.last_ticket = (int64_t)number_of(json, "ticket");
    s->sources.next_default = (size_t)number_of(json, "defaults");
    if (s->sources.next_default > s->sources.defaults)
        s->sources.next_default = s->sources.defaults;
    if (cJSON_HasObjectItem(json, "floor-share"))
        kf_selection_floor(&s->selection, number_of(json, "floor-share"));
    read_exhausted(s, json);
    read_end(s, json);
    read_round(s, json);
    /* Replies without a proposal come before the replies that waited behind them. */
    kf_call *first = s->calls.replies, **end = &first;
    s->calls.replies = NULL;
    bool good = read_models(s, json, error) && read_dues(s, json, error) &&
                read_calls(s, json, error) && read_replies(s, json, error);
    while (*end) end = &(*end)->next;
    *end = s->calls.replies;
    s->calls.replies = first;
    return good;
}

bool kf_state_restore(kf_search *s, kf_error *error)
{
    kf_autofree char *text = NULL;
    size_t size;
    if (!kf_store_run_state(s->store, s->progress.run, &text, &size, error)) return false;
    if (!size) return kf_rebuild(s, NULL, 0, error);
    kf_auto(cJSON) json = kf_json_parse(text, size, STATE_BYTES, "state of the run", error);
    return json && read_state(s, json, error);
}

bool kf_state_add_start(kf_search *s, kf_error *error)
{
    kf_autofree char *text = NULL;
    size_t size;
    if (!kf_search_add_start(s, error) ||
        !kf_store_run_state(s->store, s->progress.run, &text, &size, error))
        return false;
    if (!size) return true;
    kf_auto(cJSON) json = kf_json_parse(text, size, STATE_BYTES, "state of the run", error);
    if (!json) return false;
    cJSON_DeleteItemFromObjectCaseSensitive(json, "starts");
    kf_search_starts_json(s, json);
    kf_autofree char *more = cJSON_PrintUnformatted(json);
    if (!more) return kf_fail_memory(error, "the state of a run");
    return kf_store_save_state(s->store, s->progress.run, more, strlen(more), error);
}

/* ---- the time of a run ----------------------------------------------------------------------- */

bool kf_run_time_read(kf_store *store, const kf_store_run *run, kf_run_time *time, kf_error *error)
{
    kf_autofree char *text = NULL;
    size_t size;
    kf_run_time_clear(time);
    if (!kf_store_run_state(store, run->id, &text, &size, error)) return false;
    kf_auto(cJSON) state = size ? cJSON_ParseWithLength(text, size) : NULL;
    if (!read_starts(state, &time->starts, &time->start_count, error)) return false;
    time->began = run->started;
    time->seconds = kf_json_get_number(state, "elapsed", NAN);
    time->counted = !isnan(time->seconds);
    bool goes_on = run->status == KF_RUN_RUNNING && run->alive;
    double end = isnan(run->ended) ? run->updated : run->ended;
    if (goes_on) {
        /* No time after the last start is over yet. */
        time->seconds = INFINITY;
        time->seconds = kf_run_time_at(time, kf_search_moment());
    } else if (!time->counted) {
        time->seconds = end - run->started;
    }
    return true;
}

double kf_run_time_at(const kf_run_time *time, double moment)
{
    double after = fmax(moment - time->began, 0);
    size_t i = time->start_count;
    while (i > 1 && time->starts[i - 1].after > after) i--;
    const kf_run_start *start = &time->starts[i - 1];
    double most = i < time->start_count ? time->starts[i].elapsed : time->seconds;
    return fmax(0, fmin(start->elapsed + after - start->after, most));
}

void kf_run_time_clear(kf_run_time *time)
{
    free(time->starts);
    *time = (kf_run_time){0};
}
