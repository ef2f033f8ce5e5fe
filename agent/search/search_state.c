/* What a run needs to go on. The attempts in the store tell most of it: which sources there are,
 * which points their tuners have measured and with what result, what was measured again
 * (search_rebuild.c). Only what no attempt tells is kept as the run's state, as JSON: time and
 * money used, the models' histories, repairs that are due, replies that wait, and all that is under
 * way. It is written in the transaction of everything that changes it, so a run that was killed
 * goes on with the jobs and calls that it had, as if they had only taken longer.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "search_internal.h"

#define STATE_SCHEMA "kforge-search/3"
/* what was under way is used or asked again as if it had not been */
#define STATE_BEFORE "kforge-search/2"
#define STATE_BYTES (16u << 20)

/* ---- settings as JSON ------------------------------------------------------------------------ */

char *kf_search_options_json(const kf_search_settings *settings)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON *models = cJSON_AddArrayToObject(json, "models");
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)settings->seed);
    for (size_t i = 0; i < settings->model_count; i++)
        cJSON_AddItemToArray(models, cJSON_CreateString(settings->models[i]));
    cJSON_AddBoolToObject(json, "by-share", settings->by_share);
    cJSON_AddBoolToObject(json, "anew", settings->anew);
    cJSON_AddStringToObject(json, "seed", seed); /* more digits than a double holds */
    if (*settings->strategy.name)
        cJSON_AddItemToObject(json, "strategy", kf_strategy_json(&settings->strategy));
    if (settings->prompts) cJSON_AddStringToObject(json, "prompts", settings->prompts);
    if (settings->baseline) cJSON_AddStringToObject(json, "baseline", settings->baseline);
    cJSON_AddNumberToObject(json, "calls", settings->calls);
    cJSON_AddNumberToObject(json, "time", settings->budget.seconds);
    cJSON_AddNumberToObject(json, "candidates", (double)settings->budget.candidates);
    cJSON_AddNumberToObject(json, "cost", settings->budget.cost_usd);
    cJSON_AddNumberToObject(json, "tokens", (double)settings->budget.tokens);
    cJSON_AddNumberToObject(json, "requests", (double)settings->budget.requests);
    cJSON_AddNumberToObject(json, "device-seconds", settings->budget.device_seconds);
    cJSON_AddNumberToObject(json, "seconds", settings->timing_seconds);
    cJSON_AddNumberToObject(json, "verify-seconds", settings->verify_seconds);
    cJSON_AddNumberToObject(json, "half-width", settings->half_width);
    cJSON_AddNumberToObject(json, "timeout", settings->timeout_seconds);
    cJSON_AddBoolToObject(json, "strict-sandbox", settings->strict_sandbox);
    cJSON_AddBoolToObject(json, "declared-flags", settings->declared_flags);
    if (settings->samples) cJSON_AddNumberToObject(json, "samples", (double)settings->samples);
    if (settings->bench)
        cJSON_AddItemToObject(json, "bench", cJSON_Duplicate(settings->bench, true));
    return models ? cJSON_PrintUnformatted(json) : NULL;
}

bool kf_search_options_read(const char *text, kf_search_settings *settings,
                            const char *models[KF_SEARCH_MODELS], cJSON **memory, kf_error *error)
{
    *settings = (kf_search_settings){.models = models};
    *memory = kf_json_parse(text, strlen(text), STATE_BYTES, "options of the run", error);
    if (!*memory) return false;
    kf_json_reader reader = kf_json_object(*memory, "options of the run", "", error);
    const cJSON *model, *list = kf_json_array_or_null(&reader, "models");
    cJSON_ArrayForEach(model, list)
    {
        if (!cJSON_IsString(model) || settings->model_count == KF_SEARCH_MODELS)
            return kf_json_complain(&reader, "models", "expected at most %d texts",
                                    KF_SEARCH_MODELS);
        models[settings->model_count++] = model->valuestring;
    }
    settings->by_share = kf_json_boolean_or(&reader, "by-share", true);
    settings->anew = kf_json_boolean_or(&reader, "anew", false);
    settings->seed = strtoull(kf_json_string_or(&reader, "seed", "0"), NULL, 10);
    const cJSON *strategy = kf_json_object_or_null(&reader, "strategy");
    if (strategy && !kf_strategy_read(strategy, "options of the run", &settings->strategy, error))
        return false;
    settings->prompts = kf_json_string_or(&reader, "prompts", NULL);
    settings->baseline = kf_json_string_or(&reader, "baseline", NULL);
    settings->calls = (int)kf_json_integer_or(&reader, "calls", 0, 1000, 0);
    settings->budget.seconds = kf_json_number_or(&reader, "time", 0, 1e12, 0);
    settings->budget.candidates = kf_json_integer_or(&reader, "candidates", 0, INT64_C(1) << 50, 0);
    settings->budget.cost_usd = kf_json_number_or(&reader, "cost", 0, 1e12, 0);
    settings->budget.tokens = kf_json_integer_or(&reader, "tokens", 0, INT64_C(1) << 50, 0);
    settings->budget.device_seconds = kf_json_number_or(&reader, "device-seconds", 0, 1e12, 0);
    settings->budget.requests = kf_json_integer_or(&reader, "requests", 0, INT64_C(1) << 50, 0);
    settings->timing_seconds = kf_json_number_or(&reader, "seconds", 0, 1e6, 0);
    settings->verify_seconds = kf_json_number_or(&reader, "verify-seconds", 0, 1e6, 0);
    settings->half_width = kf_json_number_or(&reader, "half-width", 0, 1, 0);
    settings->timeout_seconds = kf_json_number_or(&reader, "timeout", 0, 1e6, 0);
    settings->strict_sandbox = kf_json_boolean_or(&reader, "strict-sandbox", false);
    /* runs of before there were others */
    settings->declared_flags = kf_json_boolean_or(&reader, "declared-flags", true);
    settings->samples = kf_json_integer_or(&reader, "samples", 0, INT64_C(1) << 50, 0);
    settings->bench = kf_json_object_or_null(&reader, "bench");
    return kf_json_finish(&reader);
}

/* ---- writing the state ----------------------------------------------------------------------- */

static void add_models(const kf_search *s, cJSON *json)
{
    cJSON *models = cJSON_AddArrayToObject(json, "models");
    for (size_t i = 0; i < s->model_count; i++) {
        const kf_model *model = &s->models[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "spec", model->spec);
        cJSON_AddNumberToObject(entry, "calls", (double)model->calls);
        cJSON_AddNumberToObject(entry, "useless", model->useless);
        if (!s->ended) { /* somebody who has a run go on wants its models tried again */
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

static void add_reply(cJSON *list, const kf_call *c)
{
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddNumberToObject(entry, "call", (double)c->call);
    cJSON_AddNumberToObject(entry, "number", (double)c->number);
    cJSON_AddNumberToObject(entry, "model", c->model);
    cJSON_AddStringToObject(entry, "step", kf_step_name(c->step));
    cJSON_AddNumberToObject(entry, "parent", (double)c->parent);
    cJSON_AddNumberToObject(entry, "depth", c->depth);
    cJSON_AddNumberToObject(entry, "island", c->island);
    cJSON *others = cJSON_AddArrayToObject(entry, "others");
    for (int i = 0; i < c->other_count; i++)
        cJSON_AddItemToArray(others, cJSON_CreateNumber((double)c->others[i]));
    cJSON_AddItemToArray(list, entry);
}

/* A request that has gone to a model, whose prompt is stored beside the state
 * (search_pending_calls.c). */
static void add_call(cJSON *list, const kf_call *c)
{
    add_reply(list, c);
    cJSON *entry = cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1);
    cJSON_AddNumberToObject(entry, "tag", (double)c->tag);
    cJSON_AddNumberToObject(entry, "critic", (double)c->critic);
    cJSON_AddBoolToObject(entry, "due", c->due);
    cJSON_AddNumberToObject(entry, "temperature", c->temperature);
    cJSON_AddNumberToObject(entry, "asked", (double)c->asked);
    cJSON_AddNumberToObject(entry, "resting", (double)c->resting);
}

/* The reply that a proposal was made of. */
static cJSON *reply_of(const kf_proposal *p)
{
    kf_auto(cJSON) list = cJSON_CreateArray();
    kf_call call = {.call = p->call,
                    .number = p->number,
                    .model = p->model,
                    .step = p->step,
                    .parent = p->parent,
                    .depth = p->depth,
                    .island = p->island,
                    .other_count = p->other_count};
    memcpy(call.others, p->others, sizeof call.others);
    add_reply(list, &call);
    return cJSON_DetachItemFromArray(list, 0);
}

static void add_work(cJSON *list, const kf_proposal *p, bool waits)
{
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "step", kf_step_name(p->step));
    cJSON_AddNumberToObject(entry, "began", (double)p->began);
    cJSON_AddNumberToObject(entry, "ticket", (double)p->ticket);
    cJSON_AddNumberToObject(entry, "retries", p->retries);
    cJSON_AddBoolToObject(entry, "waits", waits);
    if (p->candidate) cJSON_AddNumberToObject(entry, "candidate", (double)p->candidate);
    if (p->parent) cJSON_AddNumberToObject(entry, "parent", (double)p->parent);
    if (p->arm) {
        char digits[sizeof((kf_under_way *)NULL)->arm];
        memcpy(digits, p->arm->hash, sizeof digits - 1);
        digits[sizeof digits - 1] = '\0';
        cJSON_AddStringToObject(entry, "arm", digits);
    }
    kf_autofree char *point =
        p->arm && p->step == KF_STEP_TUNE ? kf_point_json(p->arm, &p->point) : NULL;
    if (point) cJSON_AddStringToObject(entry, "point", point);
    if (p->call) cJSON_AddItemToObject(entry, "reply", reply_of(p));
    cJSON_AddItemToArray(list, entry);
}

/* Which arms have nothing left: a tuner that has nothing now may have something again when it is
 * told what is under way, and is not asked again all the same. */
static void add_exhausted(const kf_search *s, cJSON *json)
{
    char digits[KF_TUNABLE_SOURCES / 4 + 1];
    size_t count = (s->arm_count + 3) / 4;
    for (size_t i = 0; i < count; i++) {
        unsigned bits = 0;
        for (size_t k = 0; k < 4; k++)
            bits |= (4 * i + k < s->arm_count && s->arms[4 * i + k]->exhausted) << k;
        digits[i] = "0123456789abcdef"[bits];
    }
    digits[count] = '\0';
    cJSON_AddStringToObject(json, "exhausted", digits);
}

/* Why nothing more is asked for, where that is so. */
static void add_end(const kf_search *s, cJSON *json)
{
    if (s->ended || !s->models_why.text[0]) return;
    cJSON *end = cJSON_AddObjectToObject(json, "end");
    cJSON_AddStringToObject(end, "why", s->models_why.text);
    cJSON_AddNumberToObject(end, "code", s->models_why.code);
    cJSON_AddBoolToObject(end, "gone", s->models_gone);
}

/* The limits under which no model had room for another request. */
static void add_limits(const kf_search *s, cJSON *json)
{
    const kf_amount *limit = &s->budget.limit;
    const double limits[] = {(double)limit->nanodollars, (double)limit->tokens,
                             (double)limit->requests};
    if (!s->ended && s->budget_spent)
        cJSON_AddItemToObject(json, "budget-spent", cJSON_CreateDoubleArray(limits, 3));
}

static void add_round(const kf_search *s, cJSON *json)
{
    cJSON *round = cJSON_AddObjectToObject(json, "round");
    cJSON_AddStringToObject(round, "step", kf_step_name(s->round.step));
    cJSON_AddNumberToObject(round, "parent", (double)s->round.parent);
    cJSON_AddNumberToObject(round, "failed", (double)s->round.failed);
    cJSON_AddNumberToObject(round, "asked", (double)s->round.asked);
    cJSON_AddNumberToObject(round, "correct", (double)s->round.correct);
    cJSON_AddNumberToObject(round, "repairs", (double)s->round.repairs);
}

char *kf_state_json(const kf_search *s)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "schema", STATE_SCHEMA);
    cJSON_AddNumberToObject(json, "elapsed", kf_search_elapsed(s));
    cJSON_AddNumberToObject(json, "cost", s->progress.cost_usd);
    cJSON_AddNumberToObject(json, "tokens", (double)s->progress.tokens);
    cJSON_AddNumberToObject(json, "requests", (double)s->progress.requests);
    cJSON_AddNumberToObject(json, "answered", (double)s->answered);
    cJSON_AddNumberToObject(json, "device-seconds", s->progress.device_seconds);
    cJSON_AddNumberToObject(json, "quota", s->quota);
    add_models(s, json);
    if (s->notes_until > 0) cJSON_AddNumberToObject(json, "notes-until", s->notes_until);
    if (s->strategy.round > 1) add_round(s, json);
    cJSON_AddNumberToObject(json, "ticket", (double)s->next_ticket);
    cJSON_AddNumberToObject(json, "defaults", s->ended ? 0 : (double)s->next_default);
    cJSON_AddNumberToObject(json, "floor-share", s->floor_share);
    add_exhausted(s, json);
    add_end(s, json);
    add_limits(s, json);
    cJSON *dues = cJSON_AddArrayToObject(json, "due"),
          *calls = cJSON_AddArrayToObject(json, "calls");
    cJSON *work = cJSON_AddArrayToObject(json, "under-way"),
          *replies = cJSON_AddArrayToObject(json, "replies");
    for (const kf_call *c = s->calls; c; c = c->next) add_call(calls, c);
    for (const kf_due *d = s->dues; d; d = d->next)
        add_due(dues, d->step, d->candidate, d->critic, d->model, d->depth, d->island);
    /* A run that was ended in order measures what nobody had to pay for another time; that is not
     * under way any more. */
    for (const kf_proposal *p = s->in_flight; p; p = p->next)
        if (!s->ended || p->call) add_work(work, p, false);
    for (const kf_proposal *p = s->retries; p; p = p->next) add_work(work, p, true);
    for (const kf_proposal *p = s->aside; p; p = p->next) add_work(work, p, true);
    for (const kf_call *c = s->replies; c; c = c->next) add_reply(replies, c);
    return replies ? cJSON_PrintUnformatted(json) : NULL;
}

bool kf_state_commit(kf_search *s, kf_error *error)
{
    kf_autofree char *state = kf_state_json(s);
    if (!state) return kf_fail(error, KF_ERROR_MEMORY, "out of memory for the state of the run");
    return kf_store_save_state(s->store, s->progress.run, state, strlen(state), error) &&
           kf_store_commit(s->store, error);
}

/* ---- reading it ------------------------------------------------------------------------------ */

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* Models are opened later (search_model.c); what is known of them is left for that by position. */
static bool read_models(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry;
    size_t i = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, "models"))
    {
        if (i == KF_SEARCH_MODELS) break;
        kf_model *model = &s->models[i++];
        model->calls = (int64_t)number_of(entry, "calls");
        model->useless = (int)number_of(entry, "useless");
        model->failures = (int)number_of(entry, "failures");
        model->repeats = (int)number_of(entry, "repeats");
        model->exhausted = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "exhausted"));
        model->spec = strdup(text_of(entry, "spec"));
        model->arm = (kf_bandit_arm){.pulls = number_of(entry, "pulls"),
                                     .reward = number_of(entry, "reward"),
                                     .cost = number_of(entry, "cost")};
        const char *note = text_of(entry, "note");
        model->note = *note ? strdup(note) : NULL;
        s->progress.calls += model->calls;
        if (!model->spec || (*note && !model->note))
            return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    }
    return true;
}

static bool read_dues(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry;
    kf_due **end = &s->dues;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, "due"))
    {
        kf_step step;
        if (!kf_step_parse(text_of(entry, "step"), &step)) continue;
        *end = calloc(1, sizeof **end);
        if (!*end) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
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

/* A reply that is stored already, or, with no `call`, a request. *result NULL: it is of a kind that
 * this kforge does not know. */
static bool read_call(kf_search *s, const cJSON *entry, kf_call **result, kf_error *error)
{
    const cJSON *other;
    kf_step step;
    *result = NULL;
    if (!kf_step_parse(text_of(entry, "step"), &step)) return true;
    kf_call *c = *result = calloc(1, sizeof *c);
    if (!c) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    *c = (kf_call){.call = (int64_t)number_of(entry, "call"),
                   .number = (int64_t)number_of(entry, "number"),
                   .model = (int)number_of(entry, "model"),
                   .step = step,
                   .parent = (int64_t)number_of(entry, "parent"),
                   .depth = (int)number_of(entry, "depth"),
                   .island = (int)number_of(entry, "island")};
    cJSON_ArrayForEach(other, cJSON_GetObjectItemCaseSensitive(entry, "others"))
    {
        if (cJSON_IsNumber(other) && c->other_count < KF_EXEMPLARS)
            c->others[c->other_count++] = (int64_t)other->valuedouble;
    }
    if (!c->call) return true;
    kf_autoresult kf_store_model_call stored = {0};
    c->text = kf_store_model_call_text(s->store, c->call, KF_CALL_REPLY, &c->size, error);
    if (!c->text || !kf_store_get_model_call(s->store, c->call, &stored, error)) return false;
    c->cost_usd = stored.cost_usd;
    c->truncated = strcmp(stored.outcome, kf_llm_outcome_name(KF_LLM_TRUNCATED)) == 0;
    return true;
}

static bool read_replies(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry;
    kf_call **end = &s->replies;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, "replies"))
    {
        if (!read_call(s, entry, end, error)) return false;
        if (*end) end = &(*end)->next;
    }
    return true;
}

/* What was in flight: asked again once the models are open (search_pending_calls.c). */
static bool read_calls(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry;
    kf_call **end = &s->calls;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, "calls"))
    {
        if (!read_call(s, entry, end, error)) return false;
        kf_call *c = *end;
        if (!c) continue;
        c->tag = (int64_t)number_of(entry, "tag");
        c->critic = (int64_t)number_of(entry, "critic");
        c->due = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "due"));
        c->temperature = number_of(entry, "temperature");
        c->asked = (int64_t)number_of(entry, "asked");
        c->resting = (uint64_t)number_of(entry, "resting");
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
    snprintf(w->arm, sizeof w->arm, "%s", text_of(entry, "arm"));
    w->point = strdup(text_of(entry, "point"));
    if (!w->point) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    return !reply || read_call(s, reply, &w->reply, error);
}

/* To where they were, in the same order. A reply whose proposal can't be made again waits to be
 * used. */
static void put_back(kf_search *s, kf_under_way *work, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        kf_under_way *w = &work[i];
        kf_proposal *p = w->proposal;
        if (!p && w->reply) {
            w->reply->next = s->replies;
            s->replies = kf_steal(&w->reply);
        }
        if (!p) continue;
        p->again = !w->waits;
        p->began = w->began;
        p->ticket = w->ticket;
        p->retries = w->retries;
        kf_proposal **list = w->waits ? &s->retries : &s->in_flight;
        p->next = *list;
        *list = p;
    }
}

static bool rebuild(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry, *list = cJSON_GetObjectItemCaseSensitive(json, "under-way");
    size_t count = 0, most = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
    kf_autofree kf_under_way *work = calloc(most + 1, sizeof *work);
    bool good = work || kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    cJSON_ArrayForEach(entry, list)
    {
        if (good && kf_step_parse(text_of(entry, "step"), &work[count].step))
            good = read_work(s, entry, &work[count++], error);
    }
    good = good && kf_rebuild(s, work, count, error);
    if (work) put_back(s, work, count); /* freed with the search, whatever went wrong */
    for (size_t i = 0; i < count; i++) {
        free(work[i].point);
        kf_call_free(work[i].reply);
    }
    return good;
}

static void read_exhausted(kf_search *s, const cJSON *json)
{
    const char *digits = text_of(json, "exhausted");
    if (strlen(digits) != (s->arm_count + 3) / 4) return;
    for (size_t i = 0; i < s->arm_count; i++) {
        char digit = digits[i / 4];
        int bits = digit >= 'a' ? digit - 'a' + 10 : digit - '0';
        s->arms[i]->exhausted |= bits >> i % 4 & 1;
    }
}

static void read_end(kf_search *s, const cJSON *json)
{
    const cJSON *end = cJSON_GetObjectItemCaseSensitive(json, "end"),
                *limits = cJSON_GetObjectItemCaseSensitive(json, "budget-spent");
    if (end)
        kf_fail(&s->models_why, (kf_error_code)number_of(end, "code"), "%s", text_of(end, "why"));
    s->models_gone = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(end, "gone"));
    s->budget_spent = cJSON_GetArraySize(limits) == 3;
    for (int i = 0; i < 3 && s->budget_spent; i++) {
        const cJSON *limit = cJSON_GetArrayItem(limits, i);
        s->budget_known[i] = cJSON_IsNumber(limit) ? (int64_t)limit->valuedouble : -1;
    }
}

static void read_round(kf_search *s, const cJSON *json)
{
    const cJSON *round = cJSON_GetObjectItemCaseSensitive(json, "round");
    if (!round || !kf_step_parse(text_of(round, "step"), &s->round.step)) return;
    s->round.parent = (int64_t)number_of(round, "parent");
    s->round.failed = (int64_t)number_of(round, "failed");
    s->round.asked = (int64_t)number_of(round, "asked");
    s->round.correct = (int64_t)number_of(round, "correct");
    s->round.repairs = (int64_t)number_of(round, "repairs");
}

static bool read_state(kf_search *s, const cJSON *json, kf_error *error)
{
    const char *schema = text_of(json, "schema");
    if (strcmp(schema, STATE_SCHEMA) != 0 && strcmp(schema, STATE_BEFORE) != 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "run %s was left by another version of kforge; start a new one",
                       s->progress.run);
    if (!rebuild(s, json, error)) return false;
    s->elapsed_before = number_of(json, "elapsed");
    s->progress.cost_usd = number_of(json, "cost");
    s->progress.tokens = (int64_t)number_of(json, "tokens");
    s->progress.requests = (int64_t)number_of(json, "requests");
    s->answered = (int64_t)number_of(json, "answered");
    s->progress.device_seconds = number_of(json, "device-seconds");
    s->quota = (int)number_of(json, "quota");
    s->next_ticket = (int64_t)number_of(json, "ticket");
    s->next_default = (size_t)number_of(json, "defaults");
    if (s->next_default > s->defaults) s->next_default = s->defaults;
    if (cJSON_HasObjectItem(json, "floor-share")) s->floor_share = number_of(json, "floor-share");
    read_exhausted(s, json);
    read_end(s, json);
    read_round(s, json);
    /* What could not be made a proposal again comes before the replies that waited behind it. */
    kf_call *first = s->replies, **end = &first;
    s->replies = NULL;
    bool good = read_models(s, json, error) && read_dues(s, json, error) &&
                read_calls(s, json, error) && read_replies(s, json, error);
    while (*end) end = &(*end)->next;
    *end = s->replies;
    s->replies = first;
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
