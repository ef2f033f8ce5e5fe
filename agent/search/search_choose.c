/* What a model is asked for next: the strategy's levers at work.
 *
 * In this order: what is due (a repair, a candidate that follows a critic's diagnosis); a first
 * draft, as long as there is nothing of a model's; another algorithm, once the best has not gained
 * for `plateau` candidates; the rest of a round from one parent; else a draw by weight among
 * drafts, improvements, contrast, crossover, rethinking and the critic. All random numbers of a
 * call come from the run's seed and the number of calls before it, so a call that a crash has
 * swallowed asks for the same once more.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "extract.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "search_internal.h"

bool kf_step_is_critic(kf_step step)
{
    return step == KF_STEP_CRITIC_OPTIMISE || step == KF_STEP_CRITIC_REPAIR ||
           step == KF_STEP_SUMMARY;
}

bool kf_strategy_asks(const kf_strategy *t)
{
    return t->draft + t->improve + t->contrast + t->crossover + t->rethink + t->critic > 0;
}

/* ---- what is due ----------------------------------------------------------------------------- */

static bool make_due(kf_search *s, const kf_due *what, bool first, kf_error *error)
{
    kf_due *due = malloc(sizeof *due), **end = &s->dues;
    if (!due) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
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
                    &(kf_due){.step = call->step,
                              .candidate = call->parent,
                              .critic = call->critic,
                              .model = call->model,
                              .depth = call->depth,
                              .island = call->island},
                    true, error);
}

bool kf_choose_repair(kf_search *s, const kf_proposal *p, kf_status status, int64_t candidate,
                      kf_error *error)
{
    const kf_strategy *t = &s->strategy;
    bool build = status == KF_COMPILE_ERROR || status == KF_UNSUPPORTED_DEVICE;
    if (t->repair_rounds) {
        s->round.failed = candidate;
        return true;
    }
    if (p->depth >= t->repairs) return true;
    return make_due(s,
                    &(kf_due){.step = t->critic_repairs ? KF_STEP_CRITIC_REPAIR
                                      : build           ? KF_STEP_REPAIR_BUILD
                                                        : KF_STEP_REPAIR_WRONG,
                              .candidate = candidate,
                              .model = p->model,
                              .depth = p->depth + 1,
                              .island = p->island},
                    false, error);
}

/* The best candidate is shown; the summary itself goes to the notes (search_notes.c). */
bool kf_choose_summary(kf_search *s, kf_error *error)
{
    const kf_strategy *t = &s->strategy;
    const kf_member *best = kf_population_best(s->population, -1);
    if (!t->summary || !best || s->model_candidates % t->summary) return true;
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
    if (call->step == KF_STEP_CRITIC_REPAIR) {
        kf_autoresult kf_store_candidate candidate = {0};
        if (!kf_store_get_candidate(s->store, call->parent, s->progress.run, &candidate, error))
            return false;
        bool build =
            candidate.status == KF_COMPILE_ERROR || candidate.status == KF_UNSUPPORTED_DEVICE;
        step = build ? KF_STEP_REPAIR_BUILD : KF_STEP_REPAIR_WRONG;
    }
    return make_due(s,
                    &(kf_due){.step = step,
                              .candidate = call->parent,
                              .critic = call->call,
                              /* whose turn it is: the critic may be one that writes no code */
                              .model = -1,
                              .depth = call->depth,
                              .island = call->island},
                    true, error);
}

/* The first one that is due, to the model that it is for as long as that one answers. */
static bool take_due(kf_search *s, kf_call *call)
{
    kf_due *due = s->dues;
    if (!due) return false;
    s->dues = due->next;
    call->step = due->step;
    call->parent = due->candidate;
    call->critic = due->critic;
    call->depth = due->depth;
    call->island = due->island;
    call->due = true;
    if (due->model >= 0 && due->model < (int)s->model_count &&
        kf_ensemble_can_ask(s, (size_t)due->model))
        call->model = due->model;
    free(due);
    return true;
}

/* ---- parents --------------------------------------------------------------------------------- */

static int64_t draw_parent(const kf_search *s, int island, int64_t not, kf_draws *draws)
{
    const kf_strategy *t = &s->strategy;
    kf_choice choice = {.parents = t->parents,
                        .island = t->islands > 1 ? island : -1,
                        .beam = (size_t)t->beam,
                        .exponent = t->exponent,
                        .size = t->tournament,
                        .not = not };
    if (t->grid > 0 && kf_draw_fraction(draws) < t->grid) {
        choice.parents = KF_PARENTS_GRID;
        choice.beam = 0;
    }
    return kf_population_draw(s->population, &choice, draws);
}

static void add_exemplars(kf_search *s, kf_call *call, kf_draws *draws)
{
    const kf_strategy *t = &s->strategy;
    int64_t drawn[KF_EXEMPLARS];
    kf_contrast contrast = {.tau = t->tau, .width = t->width, .count = t->exemplars};
    int count = kf_population_contrast(s->population, &contrast, draws, drawn);
    for (int i = 0; i < count; i++)
        if (drawn[i] != call->parent) call->others[call->other_count++] = drawn[i];
}

/* ---- the draw -------------------------------------------------------------------------------- */

/* A weight as it is, or times the share of its candidates that beat what they came from; (paid + 1)
 * / (uses + 2), twice, so that a kind that was never tried keeps its weight. */
static double weight_of(const kf_search *s, double weight, kf_step step)
{
    const kf_move_count *m = &s->moves[step];
    return s->strategy.adapt ? weight * 2 * (double)(m->paid + 1) / (double)(m->uses + 2) : weight;
}

static kf_step draw_step(const kf_search *s, kf_draws *draws)
{
    const kf_strategy *t = &s->strategy;
    const struct {
        double weight;
        kf_step step;
        size_t members; /* that it needs */
    } kinds[] = {
        {t->draft, KF_STEP_DRAFT, 0},       {t->improve, KF_STEP_IMPROVE, 1},
        {t->contrast, KF_STEP_CONTRAST, 1}, {t->crossover, KF_STEP_CROSSOVER, 2},
        {t->rethink, KF_STEP_RETHINK, 1},   {t->critic, KF_STEP_CRITIC_OPTIMISE, 1},
    };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    double weights[KINDS], sum = 0;
    size_t members = kf_population_size(s->population);
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

/* Several requests from one parent (CUDA-LLM's rounds): what the round asks for was settled at its
 * first. */
static void choose_round(kf_search *s, kf_call *call, kf_draws *draws)
{
    const kf_strategy *t = &s->strategy;
    if (s->round.asked % t->round == 0) {
        bool failed =
            s->round.asked && !s->round.correct && s->round.failed && s->round.repairs < t->repairs;
        s->round.repairs = failed ? s->round.repairs + 1 : 0;
        s->round.parent = failed ? s->round.failed : draw_parent(s, -1, 0, draws);
        s->round.step = failed                ? KF_STEP_REPAIR_WRONG
                        : s->model_candidates ? draw_step(s, draws)
                                              : KF_STEP_DRAFT;
        if (s->round.step == KF_STEP_DRAFT) s->round.parent = 0;
        s->round.correct = 0;
        s->round.failed = 0;
    }
    s->round.asked++;
    call->step = s->round.step;
    call->parent = s->round.parent;
}

static bool on_plateau(const kf_search *s)
{
    int plateau = s->strategy.plateau;
    /* Again after as many candidates more. */
    return plateau > 0 && s->since_gain > 0 && s->since_gain % plateau == 0 &&
           kf_population_size(s->population) > 0;
}

/* Models that are critics are asked for diagnoses, where there are such. */
static void choose_critic(const kf_search *s, kf_call *call)
{
    int critic = kf_step_is_critic(call->step) ? kf_ensemble_next(s, KF_LLM_CRITIC) : -1;
    if (critic >= 0) call->model = critic;
}

static int64_t in_flight(const kf_search *s)
{
    int64_t count = 0;
    for (const kf_call *c = s->calls; c; c = c->next) count++;
    return count;
}

static void choose(kf_search *s, kf_call *call)
{
    const kf_strategy *t = &s->strategy;
    if (take_due(s, call)) return;
    kf_draws draws = {.state = s->settings->seed ^
                               ((uint64_t)s->progress.calls + 1) * UINT64_C(0xd1342543de82ef95)};
    call->island = t->islands > 1 ? (int)(s->progress.calls % t->islands) : 0;
    call->step = KF_STEP_DRAFT;
    if (t->round > 1) {
        choose_round(s, call, &draws);
        return;
    }
    /* each model drafts first, so that none only follows another */
    int64_t before = s->models[call->model].calls;
    for (const kf_call *c = s->calls; c; c = c->next) before += c->model == call->model;
    if (before == 0 || s->progress.calls + in_flight(s) < t->drafts) return;
    call->step = on_plateau(s) ? KF_STEP_RETHINK : draw_step(s, &draws);
    if (call->step == KF_STEP_DRAFT) return;
    if (call->step == KF_STEP_CONTRAST) {
        add_exemplars(s, call, &draws);
        /* the fastest is what edits would be made to */
        if (call->other_count) call->parent = call->others[--call->other_count];
        return;
    }
    call->parent = draw_parent(s, call->island, 0, &draws);
    if (!call->parent) call->parent = draw_parent(s, -1, 0, &draws);
    if (call->step == KF_STEP_CROSSOVER && call->parent) {
        int64_t other = draw_parent(s, call->island, call->parent, &draws);
        if (other)
            call->others[call->other_count++] = other;
        else
            call->step = KF_STEP_IMPROVE;
    } else if (call->step == KF_STEP_IMPROVE && t->exemplars) {
        add_exemplars(s, call, &draws);
    }
    if (!call->parent) call->step = KF_STEP_DRAFT;
}

void kf_choose(kf_search *s, kf_call *call)
{
    choose(s, call);
    choose_critic(s, call);
}
