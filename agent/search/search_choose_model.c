/* Which of several models gets the next call, and how its results count.
 *
 * A bandit (bandit.h) weighs reward by cost. Rewards are milestones, as in "CUDA Agent", which
 * found them a better signal than raw speedup: 0 for an incorrect or missing candidate, 1/2 for a
 * correct one, 3/4 for one over 5 % faster than the baseline, 1 for the best of the run so far. A
 * known candidate earns nothing, since repeating the best must not pay. A verdict that blames the
 * machine does not count.
 *
 * The cost is that of the reply plus a fixed amount for judging the candidate. So a free local
 * model is cheap, but not infinitely good. Measured judging times do not count, so that a replay
 * makes the same choices. */
#include <math.h>

#include "kforge/file.h"
#include "search_internal.h"

/* 3 s of a device at $2.40 an hour */
#define JUDGING_USD 0.002
#define CLEARLY_FASTER 1.05

static const kf_bandit_rule rule = {.least_cost = JUDGING_USD};

/* Returns how many calls, replies and candidates of the model have no result yet. */
static int64_t open_pulls(const kf_search *s, int model)
{
    int64_t count = 0;
    for (const kf_call *c = s->calls.in_flight; c; c = c->next) count += c->origin.model == model;
    for (const kf_call *c = s->calls.replies; c; c = c->next) count += c->origin.model == model;
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next)
        count += p->origin.model == model && p->origin.step != KF_STEP_TRY;
    for (const kf_proposal *p = s->jobs.retries; p; p = p->next)
        count += p->origin.model == model && p->origin.step != KF_STEP_TRY;
    return count;
}

static bool has_role(const kf_search *s, kf_llm_role role)
{
    for (size_t i = 0; i < s->models.count; i++)
        if (!s->models.items[i].exhausted &&
            (kf_llm_traits_of(s->models.items[i].llm)->role & role))
            return true;
    return false;
}

/* True if a replayed call was sent at this position; *models: which models were paused then. Older
 * runs do not store it. */
static bool was_paused(const kf_search *s, uint64_t *models)
{
    for (size_t i = 0; i < s->models.count; i++)
        if (kf_llm_resting(s->models.items[i].llm, models)) return true;
    return false;
}

/* True if the model has as many calls in flight as it may have. */
static bool is_full(const kf_search *s, int model)
{
    if (!kf_is_agent(s, model)) return s->models.full;
    return kf_episodes_open(s, model) >= kf_llm_episodes(s->models.items[model].llm);
}

/* True if the model is paused: after a failure, or, if it is recorded, until the position of its
 * next request.
 *
 * A recorded model without further replies may have been paused at the end of its run. So it gets
 * another request only when nothing else goes on and no other model of its run has replies left. */
static bool is_paused(const kf_search *s, size_t model, double now)
{
    kf_llm_readiness ready = kf_llm_ready(s->models.items[model].llm);
    uint64_t resting;
    bool others = false;
    if (was_paused(s, &resting)) return resting >> model & 1;
    for (size_t i = 0; i < s->models.count && ready == KF_LLM_USED_UP; i++) {
        kf_llm_readiness other = kf_llm_ready(s->models.items[i].llm);
        others |= other == KF_LLM_READY || other == KF_LLM_NOT_YET;
    }
    switch (ready) {
    case KF_LLM_LIVE: return now < s->models.items[model].not_before || is_full(s, (int)model);
    case KF_LLM_NOT_YET: return true;
    case KF_LLM_USED_UP: return others || !s->clock.idle;
    default: return false;
    }
}

bool kf_ensemble_alive(const kf_models *models)
{
    for (size_t i = 0; i < models->count; i++)
        if (!models->items[i].exhausted) return true;
    return false;
}

bool kf_ensemble_can_call(const kf_models *models, size_t model)
{
    return !models->items[model].exhausted && !(models->paused >> model & 1);
}

void kf_ensemble_look(kf_search *s)
{
    double now = kf_now();
    s->models.paused = 0;
    for (size_t i = 0; i < s->models.count; i++)
        /* A replay learns only from this that a model refused before its first call. */
        if (s->models.probes[s->models.items[i].given].refusal || is_paused(s, i, now))
            s->models.paused |= UINT64_C(1) << i;
}

int kf_ensemble_next(const kf_search *s, kf_llm_role role)
{
    kf_bandit_arm arms[KF_SEARCH_MODELS];
    int64_t calls[KF_SEARCH_MODELS];
    /* Without a model in this role any model takes it. */
    bool any = !has_role(s, role);
    for (size_t i = 0; i < s->models.count; i++) {
        const kf_model *model = &s->models.items[i];
        const kf_llm_traits *traits = kf_llm_traits_of(model->llm);
        arms[i] = model->arm;
        arms[i].weight = traits->weight;
        arms[i].closed = !kf_ensemble_can_call(&s->models, i) || !(any || (traits->role & role)) ||
                         (role == KF_LLM_CRITIC && kf_is_agent(s, (int)i));
        arms[i].flying = 0;
        calls[i] = model->calls;
        for (const kf_call *c = s->calls.in_flight; c; c = c->next)
            calls[i] += c->origin.model == (int)i;
        if (!s->settings->by_share) arms[i].flying = open_pulls(s, (int)i);
    }
    if (s->settings->by_share) return kf_bandit_share(arms, calls, s->models.count);
    uint64_t chance =
        (s->settings->seed + (uint64_t)s->progress.calls + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return kf_bandit_choose(arms, s->models.count, &rule, chance ^ chance >> 31);
}

double kf_ensemble_temperature(const kf_search *s, int model)
{
    int64_t calls = s->models.items[model].calls;
    for (const kf_call *c = s->calls.in_flight; c; c = c->next) calls += c->origin.model == model;
    return kf_llm_temperature(kf_llm_traits_of(s->models.items[model].llm), calls);
}

static void result(kf_models *models, int model, double reward, double cost_usd)
{
    kf_bandit_arm arms[KF_SEARCH_MODELS];
    /* It belongs to a session with more models. */
    if (model < 0 || model >= (int)models->count) return;
    for (size_t i = 0; i < models->count; i++) arms[i] = models->items[i].arm;
    kf_bandit_result(arms, models->count, (size_t)model, reward,
                     (cost_usd > 0 ? cost_usd : 0) + JUDGING_USD, &rule);
    for (size_t i = 0; i < models->count; i++) models->items[i].arm = arms[i];
}

void kf_ensemble_useless(kf_models *models, int model, double cost_usd)
{
    result(models, model, 0, cost_usd);
}

void kf_ensemble_judged(kf_search *s, const kf_proposal *p, bool known, kf_status status,
                        kf_blame blame, double speedup)
{
    if (p->origin.model < 0 || p->origin.step == KF_STEP_TRY ||
        (blame == KF_BLAME_MACHINE || blame == KF_BLAME_JUDGE))
        return;
    /* NaN without a best */
    bool best = !(s->progress.best_speedup.value >= speedup);
    double reward = known || status != KF_CORRECT ? 0
                    : !(speedup > CLEARLY_FASTER) ? 0.5
                    : best                        ? 1
                                                  : 0.75;
    result(&s->models, p->origin.model, reward, p->origin.cost_usd);
}
