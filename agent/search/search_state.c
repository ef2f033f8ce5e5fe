/* What a run needs to go on. The stored attempts yield sources, measured points with their results,
 * and what was measured again (search_rebuild.c). Everything else is stored as the run's state, as
 * JSON: time and money used, the models' histories, due requests, waiting replies, and all jobs and
 * calls in flight. Each transaction that changes something of it also writes the state. So a run
 * that was killed goes on with the same jobs and calls, as if they had only taken longer.
 * search_restore.c reads it. */
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "search_internal.h"

static void add_models(const kf_search *s, cJSON *json)
{
    cJSON *models = cJSON_AddArrayToObject(json, "models");
    for (size_t i = 0; i < s->models.count; i++) {
        const kf_model *model = &s->models.items[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "spec", model->spec);
        cJSON_AddNumberToObject(entry, "calls", (double)model->calls);
        cJSON_AddBoolToObject(entry, "answered", model->answered);
        /* A user who resumes an ended run wants its models tried again. */
        if (!s->ended) {
            cJSON_AddNumberToObject(entry, "useless", model->useless);
            cJSON_AddNumberToObject(entry, "failures", model->failures);
            cJSON_AddNumberToObject(entry, "repeats", model->repeats);
            cJSON_AddBoolToObject(entry, "exhausted", model->exhausted);
        }
        if (model->note) cJSON_AddStringToObject(entry, "note", model->note);
        cJSON_AddNumberToObject(entry, "pulls", model->arm.pulls);
        cJSON_AddNumberToObject(entry, "reward", model->arm.reward);
        cJSON_AddNumberToObject(entry, "cost", model->arm.cost);
        cJSON_AddItemToArray(models, entry);
    }
}

static void add_due(cJSON *list, kf_step step, int64_t candidate, int64_t critic, int model,
                    int depth, int island)
{
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "step", kf_step_name(step));
    cJSON_AddNumberToObject(entry, "candidate", (double)candidate);
    cJSON_AddNumberToObject(entry, "critic", (double)critic);
    cJSON_AddNumberToObject(entry, "model", model);
    cJSON_AddNumberToObject(entry, "depth", depth);
    cJSON_AddNumberToObject(entry, "island", island);
    cJSON_AddItemToArray(list, entry);
}

/* Describes a stored reply, or with `call` 0 a request. */
static cJSON *origin_json(const kf_origin *origin)
{
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddNumberToObject(entry, "call", (double)origin->call);
    cJSON_AddNumberToObject(entry, "number", (double)origin->number);
    cJSON_AddNumberToObject(entry, "model", origin->model);
    cJSON_AddStringToObject(entry, "step", kf_step_name(origin->step));
    cJSON_AddNumberToObject(entry, "parent", (double)origin->parent);
    cJSON_AddNumberToObject(entry, "depth", origin->depth);
    cJSON_AddNumberToObject(entry, "island", origin->island);
    cJSON *others = cJSON_AddArrayToObject(entry, "others");
    for (int i = 0; i < origin->other_count; i++)
        cJSON_AddItemToArray(others, cJSON_CreateNumber((double)origin->others[i]));
    return entry;
}

/* Adds a request in flight. The store keeps its prompt (search_pending_calls.c). */
static void add_call(cJSON *list, const kf_call *c)
{
    cJSON *entry = origin_json(&c->origin);
    cJSON_AddItemToArray(list, entry);
    cJSON_AddNumberToObject(entry, "tag", (double)c->tag);
    cJSON_AddNumberToObject(entry, "critic", (double)c->critic);
    cJSON_AddBoolToObject(entry, "due", c->due);
    cJSON_AddNumberToObject(entry, "temperature", c->temperature);
    cJSON_AddNumberToObject(entry, "asked", (double)c->sent_at);
    cJSON_AddNumberToObject(entry, "resting", (double)c->paused);
}

static void add_work(cJSON *list, const kf_proposal *p, bool waits)
{
    /* After a resume its episode begins anew. */
    if (p->origin.step == KF_STEP_TRY) return;
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "step", kf_step_name(p->origin.step));
    cJSON_AddNumberToObject(entry, "began", (double)p->began);
    cJSON_AddNumberToObject(entry, "ticket", (double)p->ticket);
    cJSON_AddNumberToObject(entry, "retries", p->retries);
    cJSON_AddBoolToObject(entry, "waits", waits);
    if (p->candidate) cJSON_AddNumberToObject(entry, "candidate", (double)p->candidate);
    if (p->origin.parent) cJSON_AddNumberToObject(entry, "parent", (double)p->origin.parent);
    if (p->tunable) {
        char digits[sizeof((kf_under_way *)NULL)->digits];
        memcpy(digits, p->tunable->hash, sizeof digits - 1);
        digits[sizeof digits - 1] = '\0';
        cJSON_AddStringToObject(entry, "arm", digits);
    }
    kf_autofree char *point =
        p->tunable && p->origin.step == KF_STEP_TUNE ? kf_point_json(p->tunable, &p->point) : NULL;
    if (point) cJSON_AddStringToObject(entry, "point", point);
    if (p->origin.call) cJSON_AddItemToObject(entry, "reply", origin_json(&p->origin));
    cJSON_AddItemToArray(list, entry);
}

/* Adds which sources have no points left, a bit each. Their tuners might have some again after
 * a resume, and must not be used. */
static void add_exhausted(const kf_search *s, cJSON *json)
{
    char digits[KF_TUNABLE_SOURCES / 4 + 1];
    size_t count = (s->sources.count + 3) / 4;
    for (size_t i = 0; i < count; i++) {
        unsigned bits = 0;
        for (size_t k = 0; k < 4; k++)
            bits |= (4 * i + k < s->sources.count && s->sources.items[4 * i + k]->exhausted) << k;
        digits[i] = "0123456789abcdef"[bits];
    }
    digits[count] = '\0';
    cJSON_AddStringToObject(json, "exhausted", digits);
}

/* Adds why no model gets calls, if so. */
static void add_end(const kf_search *s, cJSON *json)
{
    if (s->ended || !s->models.why.text[0]) return;
    cJSON *end = cJSON_AddObjectToObject(json, "end");
    cJSON_AddStringToObject(end, "why", s->models.why.text);
    cJSON_AddNumberToObject(end, "code", s->models.why.code);
    cJSON_AddBoolToObject(end, "gone", s->models.gone);
}

/* Adds the limits under which no model had room for another request. */
static void add_limits(const kf_search *s, cJSON *json)
{
    const kf_amount *limit = &s->models.budget.limit;
    const double limits[] = {(double)limit->nanodollars, (double)limit->tokens,
                             (double)limit->requests};
    if (!s->ended && s->models.budget_spent)
        cJSON_AddItemToObject(json, "budget-spent", cJSON_CreateDoubleArray(limits, 3));
}

static void add_round(const kf_search *s, cJSON *json)
{
    cJSON *round = cJSON_AddObjectToObject(json, "round");
    cJSON_AddStringToObject(round, "step", kf_step_name(s->selection.round.step));
    cJSON_AddNumberToObject(round, "parent", (double)s->selection.round.parent);
    cJSON_AddNumberToObject(round, "failed", (double)s->selection.round.failed);
    cJSON_AddNumberToObject(round, "asked", (double)s->selection.round.requests);
    cJSON_AddNumberToObject(round, "correct", (double)s->selection.round.correct);
    cJSON_AddNumberToObject(round, "repairs", (double)s->selection.round.repairs);
}

void kf_search_starts_json(const kf_search *s, cJSON *json)
{
    cJSON *starts = cJSON_AddArrayToObject(json, "starts");
    for (size_t i = 0; i < s->clock.start_count; i++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddNumberToObject(entry, "after", s->clock.starts[i].after);
        cJSON_AddNumberToObject(entry, "elapsed", s->clock.starts[i].elapsed);
        cJSON_AddItemToArray(starts, entry);
    }
}

char *kf_state_json(const kf_search *s)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "schema", KF_STATE_SCHEMA);
    cJSON_AddNumberToObject(json, "elapsed", kf_search_elapsed(s));
    kf_search_starts_json(s, json);
    cJSON_AddNumberToObject(json, "cost", s->progress.cost_usd);
    cJSON_AddNumberToObject(json, "tokens", (double)s->progress.tokens);
    cJSON_AddNumberToObject(json, "requests", (double)s->progress.requests);
    cJSON_AddNumberToObject(json, "answered", (double)s->calls.answered);
    cJSON_AddNumberToObject(json, "reply-count", (double)s->progress.replies);
    cJSON_AddBoolToObject(json, "cost-unknown", s->progress.cost_unknown);
    cJSON_AddNumberToObject(json, "device-seconds", s->progress.device_seconds);
    cJSON_AddNumberToObject(json, "quota", s->sources.quota);
    add_models(s, json);
    if (s->notes.until > 0) cJSON_AddNumberToObject(json, "notes-until", s->notes.until);
    if (s->strategy.propose.round > 1) add_round(s, json);
    cJSON_AddNumberToObject(json, "ticket", (double)s->jobs.last_ticket);
    cJSON_AddNumberToObject(json, "defaults", s->ended ? 0 : (double)s->sources.next_default);
    cJSON_AddNumberToObject(json, "floor-share", s->selection.floor_share);
    add_exhausted(s, json);
    add_end(s, json);
    add_limits(s, json);
    cJSON *dues = cJSON_AddArrayToObject(json, "due"),
          *calls = cJSON_AddArrayToObject(json, "calls");
    cJSON *work = cJSON_AddArrayToObject(json, "under-way"),
          *replies = cJSON_AddArrayToObject(json, "replies");
    for (const kf_call *c = s->calls.in_flight; c; c = c->next) add_call(calls, c);
    for (const kf_due *d = s->calls.dues; d; d = d->next)
        add_due(dues, d->step, d->candidate, d->critic, d->model, d->depth, d->island);
    /* After an orderly end, jobs in flight are no longer under way, except for those that a
     * model was paid for. */
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next)
        if (!s->ended || p->origin.call) add_work(work, p, false);
    for (const kf_proposal *p = s->jobs.retries; p; p = p->next) add_work(work, p, true);
    for (const kf_proposal *p = s->jobs.postponed; p; p = p->next) add_work(work, p, true);
    for (const kf_call *c = s->calls.replies; c; c = c->next)
        cJSON_AddItemToArray(replies, origin_json(&c->origin));
    return replies ? cJSON_PrintUnformatted(json) : NULL;
}

bool kf_state_commit(kf_search *s, kf_error *error)
{
    kf_autofree char *state = kf_state_json(s);
    if (!state) return kf_fail_memory(error, "the state of the run");
    return kf_store_save_state(s->store, s->progress.run, state, strlen(state), error) &&
           kf_store_commit(s->store, error);
}
