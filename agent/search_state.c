/* What a run needs to go on. The attempts in the store tell most of it: which sources there are, which points their tuners have measured and
 * with what result, what was measured again. Only what no attempt tells is kept as the run's state, as JSON: time and money used, the models'
 * histories, repairs that are due, replies whose candidates were not judged yet.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "search_internal.h"

#define STATE_SCHEMA "kforge-search/2"
#define STATE_BYTES (16u << 20)

/* ---- settings as JSON -------------------------------------------------------------------------------------------------------------------- */

char *kf_search_options_json(const kf_search_settings *settings)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON *models = cJSON_AddArrayToObject(json, "models");
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)settings->seed);
    for (size_t i = 0; i < settings->model_count; i++) cJSON_AddItemToArray(models, cJSON_CreateString(settings->models[i]));
    cJSON_AddBoolToObject(json, "by-share", settings->by_share);
    cJSON_AddBoolToObject(json, "anew", settings->anew);
    cJSON_AddStringToObject(json, "seed", seed); /* more digits than a double holds */
    if (*settings->strategy.name) cJSON_AddItemToObject(json, "strategy", kf_strategy_json(&settings->strategy));
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
    if (settings->bench) cJSON_AddItemToObject(json, "bench", cJSON_Duplicate(settings->bench, true));
    return models ? cJSON_PrintUnformatted(json) : NULL;
}

bool kf_search_options_read(const char *text, kf_search_settings *settings, const char *models[KF_SEARCH_MODELS], cJSON **memory,
                            kf_error *error)
{
    *settings = (kf_search_settings){.models = models};
    *memory = kf_json_parse(text, strlen(text), STATE_BYTES, "options of the run", error);
    if (!*memory) return false;
    kf_json_reader reader = kf_json_object(*memory, "options of the run", "", error);
    const cJSON *model, *list = kf_json_array_or_null(&reader, "models");
    cJSON_ArrayForEach(model, list)
    {
        if (!cJSON_IsString(model) || settings->model_count == KF_SEARCH_MODELS)
            return kf_json_complain(&reader, "models", "expected at most %d texts", KF_SEARCH_MODELS);
        models[settings->model_count++] = model->valuestring;
    }
    settings->by_share = kf_json_boolean_or(&reader, "by-share", true);
    settings->anew = kf_json_boolean_or(&reader, "anew", false);
    settings->seed = strtoull(kf_json_string_or(&reader, "seed", "0"), NULL, 10);
    const cJSON *strategy = kf_json_object_or_null(&reader, "strategy");
    if (strategy && !kf_strategy_read(strategy, "options of the run", &settings->strategy, error)) return false;
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
    settings->declared_flags = kf_json_boolean_or(&reader, "declared-flags", true); /* runs of before there were others */
    settings->samples = kf_json_integer_or(&reader, "samples", 0, INT64_C(1) << 50, 0);
    settings->bench = kf_json_object_or_null(&reader, "bench");
    return kf_json_finish(&reader);
}

/* ---- writing the state ------------------------------------------------------------------------------------------------------------------------ */

static void add_models(const kf_search *s, cJSON *json)
{
    cJSON *models = cJSON_AddArrayToObject(json, "models");
    for (size_t i = 0; i < s->model_count; i++) {
        const kf_model *model = &s->models[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "spec", model->spec);
        cJSON_AddNumberToObject(entry, "calls", (double)model->calls);
        cJSON_AddNumberToObject(entry, "useless", model->useless);
        if (model->note) cJSON_AddStringToObject(entry, "note", model->note);
        cJSON_AddNumberToObject(entry, "pulls", model->arm.pulls);
        cJSON_AddNumberToObject(entry, "reward", model->arm.reward);
        cJSON_AddNumberToObject(entry, "cost", model->arm.cost);
        cJSON_AddItemToArray(models, entry);
    }
}

static void add_due(cJSON *list, kf_step step, int64_t candidate, int64_t critic, int model, int depth, int island)
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
    for (int i = 0; i < c->other_count; i++) cJSON_AddItemToArray(others, cJSON_CreateNumber((double)c->others[i]));
    cJSON_AddItemToArray(list, entry);
}

/* The reply that a proposal was made of. */
static void add_proposal(cJSON *list, const kf_proposal *p)
{
    kf_call call = {.call = p->call,
                    .number = p->number,
                    .model = p->model,
                    .step = p->step,
                    .parent = p->parent,
                    .depth = p->depth,
                    .island = p->island,
                    .other_count = p->other_count};
    memcpy(call.others, p->others, sizeof call.others);
    if (p->call) add_reply(list, &call);
}

static void add_round(const kf_search *s, cJSON *json)
{
    cJSON *round = cJSON_AddObjectToObject(json, "round");
    cJSON_AddStringToObject(round, "step", kf_step_name(s->round_step));
    cJSON_AddNumberToObject(round, "parent", (double)s->round_parent);
    cJSON_AddNumberToObject(round, "failed", (double)s->round_failed);
    cJSON_AddNumberToObject(round, "asked", (double)s->round_asked);
    cJSON_AddNumberToObject(round, "correct", (double)s->round_correct);
    cJSON_AddNumberToObject(round, "repairs", (double)s->round_repairs);
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
    kf_rooms_write(&s->rooms_had, json);
    if (s->notes_until > 0) cJSON_AddNumberToObject(json, "notes-until", s->notes_until);
    if (s->strategy.round > 1) add_round(s, json);
    /* What was due, asked for and not answered is due again; a reply whose candidate is being judged is used again. */
    cJSON *dues = cJSON_AddArrayToObject(json, "due"), *replies = cJSON_AddArrayToObject(json, "replies");
    for (const kf_call *c = s->calls; c; c = c->next)
        if (c->due) add_due(dues, c->step, c->parent, c->critic, c->model, c->depth, c->island);
    for (const kf_due *d = s->dues; d; d = d->next) add_due(dues, d->step, d->candidate, d->critic, d->model, d->depth, d->island);
    for (const kf_proposal *p = s->in_flight; p; p = p->next) add_proposal(replies, p);
    for (const kf_proposal *p = s->retries; p; p = p->next) add_proposal(replies, p);
    for (const kf_call *c = s->replies; c; c = c->next) add_reply(replies, c);
    return replies ? cJSON_PrintUnformatted(json) : NULL;
}

/* ---- reading it ----------------------------------------------------------------------------------------------------------------------------------- */

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
        model->spec = strdup(text_of(entry, "spec"));
        model->arm = (kf_bandit_arm){
            .pulls = number_of(entry, "pulls"), .reward = number_of(entry, "reward"), .cost = number_of(entry, "cost")};
        const char *note = text_of(entry, "note");
        model->note = *note ? strdup(note) : NULL;
        s->progress.calls += model->calls;
        if (!model->spec || (*note && !model->note)) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
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

static bool read_replies(kf_search *s, const cJSON *json, kf_error *error)
{
    const cJSON *entry, *other;
    kf_call **reply = &s->replies;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, "replies"))
    {
        kf_step step;
        int64_t call = (int64_t)number_of(entry, "call");
        if (!kf_step_parse(text_of(entry, "step"), &step)) continue;
        *reply = calloc(1, sizeof **reply);
        if (!*reply) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        **reply = (kf_call){.call = call,
                            .number = (int64_t)number_of(entry, "number"),
                            .model = (int)number_of(entry, "model"),
                            .step = step,
                            .parent = (int64_t)number_of(entry, "parent"),
                            .depth = (int)number_of(entry, "depth"),
                            .island = (int)number_of(entry, "island")};
        cJSON_ArrayForEach(other, cJSON_GetObjectItemCaseSensitive(entry, "others"))
        {
            if (cJSON_IsNumber(other) && (*reply)->other_count < KF_EXEMPLARS)
                (*reply)->others[(*reply)->other_count++] = (int64_t)other->valuedouble;
        }
        kf_autoresult kf_store_model_call stored = {0};
        (*reply)->text = kf_store_model_call_text(s->store, call, KF_CALL_REPLY, &(*reply)->size, error);
        if (!(*reply)->text || !kf_store_get_model_call(s->store, call, &stored, error)) return false;
        (*reply)->cost_usd = stored.cost_usd;
        reply = &(*reply)->next;
    }
    return true;
}

static void read_round(kf_search *s, const cJSON *json)
{
    const cJSON *round = cJSON_GetObjectItemCaseSensitive(json, "round");
    if (!round || !kf_step_parse(text_of(round, "step"), &s->round_step)) return;
    s->round_parent = (int64_t)number_of(round, "parent");
    s->round_failed = (int64_t)number_of(round, "failed");
    s->round_asked = (int64_t)number_of(round, "asked");
    s->round_correct = (int64_t)number_of(round, "correct");
    s->round_repairs = (int64_t)number_of(round, "repairs");
}

static bool read_state(kf_search *s, kf_error *error)
{
    kf_autofree char *text = NULL;
    size_t size;
    if (!kf_store_run_state(s->store, s->progress.run, &text, &size, error)) return false;
    if (!size) return true;
    kf_auto(cJSON) json = kf_json_parse(text, size, STATE_BYTES, "state of the run", error);
    if (!json) return false;
    if (strcmp(text_of(json, "schema"), STATE_SCHEMA) != 0)
        return kf_fail(error, KF_ERROR_INPUT, "run %s was left by another version of kforge; start a new one", s->progress.run);
    s->elapsed_before = number_of(json, "elapsed");
    s->progress.cost_usd = number_of(json, "cost");
    s->progress.tokens = (int64_t)number_of(json, "tokens");
    s->progress.requests = (int64_t)number_of(json, "requests");
    s->answered = (int64_t)number_of(json, "answered");
    s->progress.device_seconds = number_of(json, "device-seconds");
    s->quota = (int)number_of(json, "quota");
    read_round(s, json);
    kf_rooms_read(json, &s->rooms_had);
    return read_models(s, json, error) && read_dues(s, json, error) && read_replies(s, json, error);
}

/* ---- the attempts ------------------------------------------------------------------------------------------------------------------------------------ */

typedef struct descent {
    int64_t attempt, parent;
} descent;

typedef struct history {
    kf_search *s;
    descent *family; /* the parent that a candidate was made from, in order of attempts */
    size_t family_count, next;
    int64_t *flakes; /* candidates whose verdict blamed the machine, once */
    size_t flake_count;
} history;

static bool read_family(history *h, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_family(h->s->store, h->s->progress.run, error);
    kf_autoresult kf_store_edge edge = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_edge(cursor, &edge, error) : row) == 1) {
        if (strcmp(edge.role, "tuned") != 0 && strcmp(edge.role, "base") != 0) continue;
        descent *grown = h->family_count & (h->family_count - 1)
                             ? h->family /* grows at powers of two */
                             : realloc(h->family, (h->family_count ? 2 * h->family_count : 1) * sizeof *grown);
        if (!grown) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        h->family = grown;
        h->family[h->family_count++] = (descent){edge.attempt, edge.parent};
    }
    return row == 0;
}

/* The parent of an attempt, 0 none; asked for in order of attempts. */
static int64_t parent_of(history *h, int64_t attempt)
{
    while (h->next < h->family_count && h->family[h->next].attempt < attempt) h->next++;
    return h->next < h->family_count && h->family[h->next].attempt == attempt ? h->family[h->next].parent : 0;
}

/* The arm of an attempt; NULL when it has none (any more). */
static bool arm_of(history *h, const kf_store_attempt *attempt, kf_step step, int64_t parent, kf_arm **arm, kf_error *error)
{
    kf_search *s = h->s;
    *arm = NULL;
    if (step == KF_STEP_TUNE) {
        for (size_t i = 0; i < s->arm_count && parent; i++)
            if (s->arms[i]->base == parent) *arm = s->arms[i];
        return true;
    }
    size_t size;
    kf_autofree char *source = kf_store_source(s->store, attempt->candidate, &size, error);
    if (!source) return false;
    *arm = kf_arm_find(s, source, size);
    bool from_task = step == KF_STEP_BASELINE || step == KF_STEP_SEED;
    if (!*arm && !from_task) *arm = kf_arm_add(s, kf_step_name(step), source, size, false, error);
    return *arm || from_task;
}

/* As in kf_record_result: the first verdict on a candidate that blames machine or judge is not its last word. */
static bool is_spoilt(history *h, const kf_store_attempt *attempt, bool *spoilt, kf_error *error)
{
    *spoilt = attempt->outcome == KF_ATTEMPT_JUDGED && (attempt->blame == KF_BLAME_MACHINE || attempt->blame == KF_BLAME_JUDGE);
    for (size_t i = 0; i < h->flake_count && *spoilt; i++)
        if (h->flakes[i] == attempt->candidate) return *spoilt = false, true;
    if (!*spoilt) return true;
    int64_t *grown = realloc(h->flakes, (h->flake_count + 1) * sizeof *grown);
    if (!grown) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    h->flakes = grown;
    h->flakes[h->flake_count++] = attempt->candidate;
    return true;
}

/* What the attempt meant for those that followed. */
static bool take(history *h, const kf_store_attempt *attempt, kf_step step, int64_t parent, kf_error *error)
{
    kf_autoresult kf_store_candidate candidate = {0};
    if (!kf_store_get_candidate(h->s->store, attempt->candidate, h->s->progress.run, &candidate, error)) return false;
    return kf_survivors_take(h->s,
                             &(kf_outcome){.step = step,
                                           .candidate = attempt->candidate,
                                           .parent = parent,
                                           .island = attempt->island,
                                           .of_model = attempt->model_call > 0,
                                           .status = attempt->verdict ? attempt->status : KF_JUDGE_ERROR,
                                           .blame = attempt->verdict ? attempt->blame : KF_BLAME_MACHINE,
                                           .speedup = attempt->verdict ? attempt->speedup.value : NAN,
                                           .floor_share = kf_features_floor(candidate.features),
                                           .cell = candidate.cell},
                             error);
}

static bool replay(history *h, const kf_store_attempt *attempt, kf_error *error)
{
    kf_search *s = h->s;
    kf_step step;
    kf_arm *arm;
    bool spoilt;
    int64_t parent = parent_of(h, attempt->number);
    if (!kf_step_parse(attempt->step, &step) || !attempt->candidate) return true;
    if (step == KF_STEP_VERIFY) {
        kf_verify_tried(s, attempt->candidate);
        return take(h, attempt, step, parent, error);
    }
    if (attempt->outcome == KF_ATTEMPT_JUDGED || attempt->outcome == KF_ATTEMPT_SAME_CODE || attempt->outcome == KF_ATTEMPT_LOST)
        s->progress.judged++;
    if (attempt->outcome == KF_ATTEMPT_JUDGED || attempt->outcome == KF_ATTEMPT_SAME_CODE) s->judged_since_verify++;
    if (!is_spoilt(h, attempt, &spoilt, error) || !arm_of(h, attempt, step, parent, &arm, error)) return false;
    if (spoilt) return true;
    if (!take(h, attempt, step, parent, error)) return false;
    if (!arm) return true;
    kf_tune_point point = arm->initial;
    if (attempt->tunables[0] && step == KF_STEP_TUNE && !kf_point_read(arm, attempt->tunables, &point)) return true;
    bool timed = attempt->verdict && attempt->status == KF_CORRECT && attempt->speedup.value > 0;
    kf_arm_report(arm, &point, timed ? attempt->speedup.value : NAN);
    if (step == KF_STEP_TUNE) {
        arm->points++;
        return true;
    }
    arm->settled = true;
    if (!arm->base) arm->base = attempt->candidate;
    if (step == KF_STEP_BASELINE) s->baseline_candidate = attempt->candidate;
    return true;
}

static bool read_attempts(history *h, kf_error *error)
{
    if (!read_family(h, error)) return false;
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(h->s->store, h->s->progress.run, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_attempt(cursor, &attempt, error) : row) == 1) {
        h->s->progress.attempts = attempt.number;
        if (!replay(h, &attempt, error)) return false;
    }
    return row == 0;
}

bool kf_state_restore(kf_search *s, kf_error *error)
{
    history h = {.s = s};
    bool restored = read_attempts(&h, error) && read_state(s, error);
    free(h.family);
    free(h.flakes);
    return restored;
}
