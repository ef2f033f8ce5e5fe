/* Small questions to the models before anything is judged.
 *
 * The first real request needs the figures of the baseline, so it leaves only after minutes on a
 * slow task. Until then a wrong key, name or address would stay unseen. So each model over the
 * network gets a question of a few tokens to the same address, with the same key and name. A list
 * of models would cost no tokens, but many servers have none, or show it without a key.
 *
 * With a limit of requests the server is asked for the list first, because that is no request to a
 * model. If the server refuses it, the question follows and counts: keys exist that allow requests
 * but not the list. The last request of a budget is left to the search.
 *
 * Only a refusal counts that will be repeated. For all other failures the first real request
 * decides. The question is no call: it is not stored, no reply counts for a budget, and a replay
 * does not see it. Its cost, its tokens and its request are reserved and booked like those of a
 * call. It ends when the model gets its first real request. */
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "search_internal.h"

/* Servers with a limit of at least 16 exist. The reply has one or two. */
#define PROBE_TOKENS 16

/* ---- asking ---------------------------------------------------------------------------------- */

/* True if the search keeps a request after another question. */
static bool has_room(const kf_search *s)
{
    int64_t asked = 0;
    for (size_t i = 0; i < s->settings->model_count; i++)
        asked += s->models.probes[i].llm && !s->models.probes[i].listing;
    return s->settings->budget.requests - s->progress.requests - asked > 1;
}

/* True if a question costs little. A benchmark counts its requests. */
static bool is_worthwhile(const kf_search *s)
{
    return kf_strategy_calls_models(&s->strategy) && !s->settings->bench && !s->settings->samples &&
           (!s->settings->budget.requests || has_room(s));
}

/* Asks for the list of models, or the small question. False without room in the budget: then the
 * first real request decides. */
static bool ask(kf_probe *probe, bool listing)
{
    kf_error why = {0};
    probe->listing = listing;
    return kf_llm_submit(probe->llm,
                         &(kf_llm_request){.prompt = "Reply with the word: ready",
                                           .temperature = -1,
                                           .max_tokens = PROBE_TOKENS,
                                           .trial = true,
                                           .listing = listing},
                         &why);
}

bool kf_probes_start(kf_search *s, kf_error *error)
{
    if (!is_worthwhile(s)) return true;
    s->models.budget = kf_models_budget(s);
    for (size_t i = 0; i < s->settings->model_count; i++) {
        kf_probe *probe = &s->models.probes[i];
        kf_auto(kf_llm) llm = kf_llm_open(s->settings->models[i], error);
        if (!llm) return false;
        if (!kf_llm_is_remote(llm)) continue;
        kf_llm_set_budget(llm, &s->models.budget);
        probe->llm = kf_steal(&llm);
        if (!ask(probe, s->settings->budget.requests)) kf_llm_close(kf_steal(&probe->llm));
    }
    kf_probes_step(s);
    return true;
}

size_t kf_probes_watch(const kf_search *s, struct pollfd *fds, size_t most, double *wake)
{
    size_t count = 0;
    for (size_t i = 0; i < s->settings->model_count; i++)
        if (s->models.probes[i].llm)
            count += kf_llm_watch(s->models.probes[i].llm, fds + count, most - count, wake);
    return count;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void book(kf_search *s, const kf_llm_reply *reply)
{
    s->progress.requests += reply->requests;
    if (reply->prompt_tokens > 0) s->progress.tokens += reply->prompt_tokens;
    if (reply->completion_tokens > 0) s->progress.tokens += reply->completion_tokens;
    if (reply->cost_usd > 0) s->progress.cost_usd += reply->cost_usd;
}

bool kf_probes_refused(const kf_search *s, kf_error *why)
{
    size_t refused = 0;
    for (size_t i = 0; i < s->settings->model_count; i++) {
        const char *refusal = s->models.probes[i].refusal;
        if (strcmp(s->settings->models[i], "none") == 0) continue;
        if (!refusal) return false;
        kf_fail(why, KF_ERROR_MACHINE, "%s", refusal);
        refused++;
    }
    return refused;
}

static void refuse(kf_search *s, size_t index, const kf_error *why)
{
    kf_probe *probe = &s->models.probes[index];
    kf_error last = {0};
    kf_autofree char *name = kf_search_model_name(s->settings->models, index);
    if (asprintf(&probe->refusal, "model %s: %s", kf_models_shown(name ? name : ""), why->text) < 0)
        probe->refusal = NULL;
    kf_search_notify(s, KF_SEARCH_NEWS, "%s. It gets no more calls in this session.",
                     probe->refusal ? probe->refusal : why->text);
    if (kf_probes_refused(s, &last)) s->models.refused_at = kf_now();
    kf_probes_apply(s);
}

void kf_probes_apply(kf_search *s)
{
    for (size_t i = 0; i < s->models.count; i++) {
        const kf_model *model = &s->models.items[i];
        const char *refusal = s->models.probes[model->given].refusal;
        if (!refusal || model->exhausted) continue;
        /* behind "model NAME: " */
        const char *why = refusal + strlen("model : ") + strlen(kf_models_shown(model->name));
        kf_models_give_up(s, (int)i, true, why);
        kf_search_event_refused(s, model->name, why);
    }
}

void kf_probes_step(kf_search *s)
{
    for (size_t i = 0; i < s->settings->model_count; i++) {
        kf_probe *probe = &s->models.probes[i];
        kf_llm_reply reply;
        if (!probe->llm || kf_llm_poll(probe->llm, 0, &reply) != 1) continue;
        book(s, &reply);
        bool refused = reply.outcome == KF_LLM_FAILED && reply.error.code == KF_ERROR_INPUT;
        bool listed = probe->listing, again = refused && listed && has_room(s) && ask(probe, false);
        if (!again) kf_llm_close(kf_steal(&probe->llm));
        if (refused && !listed) refuse(s, i, &reply.error);
        kf_llm_reply_free(&reply);
    }
}

void kf_probes_end(kf_search *s, int model)
{
    for (size_t i = 0; i < s->settings->model_count; i++) {
        kf_probe *probe = &s->models.probes[i];
        kf_llm_reply reply;
        if (!probe->llm || (model >= 0 && s->models.items[model].given != i)) continue;
        kf_llm_cancel(probe->llm);
        while (kf_llm_poll(probe->llm, 0, &reply) == 1) {
            book(s, &reply);
            kf_llm_reply_free(&reply);
        }
        kf_llm_close(kf_steal(&probe->llm));
    }
}
