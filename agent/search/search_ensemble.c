/* Several models: whose turn it is, and what came of it.
 *
 * The bandit (bandit.h) weighs a model's reward by the dollar. A reply's reward is that of its
 * candidate, milestones as in "CUDA Agent", which found them a better signal than raw speedup:
 * incorrect or no candidate 0, correct 1/2, over 5 % faster than the baseline 3/4, the best of the
 * run until then 1. A candidate that was known already earns nothing: else repeating the best would
 * pay. What the machine spoilt is no result at all.
 *
 * Money is what a reply cost, and beside it a fixed amount for what every reply costs whoever wrote
 * it: judging its candidate takes some seconds of a device. So a model of one's own, for which no
 * money is paid, is cheap but not infinitely so, and choices don't depend on how fast the machine
 * was: with the same seed, verdicts and costs a run repeats itself.
 */
#include <math.h>

#include "kforge/file.h"
#include "search_internal.h"

#define JUDGING_USD 0.002 /* 3 s of a device at $2.40 an hour */
#define CLEARLY_FASTER 1.05

static const kf_bandit_rule rule = {.least_cost = JUDGING_USD};

/* A model's calls in flight, replies that wait and candidates under way: pulls whose end is not
 * known. */
static int64_t open_pulls(const kf_search *s, int model)
{
    int64_t count = 0;
    for (const kf_call *c = s->calls.in_flight; c; c = c->next) count += c->origin.model == model;
    for (const kf_call *c = s->calls.replies; c; c = c->next) count += c->origin.model == model;
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next)
        count += p->origin.model == model;
    for (const kf_proposal *p = s->jobs.retries; p; p = p->next) count += p->origin.model == model;
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

/* A call that is repeated was begun now: which models were left alone then? Without that, in runs
 * of an older kforge, all but those that were asked. */
static bool was_resting(const kf_search *s, uint64_t *models)
{
    for (size_t i = 0; i < s->models.count; i++)
        if (kf_llm_resting(s->models.items[i].llm, models)) return true;
    return false;
}

/* After a failure a model is left alone for a while; a recorded one is asked when it was asked.
 * What it said is all recorded, what it was still thinking about when its run ended included: once
 * that is used up it was not asked again before that end, perhaps because it was left alone just
 * then. So it is asked once more, and found to have nothing left, only when nothing else goes on
 * and no other model of its run has something left. */
static bool is_pausing(const kf_search *s, size_t model, double now)
{
    kf_llm_readiness ready = kf_llm_ready(s->models.items[model].llm);
    uint64_t resting;
    bool others = false;
    if (was_resting(s, &resting)) return resting >> model & 1;
    for (size_t i = 0; i < s->models.count && ready == KF_LLM_USED_UP; i++) {
        kf_llm_readiness other = kf_llm_ready(s->models.items[i].llm);
        others |= other == KF_LLM_READY || other == KF_LLM_NOT_YET;
    }
    switch (ready) {
    case KF_LLM_LIVE: return now < s->models.items[model].not_before;
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

bool kf_ensemble_can_ask(const kf_models *models, size_t model)
{
    return !models->items[model].exhausted && !(models->paused >> model & 1);
}

void kf_ensemble_look(kf_search *s)
{
    double now = kf_now();
    s->models.paused = 0;
    for (size_t i = 0; i < s->models.count; i++)
        if (is_pausing(s, i, now)) s->models.paused |= UINT64_C(1) << i;
}

int kf_ensemble_next(const kf_search *s, kf_llm_role role)
{
    kf_bandit_arm arms[KF_SEARCH_MODELS];
    int64_t calls[KF_SEARCH_MODELS];
    bool any = !has_role(s, role); /* somebody has to do it */
    for (size_t i = 0; i < s->models.count; i++) {
        const kf_model *model = &s->models.items[i];
        const kf_llm_traits *traits = kf_llm_traits_of(model->llm);
        arms[i] = model->arm;
        arms[i].weight = traits->weight;
        arms[i].closed = !kf_ensemble_can_ask(&s->models, i) || !(any || (traits->role & role));
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
    if (model < 0 || model >= (int)models->count) return; /* of a session with more models */
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
    if (p->origin.model < 0 || (blame == KF_BLAME_MACHINE || blame == KF_BLAME_JUDGE)) return;
    bool best = !(s->progress.best_speedup.value >= speedup); /* NaN: there was none */
    double reward = known || status != KF_CORRECT ? 0
                    : !(speedup > CLEARLY_FASTER) ? 0.5
                    : best                        ? 1
                                                  : 0.75;
    result(&s->models, p->origin.model, reward, p->origin.cost_usd);
}
