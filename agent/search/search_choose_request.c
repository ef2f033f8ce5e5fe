/* What a call asks for.
 *
 * Options in this order: a due request (a repair, a candidate that follows a diagnosis); a first
 * draft, until there is one; another algorithm, once the best has not gained for `plateau`
 * candidates; the rest of a round from one parent; else a draw by weight among drafts,
 * improvements, contrast, crossover, rethinking and the critic.
 *
 * All random numbers of a call come from the run's seed and the number of earlier calls. So a call
 * that a crash has lost is chosen in the same way again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "extract.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "search_internal.h"

/* ---- what is due ----------------------------------------------------------------------------- */

static bool make_due(kf_search *s, const kf_due *what, bool first, kf_error *error)
{
    kf_due *due = malloc(sizeof *due), **end = &s->calls.dues;
    if (!due) return kf_fail_memory(error, "a request");
    *due = *what;
    while (*end && !first) end = &(*end)->next;
    due->next = *end;
    *end = due;
    return true;
}

bool kf_choose_again(kf_search *s, const kf_call *call, kf_error *error)
{
    if (!call->due) return true;
    return make_due(s,
                    &(kf_due){.step = call->origin.step,
                              .candidate = call->origin.parent,
                              .critic = call->critic,
                              .model = call->origin.model,
                              .depth = call->origin.depth,
                              .island = call->origin.island},
                    true, error);
}

bool kf_choose_repair(kf_search *s, const kf_proposal *p, kf_status status, int64_t candidate,
                      kf_error *error)
{
    const kf_strategy *t = &s->strategy;
    bool build = status == KF_COMPILE_ERROR || status == KF_UNSUPPORTED_DEVICE;
    if (t->propose.repair_rounds) {
        s->selection.round.failed = candidate;
        return true;
    }
    if (p->origin.step == KF_STEP_EPISODE || p->origin.depth >= t->propose.repairs) return true;
    return make_due(s,
                    &(kf_due){.step = t->propose.critic_repairs ? KF_STEP_CRITIC_REPAIR
                                      : build                   ? KF_STEP_REPAIR_BUILD
                                                                : KF_STEP_REPAIR_WRONG,
                              .candidate = candidate,
                              .model = p->origin.model,
                              .depth = p->origin.depth + 1,
                              .island = p->origin.island},
                    false, error);
}

static bool has_only_agents(const kf_search *s)
{
    for (int i = 0; i < (int)s->models.count; i++)
        if (!kf_is_agent(s, i)) return false;
    return s->models.count > 0;
}

bool kf_choose_summary(kf_search *s, kf_error *error)
{
    const kf_strategy *t = &s->strategy;
    const kf_member *best = kf_population_best(s->selection.population, -1);
    if (!t->context.summary || !best || has_only_agents(s) ||
        s->selection.model_candidates % t->context.summary)
        return true;
    return make_due(s,
                    &(kf_due){.step = KF_STEP_SUMMARY, .candidate = best->candidate, .model = -1},
                    false, error);
}

static bool is_diagnosis(const char *text, size_t size)
{
    kf_auto(cJSON) json = kf_extract_json(text, size, NULL);
    const cJSON *item;
    cJSON_ArrayForEach(item, json) if (cJSON_IsString(item) && *item->valuestring) return true;
    return false;
}

bool kf_choose_diagnosis(kf_search *s, const kf_call *call, kf_error *why, kf_error *error)
{
    if (!is_diagnosis(call->text, call->size))
        return kf_fail(why, KF_ERROR_INPUT, "the reply is no JSON object with a diagnosis");
    kf_step step = KF_STEP_IMPROVE;
    if (call->origin.step == KF_STEP_CRITIC_REPAIR) {
        kf_autoresult kf_store_candidate candidate = {0};
        if (!kf_store_get_candidate(s->store, call->origin.parent, s->progress.run, &candidate,
                                    error))
            return false;
        bool build =
            candidate.status == KF_COMPILE_ERROR || candidate.status == KF_UNSUPPORTED_DEVICE;
        step = build ? KF_STEP_REPAIR_BUILD : KF_STEP_REPAIR_WRONG;
    }
    return make_due(s,
                    &(kf_due){.step = step,
                              .candidate = call->origin.parent,
                              .critic = call->origin.call,
                              /* Any model: the critic may be one that writes no code. */
                              .model = -1,
                              .depth = call->origin.depth,
                              .island = call->origin.island},
                    true, error);
}

/* Takes the first due request, with the model it names if that one can be called. */
static bool take_due(kf_search *s, kf_call *call)
{
    kf_due *due = s->calls.dues;
    if (!due) return false;
    s->calls.dues = due->next;
    call->origin.step = due->step;
    call->origin.parent = due->candidate;
    call->critic = due->critic;
    call->origin.depth = due->depth;
    call->origin.island = due->island;
    call->due = true;
    if (due->model >= 0 && due->model < (int)s->models.count &&
        kf_ensemble_can_call(&s->models, (size_t)due->model))
        call->origin.model = due->model;
    free(due);
    return true;
}

/* ---- parents --------------------------------------------------------------------------------- */

static int64_t draw_parent(const kf_search *s, int island, int64_t not, kf_draws *draws)
{
    const kf_strategy *t = &s->strategy;
    kf_choice choice = {.parents = t->survivors.parents,
                        .island = t->survivors.islands > 1 ? island : -1,
                        .beam = (size_t)t->survivors.beam,
                        .exponent = t->survivors.exponent,
                        .size = t->survivors.tournament,
                        .not = not };
    if (t->survivors.grid > 0 && kf_draw_fraction(draws) < t->survivors.grid) {
        choice.parents = KF_PARENTS_GRID;
        choice.beam = 0;
    }
    return kf_population_draw(s->selection.population, &choice, draws);
}

static void add_exemplars(kf_search *s, kf_call *call, kf_draws *draws)
{
    const kf_strategy *t = &s->strategy;
    int64_t drawn[KF_EXEMPLARS];
    kf_contrast contrast = {
        .tau = t->context.tau, .width = t->context.width, .count = t->context.exemplars};
    int count = kf_population_contrast(s->selection.population, &contrast, draws, drawn);
    for (int i = 0; i < count; i++)
        if (drawn[i] != call->origin.parent)
            call->origin.others[call->origin.other_count++] = drawn[i];
}

/* ---- the draw -------------------------------------------------------------------------------- */

/* Returns the weight, multiplied with `adapt` by the share of its candidates that beat their
 * parent: 2 (paid + 1) / (uses + 2). An untried kind keeps its weight. */
static double weight_of(const kf_search *s, double weight, kf_step step)
{
    const kf_move_count *m = &s->selection.moves[step];
    return s->strategy.propose.adapt ? weight * 2 * (double)(m->paid + 1) / (double)(m->uses + 2)
                                     : weight;
}

static kf_step draw_step(const kf_search *s, kf_draws *draws)
{
    const kf_strategy *t = &s->strategy;
    const struct {
        double weight;
        kf_step step;
        /* least size of the population */
        size_t members;
    } kinds[] = {
        {t->propose.draft, KF_STEP_DRAFT, 0},       {t->propose.improve, KF_STEP_IMPROVE, 1},
        {t->propose.contrast, KF_STEP_CONTRAST, 1}, {t->propose.crossover, KF_STEP_CROSSOVER, 2},
        {t->propose.rethink, KF_STEP_RETHINK, 1},   {t->propose.critic, KF_STEP_CRITIC_OPTIMISE, 1},
    };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    double weights[KINDS], sum = 0;
    size_t members = kf_population_size(s->selection.population);
    for (size_t i = 0; i < KINDS; i++) {
        weights[i] = members >= kinds[i].members ? weight_of(s, kinds[i].weight, kinds[i].step) : 0;
        sum += weights[i];
    }
    double left = kf_draw_fraction(draws) * sum;
    kf_step chosen = KF_STEP_DRAFT;
    for (size_t i = 0; i < KINDS; i++) {
        if (!(weights[i] > 0)) continue;
        chosen = kinds[i].step;
        if ((left -= weights[i]) < 0) break;
    }
    return chosen;
}

/* Chooses within a round: all its requests have the parent and step of the first one. */
static void choose_round(kf_search *s, kf_call *call, kf_draws *draws)
{
    const kf_strategy *t = &s->strategy;
    if (s->selection.round.requests % t->propose.round == 0) {
        bool failed = s->selection.round.requests && !s->selection.round.correct &&
                      s->selection.round.failed && s->selection.round.repairs < t->propose.repairs;
        s->selection.round.repairs = failed ? s->selection.round.repairs + 1 : 0;
        s->selection.round.parent =
            failed ? s->selection.round.failed : draw_parent(s, -1, 0, draws);
        s->selection.round.step = failed                          ? KF_STEP_REPAIR_WRONG
                                  : s->selection.model_candidates ? draw_step(s, draws)
                                                                  : KF_STEP_DRAFT;
        if (s->selection.round.step == KF_STEP_DRAFT) s->selection.round.parent = 0;
        s->selection.round.correct = 0;
        s->selection.round.failed = 0;
    }
    s->selection.round.requests++;
    call->origin.step = s->selection.round.step;
    call->origin.parent = s->selection.round.parent;
}

/* An agent starts from a parent like an improvement, or from the baseline. It repairs and plans by
 * itself, so it gets no other kind of request. */
static void choose_episode(kf_search *s, kf_call *call, kf_draws *draws)
{
    call->origin.step = KF_STEP_EPISODE;
    if (kf_strategy_is_independent(&s->strategy)) return;
    call->origin.parent = draw_parent(s, call->origin.island, 0, draws);
    if (!call->origin.parent) call->origin.parent = draw_parent(s, -1, 0, draws);
}

static bool on_plateau(const kf_search *s)
{
    int plateau = s->strategy.propose.plateau;
    /* It applies again after each further `plateau` candidates. */
    return plateau > 0 && s->selection.since_gain > 0 && s->selection.since_gain % plateau == 0 &&
           kf_population_size(s->selection.population) > 0;
}

/* Gives a diagnosis to a model with the role of a critic, if there is one. */
static void choose_critic(const kf_search *s, kf_call *call)
{
    int critic = kf_step_is_critic(call->origin.step) ? kf_ensemble_next(s, KF_LLM_CRITIC) : -1;
    if (critic >= 0) call->origin.model = critic;
}

static int64_t in_flight(const kf_search *s)
{
    int64_t count = 0;
    for (const kf_call *c = s->calls.in_flight; c; c = c->next) count++;
    return count;
}

static void choose(kf_search *s, kf_call *call)
{
    const kf_strategy *t = &s->strategy;
    bool is_agent = kf_is_agent(s, call->origin.model);
    if (!is_agent && take_due(s, call)) return;
    kf_draws draws = {.state = s->settings->seed ^
                               ((uint64_t)s->progress.calls + 1) * UINT64_C(0xd1342543de82ef95)};
    call->origin.island =
        t->survivors.islands > 1 ? (int)(s->progress.calls % t->survivors.islands) : 0;
    if (is_agent) {
        choose_episode(s, call, &draws);
        return;
    }
    call->origin.step = KF_STEP_DRAFT;
    if (t->propose.round > 1) {
        choose_round(s, call, &draws);
        return;
    }
    /* Each model drafts first, so that no model only follows another one. */
    int64_t before = s->models.items[call->origin.model].calls;
    for (const kf_call *c = s->calls.in_flight; c; c = c->next)
        before += c->origin.model == call->origin.model;
    if (before == 0 || s->progress.calls + in_flight(s) < t->propose.drafts) return;
    call->origin.step = on_plateau(s) ? KF_STEP_RETHINK : draw_step(s, &draws);
    if (call->origin.step == KF_STEP_DRAFT) return;
    if (call->origin.step == KF_STEP_CONTRAST) {
        add_exemplars(s, call, &draws);
        /* Edits apply to the fastest one. */
        if (call->origin.other_count)
            call->origin.parent = call->origin.others[--call->origin.other_count];
        return;
    }
    call->origin.parent = draw_parent(s, call->origin.island, 0, &draws);
    if (!call->origin.parent) call->origin.parent = draw_parent(s, -1, 0, &draws);
    if (call->origin.step == KF_STEP_CROSSOVER && call->origin.parent) {
        int64_t other = draw_parent(s, call->origin.island, call->origin.parent, &draws);
        if (other)
            call->origin.others[call->origin.other_count++] = other;
        else
            call->origin.step = KF_STEP_IMPROVE;
    } else if (call->origin.step == KF_STEP_IMPROVE && t->context.exemplars) {
        add_exemplars(s, call, &draws);
    }
    if (!call->origin.parent) call->origin.step = KF_STEP_DRAFT;
}

void kf_choose(kf_search *s, kf_call *call)
{
    choose(s, call);
    choose_critic(s, call);
}
