/* Shows the next request of a run, or of a new run, without sending it. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/judge.h"
#include "search_internal.h"

/* Fills in the call for the given step, with parents as the strategy draws them. */
static bool choose(kf_search *s, const char *step, kf_call *call, kf_error *error)
{
    kf_step wanted;
    if (!step) {
        kf_choose(s, call);
        return true;
    }
    if (!kf_step_parse(step, &wanted) || wanted == KF_STEP_BASELINE || wanted == KF_STEP_SEED ||
        wanted == KF_STEP_TUNE || wanted == KF_STEP_VERIFY || wanted == KF_STEP_TRY)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "no prompt \"%.40s\"; prompts are draft, improve, repair_build, repair_wrong, "
            "contrast, crossover, rethink, "
            "critic_optimise, critic_repair, episode",
            step);
    kf_draws draws = {.state = s->settings->seed};
    kf_choice best = {.parents = KF_PARENTS_RANK, .island = -1};
    call->origin.step = wanted;
    if (wanted == KF_STEP_DRAFT || wanted == KF_STEP_EPISODE) return true;
    call->origin.parent = kf_population_draw(s->selection.population, &best, &draws);
    best.not = call->origin.parent;
    if (wanted == KF_STEP_CROSSOVER &&
        (call->origin.others[0] = kf_population_draw(s->selection.population, &best, &draws)))
        call->origin.other_count = 1;
    if (wanted == KF_STEP_CONTRAST) {
        kf_contrast contrast = {s->strategy.context.tau, s->strategy.context.width,
                                s->strategy.context.exemplars};
        call->origin.other_count =
            kf_population_contrast(s->selection.population, &contrast, &draws, call->origin.others);
        if (call->origin.other_count)
            call->origin.parent = call->origin.others[--call->origin.other_count];
    }
    bool complete =
        call->origin.parent && (wanted != KF_STEP_CROSSOVER || call->origin.other_count);
    return complete ||
           kf_fail(error, KF_ERROR_INPUT,
                   "%s needs candidates to start from; name a run that has some with --run RUN",
                   step);
}

bool kf_search_preview(kf_store *store, const kf_task *task, const char *run,
                       const kf_search_settings *settings, const char *hardware, const char *step,
                       kf_search_preview_text *text, kf_error *error)
{
    kf_autofree kf_search *s = calloc(1, sizeof *s);
    if (!s) return kf_fail_memory(error, "a search");
    *s = (kf_search){.store = store,
                     .task = task,
                     .settings = settings,
                     .progress = {.best_speedup = {NAN, NAN, NAN}}};
    s->strategy = *settings->strategy.name ? settings->strategy : *kf_strategy_named("auto");
    s->selection.population = kf_population_new();
    s->notes.until = INFINITY;
    const char *mark = strstr(hardware, KF_JUDGE_MARK);
    snprintf(s->progress.hardware, sizeof s->progress.hardware, "%.*s",
             mark ? (int)(mark - hardware) : INT_MAX, hardware);
    kf_call call = {0};
    bool ready = s->selection.population ? kf_prompt_check(settings->prompts, error) &&
                                               kf_tunable_sources_defaults(s, error)
                                         : kf_fail_memory(error, "a search");
    if (ready && run) {
        snprintf(s->progress.run, sizeof s->progress.run, "%s", run);
        ready = kf_state_restore(s, error) && kf_best_refresh(s, true, error);
    }
    /* Set only now, so that the sources got no tuners. */
    s->environment_id = kf_search_environment_id(hardware, settings->baseline);
    if (ready && choose(s, step, &call, error)) {
        text->step = kf_step_name(call.origin.step);
        text->system = kf_search_system(s, error);
        text->prompt = text->system ? kf_search_prompt(s, &call, NULL, error) : NULL;
    }
    kf_search_release(s);
    return text->prompt;
}
