/* Calls to models: when one is due, sending it, and storing its reply. search_choose_request.c
 * chooses what a call asks for, search_choose_model.c which model gets it, and search_replies.c
 * makes a candidate of the reply.
 *
 * A reply is stored before it is used, together with the note that its candidate is still to be
 * judged. So a paid reply is never lost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "search_internal.h"

/* kf_llm_progress of a reply that did not come before the run ended */
#define NEVER (INT64_C(1) << 50)

/* ---- requests -------------------------------------------------------------------------------- */

/* Returns how many calls, replies and candidates of models without episodes have no verdict. */
static size_t ordinary_busy(const kf_search *s)
{
    size_t busy = 0;
    for (const kf_call *c = s->calls.in_flight; c; c = c->next)
        busy += !kf_is_agent(s, c->origin.model);
    for (const kf_call *c = s->calls.replies; c; c = c->next)
        busy += !kf_is_agent(s, c->origin.model);
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next)
        busy += p->origin.model >= 0 && !kf_is_agent(s, p->origin.model);
    for (const kf_proposal *p = s->jobs.retries; p; p = p->next)
        busy += p->origin.model >= 0 && !kf_is_agent(s, p->origin.model);
    return busy;
}

static bool has_place(const kf_search *s, int agent)
{
    return kf_episodes_open(s, agent) < kf_llm_episodes(s->models.items[agent].llm);
}

static bool call_is_due(kf_search *s)
{
    if (!kf_strategy_calls_models(&s->strategy) ||
        (s->sources.quota > 0 && kf_tunable_sources_more(&s->sources)))
        return false;
    size_t limit =
        s->settings->calls > 0 ? (size_t)s->settings->calls : kf_workers_devices(s->workers);
    if (s->settings->samples &&
        (s->calls.answered + kf_calls_count(&s->calls, -1) >= s->settings->samples ||
         kf_search_models_spent(s)))
        return false;
    const int64_t replies = s->settings->budget.replies;
    if (replies > 0 && s->progress.replies + kf_calls_count(&s->calls, -1) >= replies) return false;
    /* It decides the next request. Using it does not change the position. */
    for (const kf_call *c = s->calls.replies; c; c = c->next)
        if (kf_step_is_critic(c->origin.step)) return false;
    /* Episodes take long, and have places of their own. */
    s->models.full = ordinary_busy(s) >= (limit ? limit : 1);
    for (int i = 0; i < (int)s->models.count; i++)
        if (kf_is_agent(s, i) ? has_place(s, i) : !s->models.full) return true;
    return false;
}

/* Gives the models the position of the run. */
static void report_position(kf_search *s)
{
    for (size_t i = 0; i < s->models.count; i++)
        kf_llm_progress(s->models.items[i].llm, s->clock.idle ? INT64_MAX : kf_search_position(s));
}

static bool begin_call(kf_search *s, int model, kf_error *error)
{
    kf_call *call = calloc(1, sizeof *call);
    if (!call) return kf_fail_memory(error, "a model call");
    call->origin.model = model;
    call->tag = ++s->jobs.last_ticket;
    call->sent_at = kf_search_position(s);
    call->paused = s->models.paused;
    const kf_round round = s->selection.round;
    kf_choose(s, call);
    kf_model *m = &s->models.items[call->origin.model];
    call->temperature = kf_ensemble_temperature(s, call->origin.model);
    /* Samples must be independent, so they get no hint from another reply. */
    bool alone = s->settings->samples && kf_strategy_is_independent(&s->strategy);
    call->prompt = kf_search_prompt(s, call, alone ? NULL : m->note, error);
    if (!call->prompt) {
        kf_call_free(call);
        return false;
    }
    kf_error why = {0};
    call->next = s->calls.in_flight;
    s->calls.in_flight = call;
    if (!kf_pending_call_store(s, call, error)) return false;
    /* Reservations of small questions must not keep a request waiting. */
    const kf_amount *limit = &s->models.budget.limit;
    kf_probes_end(s,
                  limit->nanodollars || limit->tokens || limit->requests ? -1 : call->origin.model);
    if (kf_call_submit(s, call, &why)) return true;
    s->selection.round = round;
    bool taken_back = kf_call_take_back(s, call, &why, error);
    kf_call_free(kf_call_unlink(&s->calls, call->tag));
    return taken_back;
}

/* ---- replies --------------------------------------------------------------------------------- */

static int64_t tokens_of(const kf_search *s, const kf_call *call, const kf_llm_reply *reply)
{
    int64_t prompt = reply->prompt_tokens >= 0
                         ? reply->prompt_tokens
                         : kf_prompt_tokens(strlen(s->models.system_text) + strlen(call->prompt));
    return prompt + (reply->completion_tokens >= 0 ? reply->completion_tokens
                                                   : kf_prompt_tokens(reply->size));
}

/* Adds which model got the call, and which were paused then. A replay needs both, since pauses
 * depend on the time. */
static bool add_paused(const kf_search *s, const kf_call *call, cJSON *json)
{
    if (s->models.count < 2) return true;
    /* Two models may have the same name. */
    if (!cJSON_AddNumberToObject(json, "seat", call->origin.model)) return false;
    cJSON *list = cJSON_AddArrayToObject(json, "resting");
    for (size_t i = 0; i < s->models.count; i++)
        if (call->paused >> i & 1) cJSON_AddItemToArray(list, cJSON_CreateNumber((double)i));
    return list;
}

/* Returns the settings for the provider and the positions of request and reply, malloc'd. */
static char *settings_of(const kf_search *s, const kf_call *call, const kf_llm_reply *reply,
                         int64_t after)
{
    kf_auto(cJSON) json = reply->settings ? cJSON_Parse(reply->settings) : cJSON_CreateObject();
    bool good = json;
    if (call->temperature >= 0 && !reply->settings)
        good = good && cJSON_AddNumberToObject(json, "temperature", call->temperature);
    good = good && cJSON_AddNumberToObject(json, "asked", (double)call->sent_at) &&
           cJSON_AddNumberToObject(json, "after", (double)after) && add_paused(s, call, json);
    return good ? cJSON_PrintUnformatted(json) : NULL;
}

/* Stores the call and, in the same transaction, that its reply waits. Without `waits` the
 * transaction stays open for the caller. */
static bool store_call(kf_search *s, kf_call *call, const kf_llm_reply *reply, bool waits,
                       int64_t after, kf_error *error)
{
    kf_model *model = &s->models.items[call->origin.model];
    kf_autofree char *settings = settings_of(s, call, reply, after);
    if (!settings) return kf_fail_memory(error, "a model call");
    s->clock.idle = false;
    call->origin.cost_usd = reply->cost_usd;
    /* A waiting reply is committed without fsync, so that its candidate starts at once. */
    if (!(waits ? kf_store_begin_quick(s->store, error) : kf_store_begin(s->store, error)))
        return false;
    call->origin.call =
        kf_store_put_model_call(s->store,
                                &(kf_store_model_call_new){
                                    .run = s->progress.run,
                                    .provider = model->name,
                                    .model = reply->model ? reply->model : "",
                                    .purpose = kf_step_name(call->origin.step),
                                    .settings = settings,
                                    .system = s->models.system_text,
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
    if (!call->origin.call ||
        !kf_store_drop_pending_call(s->store, s->progress.run, call->tag, error))
        return false;
    model->calls++;
    call->origin.number = ++s->progress.calls;
    s->calls.answered += reply->outcome != KF_LLM_FAILED && !kf_step_is_critic(call->origin.step);
    s->progress.replies += reply->outcome != KF_LLM_FAILED;
    s->progress.cost_unknown |= reply->outcome != KF_LLM_FAILED && isnan(reply->cost_usd) &&
                                !kf_llm_is_recorded(model->llm);
    s->progress.requests += reply->requests;
    s->progress.tokens += tokens_of(s, call, reply);
    if (reply->cost_usd > 0) s->progress.cost_usd += reply->cost_usd;
    kf_search_event_call(s, call, reply);
    if (waits) {
        kf_call **end = &s->calls.replies;
        while (*end) end = &(*end)->next;
        *end = call;
        call->next = NULL;
    }
    return !waits || kf_state_commit(s, error);
}

/* Warns that a command does not report the cost of its replies. Then a limit of money does not end
 * the search. */
static void warn_costless(kf_search *s, const kf_call *call, const kf_llm_reply *reply)
{
    const kf_model *model = &s->models.items[call->origin.model];
    bool answered = reply->outcome != KF_LLM_FAILED;
    if (s->models.costless_reported || !s->models.budget.limit.nanodollars || !answered ||
        !isnan(reply->cost_usd) || kf_llm_is_recorded(model->llm))
        return;
    s->models.costless_reported = true;
    kf_search_notify(
        s, KF_SEARCH_ADVICE,
        "%s replies without \"cost_usd\", so --cost does not limit it. Use --time or --candidates, "
        "or let it report its cost (docs/reference/settings.md).",
        model->name);
}

static bool handle_reply(kf_search *s, kf_call *call, kf_llm_reply *reply, kf_error *error)
{
    int index = call->origin.model;
    if (reply->outcome == KF_LLM_EXHAUSTED) {
        bool kept = kf_choose_again(s, call, error);
        if (s->models.budget.limit.nanodollars || s->models.budget.limit.tokens ||
            s->models.budget.limit.requests)
            kf_models_budget_spent(&s->models, index, &reply->error);
        else
            s->models.items[index].exhausted = true;
        if (!kf_ensemble_alive(&s->models)) s->models.why = reply->error;
        kf_call_free(call);
        return kept;
    }
    bool usable = reply->outcome == KF_LLM_OK || reply->outcome == KF_LLM_TRUNCATED;
    if (usable) {
        s->models.items[index].failures = 0;
        s->models.items[index].answered = true;
        call->text = kf_steal(&reply->text);
        /* Lent until it is stored. */
        reply->text = call->text;
        call->size = reply->size;
        call->truncated = reply->outcome == KF_LLM_TRUNCATED;
    }
    bool stored = store_call(s, call, reply, usable, kf_search_position(s) + 1,
                             /* The call is no longer in flight and not counted yet, hence the 1. */
                             error);
    if (usable) reply->text = NULL;
    if (stored) warn_costless(s, call, reply);
    if (usable && stored) return true;
    const char *why =
        reply->error.text[0] ? reply->error.text : kf_llm_outcome_name(reply->outcome);
    if (stored) {
        if (reply->outcome == KF_LLM_FAILED)
            kf_models_count_failure(s, index, &reply->error, why);
        else
            kf_models_count_useless(s, index, why);
        kf_ensemble_useless(&s->models, index, reply->cost_usd);
        stored = kf_record_failure(s, call, KF_ATTEMPT_MODEL_FAILED, why, error);
    } else if (usable) {
        for (kf_call **at = &s->calls.replies; *at; at = &(*at)->next)
            if (*at == call) {
                *at = call->next;
                break;
            }
    }
    kf_call_free(call);
    return stored;
}

/* Handles the next reply of any model. *any: there was one. */
static bool collect(kf_search *s, bool *any, kf_error *error)
{
    *any = false;
    report_position(s);
    for (int i = 0; i < (int)s->models.count && !*any; i++) {
        kf_llm_reply reply;
        if (!kf_calls_count(&s->calls, i)) continue;
        if (kf_llm_poll(s->models.items[i].llm, 0, &reply) != 1) {
            kf_models_note_trouble(s, i);
            continue;
        }
        kf_call *call = kf_call_unlink(&s->calls, reply.tag);
        *any = true;
        bool handled = !call || handle_reply(s, call, &reply, error);
        kf_llm_reply_free(&reply);
        if (!handled) return false;
    }
    return true;
}

bool kf_calls_step(kf_search *s, bool start, bool *moved, kf_error *error)
{
    kf_probes_step(s);
    if (!kf_pending_call_send(s, error) || !collect(s, moved, error) ||
        !kf_episodes_collect(s, error))
        return false;
    if (*moved) return true;
    if (!start || !s->models.count || s->models.gone || !call_is_due(s)) return true;
    kf_ensemble_look(s);
    int model = kf_ensemble_next(s, KF_LLM_PROPOSER);
    /* Also if it took no request: then another model gets the next call. */
    *moved = model >= 0;
    return model < 0 || begin_call(s, model, error);
}

size_t kf_calls_watch(const kf_search *s, struct pollfd *fds, size_t most, double *wake)
{
    size_t count = 0;
    for (size_t i = 0; i < s->models.count; i++)
        if (kf_calls_count(&s->calls, (int)i))
            count += kf_llm_watch(s->models.items[i].llm, fds + count, most - count, wake);
    return count + kf_probes_watch(s, fds + count, most - count, wake);
}

/* ---- the end of the run ---------------------------------------------------------------------- */

/* Stores a call that the end of the run cancelled. While it was in flight it influenced decisions,
 * so a replay needs it. */
static bool end_call(kf_search *s, kf_call *call, kf_llm_reply *reply, kf_error *error)
{
    bool is_live = kf_llm_ready(s->models.items[call->origin.model].llm) == KF_LLM_LIVE;
    if (reply->outcome == KF_LLM_EXHAUSTED) reply->outcome = KF_LLM_FAILED;
    bool booked = kf_choose_again(s, call, error) &&
                  (!is_live ||
                   (store_call(s, call, reply, false, NEVER, error) && kf_state_commit(s, error)));
    kf_call_free(call);
    return booked;
}

bool kf_calls_stop(kf_search *s, kf_error *error)
{
    s->clock.idle = false;
    kf_probes_end(s, -1);
    /* A reply that has arrived is used after a resume. */
    for (bool any = true; any;)
        if (!collect(s, &any, error)) return false;
    for (size_t i = 0; i < s->models.count; i++) {
        kf_llm_reply reply;
        kf_llm_cancel(s->models.items[i].llm);
        while (kf_calls_count(&s->calls, (int)i) &&
               kf_llm_poll(s->models.items[i].llm, 0, &reply) == 1) {
            kf_call *call = kf_call_unlink(&s->calls, reply.tag);
            bool ended = !call || end_call(s, call, &reply, error);
            kf_llm_reply_free(&reply);
            if (!ended) return false;
        }
    }
    /* Some providers drop their calls when they are closed. */
    while (s->calls.in_flight) {
        kf_call *call = s->calls.in_flight;
        kf_llm_reply none = {.outcome = KF_LLM_FAILED,
                             .prompt_tokens = -1,
                             .completion_tokens = -1,
                             .cost_usd = NAN,
                             .seconds = NAN};
        kf_fail(&none.error, KF_ERROR_BUSY, "ended with the run");
        s->calls.in_flight = call->next;
        if (!end_call(s, call, &none, error)) return false;
    }
    return true;
}
