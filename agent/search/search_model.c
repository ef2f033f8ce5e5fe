/* Models: which one is asked, and what its reply becomes. What it is asked for is search_choose.c's
 * business, which of several models is asked search_ensemble.c's.
 *
 * A reply is stored, with the note that its candidate is still to be judged, before anything is
 * made of it: money spent is never lost.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extract.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "search_internal.h"

/* kf_llm_progress of a reply that did not come before the run ended */
#define NEVER (INT64_C(1) << 50)
#define FIRST_PAUSE 0.2 /* after a failure; doubles */
#define LONGEST_PAUSE 30
#define BUSY_PAUSE 0.5 /* before a model that takes no more requests is asked again */

/* ---- opening --------------------------------------------------------------------------------- */

void kf_call_free(kf_call *call)
{
    if (!call) return;
    free(call->prompt);
    free(call->text);
    free(call);
}

/* What the run's models may use in all, less what earlier sessions used. */
static kf_budget budget_of(const kf_search_settings *settings, const kf_search_progress *progress)
{
    const kf_search_budget *limit = &settings->budget;
    return (kf_budget){
        .limit = {kf_nanodollars(limit->cost_usd), limit->tokens, limit->requests},
        .spent = {kf_nanodollars(progress->cost_usd), progress->tokens, progress->requests}};
}

bool kf_models_check(const kf_search_settings *settings, kf_error *error)
{
    const kf_budget budget = budget_of(settings, &(kf_search_progress){0});
    if (settings->model_count > KF_SEARCH_MODELS)
        return kf_fail(error, KF_ERROR_INPUT, "%zu models, more than %d", settings->model_count,
                       KF_SEARCH_MODELS);
    for (size_t i = 0; i < settings->model_count; i++) {
        kf_auto(kf_llm) llm = kf_llm_open(settings->models[i], error);
        if (!llm || !kf_llm_check_budget(llm, &budget, error)) return false;
    }
    return true;
}

/* Frozen prices are of no interest where a spec is shown. */
static char *without_prices(const char *spec)
{
    kf_autobuffer text = {0};
    for (const char *at = spec; *at;) {
        const char *price = strstr(at, ",price_");
        kf_buffer_append(&text, at, price ? (size_t)(price - at) : strlen(at));
        at = price ? price + 1 + strcspn(price + 1, ",:") : "";
    }
    return kf_buffer_take(&text);
}

char *kf_search_model_name(const char *spec)
{
    /* Not the whole command line of an exec: it may hold secrets. */
    kf_autofree char *shown = without_prices(spec);
    const char *exec = shown ? strstr(shown, "exec") : NULL;
    bool hides = exec && (exec == shown || strncmp(shown, "fallback", 8) == 0);
    return shown ? strndup(shown, hides ? (size_t)(exec + 4 - shown) : strlen(shown)) : NULL;
}

bool kf_models_open(kf_search *s, kf_error *error)
{
    const kf_search_settings *settings = s->settings;
    s->budget = budget_of(settings, &s->progress);
    /* the tuner alone, whatever models there are */
    if (!kf_strategy_asks(&s->strategy)) return true;
    for (size_t i = 0; i < settings->model_count; i++) {
        kf_model *model = &s->models[s->model_count];
        /* What the state of the run says of it holds when it is the same model. */
        if (!model->spec || strcmp(model->spec, settings->models[i]) != 0) {
            free(model->spec);
            free(model->note);
            *model = (kf_model){.spec = strdup(settings->models[i])};
        }
        if (!model->spec) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        model->llm = kf_llm_open(model->spec, error);
        if (!model->llm) return false;
        if (kf_llm_is_none(model->llm)) {
            kf_llm_close(kf_steal(&model->llm));
            continue;
        }
        kf_llm_set_budget(model->llm, &s->budget);
        model->name = kf_search_model_name(model->spec);
        if (!model->name) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        s->model_count++;
    }
    /* Another budget is another chance; and one of the models may be another. */
    const kf_amount *limit = &s->budget.limit;
    const int64_t limits[] = {limit->nanodollars, limit->tokens, limit->requests};
    if (s->budget_spent && memcmp(limits, s->budget_known, sizeof limits) != 0) {
        for (size_t i = 0; i < s->model_count; i++) s->models[i].exhausted = false;
        s->budget_spent = false;
    }
    if (kf_models_alive(s)) s->models_gone = false, s->models_why = (kf_error){0};
    if (!s->model_count) return true;
    s->system_text = kf_search_system(s, error);
    return s->system_text;
}

void kf_models_close(kf_search *s)
{
    for (int i = 0; i < KF_SEARCH_MODELS; i++) {
        kf_llm_close(s->models[i].llm);
        free(s->models[i].spec);
        free(s->models[i].name);
        free(s->models[i].note);
    }
    for (kf_call *c; (c = s->calls);) s->calls = c->next, kf_call_free(c);
    for (kf_call *c; (c = s->replies);) s->replies = c->next, kf_call_free(c);
    for (kf_due *d; (d = s->dues);) s->dues = d->next, free(d);
}

bool kf_models_alive(const kf_search *s)
{
    for (size_t i = 0; i < s->model_count; i++)
        if (!s->models[i].exhausted) return true;
    return false;
}

/* The budget has no room for another request to this model. */
static void note_budget(kf_search *s, int index, const kf_error *why)
{
    s->budget_spent = true;
    s->models[index].exhausted = true;
    if (!kf_models_alive(s)) s->models_why = *why;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int64_t flying(const kf_search *s, int model)
{
    int64_t count = 0;
    for (const kf_call *c = s->calls; c; c = c->next) count += model < 0 || c->model == model;
    return count;
}

static bool call_is_due(const kf_search *s)
{
    if (!kf_strategy_asks(&s->strategy) || (s->quota > 0 && kf_tunable_sources_more(s)))
        return false;
    size_t limit =
        s->settings->calls > 0 ? (size_t)s->settings->calls : kf_workers_devices(s->workers);
    size_t busy = (size_t)flying(s, -1);
    /* busy: in flight so far. */
    if (s->settings->samples &&
        (s->answered + (int64_t)busy >= s->settings->samples || kf_search_paid(s)))
        return false;
    for (const kf_call *c = s->replies; c; c = c->next) {
        /* it decides what is asked next, and using it does not move the clock on */
        if (kf_step_is_critic(c->step)) return false;
        busy++;
    }
    for (const kf_proposal *p = s->in_flight; p; p = p->next) busy += p->model >= 0;
    for (const kf_proposal *p = s->retries; p; p = p->next) busy += p->model >= 0;
    return busy < (limit ? limit : 1);
}

bool kf_call_take_back(kf_search *s, kf_call *call, const kf_error *why, kf_error *error)
{
    kf_model *model = &s->models[call->model];
    if (why->code != KF_ERROR_BUSY && why->code != KF_ERROR_LIMIT) return kf_fail_copy(error, why);
    if (why->code == KF_ERROR_LIMIT) note_budget(s, call->model, why);
    model->not_before = kf_now() + BUSY_PAUSE;
    return kf_choose_again(s, call, error);
}

int64_t kf_search_clock(const kf_search *s)
{
    int64_t count = 2 * s->progress.attempts + 2 * s->progress.calls + flying(s, -1);
    for (const kf_proposal *p = s->in_flight; p; p = p->next) count++;
    return count;
}

/* Tells the models how far the run is. */
static void tell_progress(kf_search *s)
{
    for (size_t i = 0; i < s->model_count; i++)
        kf_llm_progress(s->models[i].llm, s->idle ? INT64_MAX : kf_search_clock(s));
}

static bool begin_call(kf_search *s, int model, kf_error *error)
{
    kf_call *call = calloc(1, sizeof *call);
    if (!call) return kf_fail(error, KF_ERROR_MEMORY, "out of memory for a model call");
    call->model = model;
    call->tag = ++s->next_ticket;
    call->asked = kf_search_clock(s);
    call->resting = s->resting;
    const kf_round round = s->round;
    kf_choose(s, call);
    kf_model *m = &s->models[call->model];
    call->temperature = kf_ensemble_temperature(s, call->model);
    /* Samples that know of each other would not be independent. */
    bool alone = s->settings->samples && kf_strategy_is_independent(&s->strategy);
    call->prompt = kf_search_prompt(s, call, alone ? NULL : m->note, error);
    kf_llm_request request = {.system = s->system_text,
                              .prompt = call->prompt,
                              .temperature = call->temperature,
                              .tag = call->tag};
    if (!call->prompt) {
        kf_call_free(call);
        return false;
    }
    kf_error why = {0};
    call->next = s->calls;
    s->calls = call;
    if (!kf_pending_call_store(s, call, error)) return false;
    if (kf_llm_submit(m->llm, &request, &why)) return true;
    s->round = round;
    bool taken_back = kf_call_take_back(s, call, &why, error);
    kf_call_free(kf_call_unlink(s, call->tag));
    return taken_back;
}

/* ---- replies --------------------------------------------------------------------------------- */

static void give_up(kf_search *s, int index, const char *what)
{
    kf_model *model = &s->models[index];
    model->exhausted = true;
    kf_fail(&s->models_why, KF_ERROR_MACHINE, "model %s: %s", model->name, what);
    if (!kf_models_alive(s)) s->models_gone = true;
    kf_search_tell(s, KF_SEARCH_NEWS, "%s; it is not asked again", s->models_why.text);
}

static void count_useless(kf_search *s, int index, const char *why)
{
    kf_model *model = &s->models[index];
    char text[800];
    free(model->note);
    model->note = NULL;
    if (asprintf(&model->note, "Your last reply could not be used: %s", why) < 0)
        model->note = NULL;
    /* a sample is a sample */
    if (++model->useless < KF_MODEL_USELESS || s->settings->samples) return;
    snprintf(text, sizeof text, "%d replies in a row without a candidate; the last: %.500s",
             model->useless, why);
    give_up(s, index, text);
}

static void count_failure(kf_search *s, int index, const char *why)
{
    kf_model *model = &s->models[index];
    char text[800];
    model->failures++;
    model->not_before =
        kf_now() + fmin(FIRST_PAUSE * (double)(1 << (model->failures - 1)), LONGEST_PAUSE);
    if (model->failures < KF_MODEL_FAILURES) return;
    snprintf(text, sizeof text, "%d calls in a row failed; the last: %.500s", model->failures, why);
    give_up(s, index, text);
}

static int64_t tokens_of(const kf_search *s, const kf_call *call, const kf_llm_reply *reply)
{
    int64_t prompt = reply->prompt_tokens >= 0
                         ? reply->prompt_tokens
                         : kf_prompt_tokens(strlen(s->system_text) + strlen(call->prompt));
    return prompt + (reply->completion_tokens >= 0 ? reply->completion_tokens
                                                   : kf_prompt_tokens(reply->size));
}

/* Which of several models it was, and which were left alone when the call was begun: which of them
 * it went to depends on that, and that on the clock on the wall. */
static bool add_resting(const kf_search *s, const kf_call *call, cJSON *json)
{
    if (s->model_count < 2) return true;
    /* two models may have one name */
    if (!cJSON_AddNumberToObject(json, "seat", call->model)) return false;
    cJSON *list = cJSON_AddArrayToObject(json, "resting");
    for (size_t i = 0; i < s->model_count; i++)
        if (call->resting >> i & 1) cJSON_AddItemToArray(list, cJSON_CreateNumber((double)i));
    return list;
}

/* What the provider was told, and when in the search that was; malloc'd. */
static char *settings_of(const kf_search *s, const kf_call *call, const kf_llm_reply *reply,
                         int64_t after)
{
    kf_auto(cJSON) json = reply->settings ? cJSON_Parse(reply->settings) : cJSON_CreateObject();
    bool good = json;
    if (call->temperature >= 0 && !reply->settings)
        good = good && cJSON_AddNumberToObject(json, "temperature", call->temperature);
    good = good && cJSON_AddNumberToObject(json, "asked", (double)call->asked) &&
           cJSON_AddNumberToObject(json, "after", (double)after) && add_resting(s, call, json);
    return good ? cJSON_PrintUnformatted(json) : NULL;
}

/* Stores the call and, in the same transaction, that its reply waits. One that does not wait leaves
 * the transaction open for what follows from that. */
static bool store_call(kf_search *s, kf_call *call, const kf_llm_reply *reply, bool waits,
                       int64_t after, kf_error *error)
{
    kf_model *model = &s->models[call->model];
    kf_autofree char *settings = settings_of(s, call, reply, after);
    if (!settings) return kf_fail(error, KF_ERROR_MEMORY, "out of memory for a model's call");
    s->idle = false;
    call->cost_usd = reply->cost_usd;
    /* Its candidate is not to wait for a disk. */
    if (!(waits ? kf_store_begin_quick(s->store, error) : kf_store_begin(s->store, error)))
        return false;
    call->call =
        kf_store_put_model_call(s->store,
                                &(kf_store_model_call_new){
                                    .run = s->progress.run,
                                    .provider = model->name,
                                    .model = reply->model ? reply->model : "",
                                    .purpose = kf_step_name(call->step),
                                    .settings = settings,
                                    .system = s->system_text,
                                    .prompt = call->prompt,
                                    .prompt_size = strlen(call->prompt),
                                    .reply = reply->text,
                                    .reply_size = reply->size,
                                    .outcome = kf_llm_outcome_name(reply->outcome),
                                    .message = reply->error.text[0] ? reply->error.text : NULL,
                                    .prompt_tokens = reply->prompt_tokens,
                                    .completion_tokens = reply->completion_tokens,
                                    .cost_usd = reply->cost_usd,
                                    .seconds = reply->seconds,
                                },
                                error);
    if (!call->call || !kf_store_drop_pending_call(s->store, s->progress.run, call->tag, error))
        return false;
    model->calls++;
    call->number = ++s->progress.calls;
    s->answered += reply->outcome != KF_LLM_FAILED && !kf_step_is_critic(call->step);
    s->progress.requests += reply->requests;
    s->progress.tokens += tokens_of(s, call, reply);
    if (reply->cost_usd > 0) s->progress.cost_usd += reply->cost_usd;
    if (waits) {
        kf_call **end = &s->replies;
        while (*end) end = &(*end)->next;
        *end = call;
        call->next = NULL;
    }
    return !waits || kf_state_commit(s, error);
}

/* A command is not made to say what its replies cost, and money that nobody counts comes to no
 * limit: a search that counts on it would not end. */
static void tell_costless(kf_search *s, const kf_call *call, const kf_llm_reply *reply)
{
    const kf_model *model = &s->models[call->model];
    bool answered = reply->outcome != KF_LLM_FAILED;
    if (s->told_costless || !s->budget.limit.nanodollars || !answered || !isnan(reply->cost_usd) ||
        kf_llm_is_recorded(model->llm))
        return;
    s->told_costless = true;
    kf_search_tell(s, KF_SEARCH_ADVICE,
                   "%s replies without \"cost_usd\", so that --cost does not bound what it spends: "
                   "--time and --candidates do, or let "
                   "it say its cost (docs/reference/settings.md)",
                   model->name);
}

static bool handle_reply(kf_search *s, kf_call *call, kf_llm_reply *reply, kf_error *error)
{
    int index = call->model;
    if (reply->outcome == KF_LLM_EXHAUSTED) {
        bool kept = kf_choose_again(s, call, error);
        if (s->budget.limit.nanodollars || s->budget.limit.tokens || s->budget.limit.requests)
            note_budget(s, index, &reply->error);
        else
            s->models[index].exhausted = true;
        if (!kf_models_alive(s)) s->models_why = reply->error;
        kf_call_free(call);
        return kept;
    }
    bool usable = reply->outcome == KF_LLM_OK || reply->outcome == KF_LLM_TRUNCATED;
    if (usable) {
        s->models[index].failures = 0;
        call->text = kf_steal(&reply->text);
        reply->text = call->text; /* lent while it is stored */
        call->size = reply->size;
        call->truncated = reply->outcome == KF_LLM_TRUNCATED;
    }
    bool stored = store_call(s, call, reply, usable, kf_search_clock(s) + 1,
                             error); /* it is no longer in flight, and not counted yet */
    if (usable) reply->text = NULL;
    if (stored) tell_costless(s, call, reply);
    if (usable && stored) return true;
    const char *why =
        reply->error.text[0] ? reply->error.text : kf_llm_outcome_name(reply->outcome);
    if (stored) {
        if (reply->outcome == KF_LLM_FAILED)
            count_failure(s, index, why);
        else
            count_useless(s, index, why);
        kf_ensemble_useless(s, index, reply->cost_usd);
        stored = kf_record_failure(s, call, KF_ATTEMPT_MODEL_FAILED, why, error);
    } else if (usable) {
        for (kf_call **at = &s->replies; *at; at = &(*at)->next)
            if (*at == call) {
                *at = call->next;
                break;
            }
    }
    kf_call_free(call);
    return stored;
}

kf_call *kf_call_unlink(kf_search *s, int64_t tag)
{
    for (kf_call **at = &s->calls; *at; at = &(*at)->next) {
        kf_call *call = *at;
        if (call->tag != tag) continue;
        *at = call->next;
        call->next = NULL;
        return call;
    }
    return NULL;
}

/* The next reply that is there, of whichever model. *any: there was one. */
static bool collect(kf_search *s, bool *any, kf_error *error)
{
    *any = false;
    tell_progress(s);
    for (int i = 0; i < (int)s->model_count && !*any; i++) {
        kf_llm_reply reply;
        if (!flying(s, i) || kf_llm_poll(s->models[i].llm, 0, &reply) != 1) continue;
        kf_call *call = kf_call_unlink(s, reply.tag);
        *any = true;
        bool handled = !call || handle_reply(s, call, &reply, error);
        kf_llm_reply_free(&reply);
        if (!handled) return false;
    }
    return true;
}

bool kf_models_step(kf_search *s, bool start, bool *moved, kf_error *error)
{
    if (!kf_pending_call_send(s, error) || !collect(s, moved, error)) return false;
    if (*moved) return true;
    if (!start || !s->model_count || s->models_gone || !call_is_due(s)) return true;
    kf_ensemble_look(s);
    int model = kf_ensemble_next(s, KF_LLM_PROPOSER);
    *moved = model >= 0; /* also where it took no request: then it is another one's turn */
    return model < 0 || begin_call(s, model, error);
}

size_t kf_models_watch(const kf_search *s, struct pollfd *fds, size_t most, double *wake)
{
    size_t count = 0;
    for (size_t i = 0; i < s->model_count; i++)
        if (flying(s, (int)i))
            count += kf_llm_watch(s->models[i].llm, fds + count, most - count, wake);
    return count;
}

/* A call that was ended with the run. Stored whether or not it has left: while it was in flight it
 * decided what else was done, and a replay has to know of it. */
static bool end_call(kf_search *s, kf_call *call, kf_llm_reply *reply, kf_error *error)
{
    bool is_live = kf_llm_ready(s->models[call->model].llm) == KF_LLM_LIVE;
    if (reply->outcome == KF_LLM_EXHAUSTED) reply->outcome = KF_LLM_FAILED;
    bool booked = kf_choose_again(s, call, error) &&
                  (!is_live ||
                   (store_call(s, call, reply, false, NEVER, error) && kf_state_commit(s, error)));
    kf_call_free(call);
    return booked;
}

bool kf_models_stop(kf_search *s, kf_error *error)
{
    s->idle = false;
    for (bool any = true; any;) /* what has come is used when the run goes on */
        if (!collect(s, &any, error)) return false;
    for (size_t i = 0; i < s->model_count; i++) {
        kf_llm_reply reply;
        kf_llm_cancel(s->models[i].llm);
        while (flying(s, (int)i) && kf_llm_poll(s->models[i].llm, 0, &reply) == 1) {
            kf_call *call = kf_call_unlink(s, reply.tag);
            bool ended = !call || end_call(s, call, &reply, error);
            kf_llm_reply_free(&reply);
            if (!ended) return false;
        }
    }
    while (s->calls) { /* of providers that end what they do when they are closed */
        kf_call *call = s->calls;
        kf_llm_reply none = {.outcome = KF_LLM_FAILED,
                             .prompt_tokens = -1,
                             .completion_tokens = -1,
                             .cost_usd = NAN,
                             .seconds = NAN};
        kf_fail(&none.error, KF_ERROR_BUSY, "ended with the run");
        s->calls = call->next;
        if (!end_call(s, call, &none, error)) return false;
    }
    return true;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* The reply's source; NULL with *outcome and the reason. */
static char *source_of(kf_search *s, const kf_call *call, kf_attempt_outcome *outcome,
                       kf_error *why)
{
    *outcome = KF_ATTEMPT_NO_SOURCE;
    if (call->parent && kf_extract_has_edits(call->text, call->size)) {
        int applied;
        kf_autofree char *parent = kf_search_source(s->store, s->progress.run, call->parent, why);
        if (!parent) return NULL;
        *outcome = KF_ATTEMPT_BAD_EDIT;
        return kf_extract_apply(parent, call->text, call->size, &applied, why);
    }
    return kf_extract_source(call->text, call->size, kf_task_entry(s->task), why);
}

/* The note and that its reply no longer waits are one transaction. */
static bool use_summary(kf_search *s, const kf_call *call, kf_error *why, kf_error *error)
{
    if (!kf_store_begin_quick(s->store, error)) return false;
    if (kf_notes_summarise(s, call, why, error)) {
        s->models[call->model].useless = 0;
        return kf_state_commit(s, error);
    }
    kf_store_rollback(s->store);
    return false;
}

static bool use_diagnosis(kf_search *s, const kf_call *call, kf_error *error)
{
    kf_error why = {0};
    bool used = call->step == KF_STEP_SUMMARY ? use_summary(s, call, &why, error)
                                              : kf_choose_diagnosis(s, call, &why, error);
    if (used) {
        s->models[call->model].useless = 0;
        return true;
    }
    if (!why.text[0]) return false;
    count_useless(s, call->model, why.text);
    return kf_record_failure(s, call, KF_ATTEMPT_NO_SOURCE, why.text, error);
}

/* The arm of a reply's source. One that only renames or reformats what was judged before is not
 * judged: the earlier source stands for it, so that a verdict never goes to a source that was not
 * judged. */
static kf_tunable_source *arm_for(kf_search *s, const kf_call *call, char **source, bool *rewritten,
                                  kf_error *error)
{
    kf_tunable_source *arm = kf_tunable_source_find(s, *source, strlen(*source));
    *rewritten = false;
    if (arm) return arm;
    if (!kf_tunable_source_like(s, *source, strlen(*source), &arm, error)) return NULL;
    *rewritten = arm;
    if (arm) return arm;
    char *known;
    if (!kf_record_find_like(s, call->number, *source, strlen(*source), &known, error)) return NULL;
    if (known) {
        *rewritten = strcmp(known, *source) != 0;
        free(*source);
        *source = known;
        if ((arm = kf_tunable_source_find(s, *source, strlen(*source)))) return arm;
    }
    return kf_tunable_source_add(s, kf_step_name(call->step), *source, strlen(*source), false,
                                 error);
}

static bool propose_of(const kf_call *call, kf_tunable_source *arm, bool rewritten,
                       kf_proposal **proposal, kf_error *error)
{
    *proposal = kf_proposal_new(call->step, arm, &arm->initial, error);
    if (!*proposal) return false;
    (*proposal)->rewritten = rewritten;
    (*proposal)->model = call->model;
    (*proposal)->call = call->call;
    (*proposal)->number = call->number;
    (*proposal)->cost_usd = call->cost_usd;
    (*proposal)->parent = call->parent;
    (*proposal)->depth = call->depth > 0 ? call->depth : 0;
    (*proposal)->island = call->island;
    memcpy((*proposal)->others, call->others, sizeof call->others);
    (*proposal)->other_count = call->other_count;
    kf_notes_move(call->text, call->size, (*proposal)->move);
    return true;
}

/* True with *proposal NULL: the reply was of no use, which is recorded. */
static bool propose_reply(kf_search *s, const kf_call *call, kf_proposal **proposal,
                          kf_error *error)
{
    kf_error why = {0};
    kf_attempt_outcome outcome;
    *proposal = NULL;
    /* of a model that this session does without */
    if (call->model < 0 || call->model >= (int)s->model_count) return true;
    if (kf_step_is_critic(call->step)) return use_diagnosis(s, call, error);
    kf_autofree char *source = source_of(s, call, &outcome, &why);
    if (!source) {
        if (call->truncated)
            kf_fail_prefix(&why, "it was cut off at the token limit; answer with less: no remarks, "
                                 "and search/replace edits where they are allowed");
        count_useless(s, call->model, why.text);
        kf_ensemble_useless(s, call->model, call->cost_usd);
        return kf_record_failure(s, call, outcome, why.text, error);
    }
    bool rewritten;
    kf_tunable_source *arm = arm_for(s, call, &source, &rewritten, error);
    if (!arm || !propose_of(call, arm, rewritten, proposal, error)) return false;
    s->models[call->model].useless = 0;
    free(s->models[call->model].note);
    s->models[call->model].note = NULL;
    return true;
}

/* Is the source's hash the one that begins with these digits? */
static bool is_called(const char *source, const char *digits)
{
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(source, strlen(source));
    kf_hash_hex(&hash, hex);
    return *digits && strncmp(hex, digits, strlen(digits)) == 0;
}

bool kf_models_propose_again(kf_search *s, const kf_call *call, const char *hash,
                             kf_tunable_source *arm, kf_proposal **proposal, kf_error *error)
{
    kf_error why = {0};
    kf_attempt_outcome outcome;
    *proposal = NULL;
    kf_autofree char *source = source_of(s, call, &outcome, &why);
    if (!source) return true;
    bool rewritten = !is_called(source, hash);
    if (!arm && rewritten) {
        char *known;
        if (!kf_record_find_like(s, call->number, source, strlen(source), &known, error))
            return false;
        if (!known || !is_called(known, hash)) {
            free(known);
            return true;
        }
        free(source);
        source = known;
    }
    if (!arm)
        arm = kf_tunable_source_add(s, kf_step_name(call->step), source, strlen(source), false,
                                    error);
    return arm && propose_of(call, arm, rewritten, proposal, error);
}

bool kf_models_propose(kf_search *s, kf_proposal **proposal, kf_error *error)
{
    *proposal = NULL;
    kf_call *call = s->replies;
    if (!call) return true;
    s->replies = call->next;
    bool proposed = propose_reply(s, call, proposal, error);
    kf_call_free(call);
    return proposed;
}

/* A candidate that was judged before costs a call and tells nothing: its model is told so, and one
 * that only repeats itself is given up. */
static void count_repeat(kf_search *s, const kf_proposal *p, bool known, kf_status status,
                         double speedup)
{
    int index = p->model;
    kf_model *model = &s->models[index];
    char came_of_it[96];
    model->repeats = known ? model->repeats + 1 : 0;
    if (!known) return;
    if (status == KF_CORRECT && speedup > 0)
        snprintf(came_of_it, sizeof came_of_it, "correct, %.2f times as fast as the baseline",
                 speedup);
    else
        snprintf(came_of_it, sizeof came_of_it, "%s", kf_status_name(status));
    free(model->note);
    if (asprintf(&model->note,
                 "Your last candidate is one that was judged before%s: %s. Change something that "
                 "was not tried yet.",
                 p->rewritten ? ", with other names, comments or layout" : "", came_of_it) < 0)
        model->note = NULL;
    if (model->repeats < KF_MODEL_REPEATS || model->exhausted || s->settings->samples) return;
    /* No failure: it has nothing new to say, as if its recorded replies were used up. */
    model->exhausted = true;
    kf_error why = {0};
    kf_fail(&why, KF_ERROR_LIMIT, "model %s: its last %d candidates were known already",
            model->name, model->repeats);
    if (!kf_models_alive(s)) s->models_why = why;
    kf_search_tell(s, KF_SEARCH_NEWS, "%s; it is not asked again", why.text);
}

bool kf_models_judged(kf_search *s, const kf_proposal *p, bool known, kf_status status,
                      kf_blame blame, double speedup, int64_t candidate, kf_error *error)
{
    s->quota = s->strategy.tune;
    if (p->model < (int)s->model_count) count_repeat(s, p, known, status, speedup);
    bool counts = status == KF_CORRECT || blame == KF_BLAME_CANDIDATE;
    if (counts && !kf_choose_summary(s, error)) return false;
    bool repairable = blame == KF_BLAME_CANDIDATE && status != KF_CORRECT &&
                      status != KF_CHEATING && status != KF_IMPOSSIBLE;
    return !repairable || kf_choose_repair(s, p, status, candidate, error);
}
