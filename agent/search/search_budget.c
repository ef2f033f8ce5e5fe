/* Time, progress and budgets of a run: which budget is spent, and what the search still waits for
 * then.
 *
 * The time is that of the whole run. At its end the best is measured again, which takes longer
 * than a first measurement. The search keeps a share of the time for it, once there is a candidate
 * to measure again. */
#include <math.h>
#include <time.h>

#include "kforge/file.h"
#include "kforge/list.h"
#include "search_internal.h"

/* largest share of the time that is kept for measuring again */
#define MOST_RESERVED 0.4

/* True if a paid reply or its candidate still has no verdict. */
static bool owes_verdicts(const kf_search *s)
{
    if (s->calls.replies || s->jobs.retries) return true;
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next)
        if (p->origin.model >= 0 && p->origin.step != KF_STEP_TRY) return true;
    return false;
}

/* True if all samples of a benchmark have been drawn and judged. */
static bool sampled(const kf_search *s)
{
    return s->settings->samples && s->calls.answered >= s->settings->samples && !owes_verdicts(s);
}

double kf_search_elapsed(const kf_search *s)
{
    double now = s->clock.ended > 0 ? s->clock.ended : kf_now();
    return s->clock.elapsed_before + (s->clock.started > 0 ? now - s->clock.started : 0);
}

double kf_search_moment(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool kf_search_add_start(kf_search *s, kf_error *error)
{
    kf_run_clock *clock = &s->clock;
    if (!kf_list_grow(&clock->starts, clock->start_count))
        return kf_fail_memory(error, "the time of a run");
    clock->starts[clock->start_count++] = (kf_run_start){
        clock->began > 0 ? fmax(kf_search_moment() - clock->began, 0) : 0, clock->elapsed_before};
    return true;
}

void kf_search_start_clock(kf_search *s)
{
    kf_run_clock *clock = &s->clock;
    clock->started = kf_now();
    clock->starts[clock->start_count - 1].after = fmax(kf_search_moment() - clock->began, 0);
}

int64_t kf_search_position(const kf_search *s)
{
    int64_t count =
        2 * s->progress.attempts + 2 * s->progress.calls + kf_calls_count(&s->calls, -1);
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next) count++;
    return count;
}

double kf_search_time_left(const kf_search *s)
{
    double limit = s->settings->budget.seconds;
    return limit > 0 ? limit - kf_search_elapsed(s) : INFINITY;
}

/* True if a candidate that may be the best waits to be measured again. */
static bool awaits_again(const kf_search *s)
{
    const kf_member *fastest = kf_population_best(s->selection.population, -1);
    if (!s->progress.best || !fastest) return false;
    return !s->progress.best_reverified || fastest->speedup > s->verification.best;
}

double kf_search_reserve(const kf_search *s)
{
    if (!awaits_again(s)) return 0;
    double seconds = s->settings->verify_seconds > 0 ? s->settings->verify_seconds : 3;
    /* It is measured twice. */
    double one = fmax(s->verification.longest, 2 * (s->progress.usual + seconds));
    return fmin(one, MOST_RESERVED * s->settings->budget.seconds);
}

const char *kf_search_models_spent(const kf_search *s)
{
    const kf_search_budget *budget = &s->settings->budget;
    if (budget->cost_usd > 0 && s->progress.cost_usd >= budget->cost_usd)
        return "the money of the budget is spent";
    if (budget->tokens > 0 && s->progress.tokens >= budget->tokens)
        return "the tokens of the budget are spent";
    if (budget->replies > 0 && s->progress.replies >= budget->replies)
        return "all model replies of the budget have come";
    return NULL;
}

const char *kf_search_spent(const kf_search *s, bool ahead)
{
    const kf_search_budget *budget = &s->settings->budget;
    int64_t flying = 0;
    for (const kf_proposal *p = s->jobs.in_flight; ahead && p; p = p->next)
        flying += p->origin.step != KF_STEP_VERIFY;
    if (sampled(s)) return "all samples are drawn";
    if (budget->seconds > 0 && kf_search_time_left(s) <= kf_search_reserve(s))
        return "the time of the budget is used up";
    if (budget->candidates > 0 && s->progress.judged + flying >= budget->candidates)
        return "all candidates of the budget are judged";
    /* Expect that a candidate in flight takes as long as the others did. */
    double mean = s->progress.judged ? s->progress.device_seconds / (double)s->progress.judged : 0;
    if (budget->device_seconds > 0 &&
        s->progress.device_seconds + mean * (double)flying >= budget->device_seconds)
        return "the device time of the budget is used up";
    /* Paid replies are still judged. A search sends no further requests. Samples in flight are
     * waited for. */
    bool waiting = owes_verdicts(s) || (s->settings->samples && s->calls.in_flight);
    if (!waiting && kf_search_models_spent(s)) return kf_search_models_spent(s);
    /* No model has room for another request, and all reservations were returned. */
    if (s->models.budget_spent && !s->calls.in_flight && !owes_verdicts(s) &&
        !kf_ensemble_alive(&s->models))
        return s->models.why.text;
    return kf_selection_stop(s);
}
