/* The loop of a search: fills the workers, calls models, waits and records, until a budget is
 * spent, nothing is left to try, or the user interrupts. search_choose_candidate.c decides the
 * order of candidates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/store_maintenance.h"
#include "search_internal.h"

/* longest time until an interrupt is noticed */
#define WAIT_SECONDS 0.1
/* time after the search in which further candidates may be measured again, within the budget */
#define FINAL_SECONDS 8
/* time that jobs get to finish once a budget is spent. A resumed run judges the others again. */
#define ENDING_SECONDS 60
#define FINAL_TRIES 4
/* time that jobs get once the time is used up, as a share of it and in seconds at most */
#define GRACE 0.1
#define MOST_GRACE 3
/* a time that may suffice for models if this one did not */
#define LONGER 4
/* number of latest verdicts for the usual time of one */
#define LATEST 16
/* time for further workers to start once the first one is connected */
#define OTHERS_SECONDS 3
/* time for a worker to connect after the last model has refused */
#define REFUSED_SECONDS 2
/* most descriptors of models to wait for */
#define WATCHED 256

const char *kf_search_end_name(kf_search_end end)
{
    static const char *const names[] = {"converged", "spent", "interrupted", "stopped"};
    return names[end];
}

static int interrupts(const kf_search *s)
{
    return s->interrupts ? *s->interrupts : 0;
}

/* Gives each free worker a job. *stuck: it found no job.
 *
 * It takes one step at a time. Before each step it looks at everything again, in the same
 * order: a reply that has come, a call that is due, a proposal. So decisions follow from the
 * state and from what the run stores (when replies came and calls were sent), never from the
 * time that the search waited. */
static bool fill(kf_search *s, bool *stuck, kf_error *error)
{
    *stuck = false;
    while (kf_free_capacity(s) && !kf_search_spent(s, true) && !interrupts(s) && !s->models.gone) {
        kf_proposal *proposal = NULL;
        bool moved = false;
        /* Send due calls before the tuner fills the time until their replies. */
        if (kf_defaults_settled(&s->sources) && !kf_calls_step(s, true, &moved, error))
            return false;
        if (moved) continue;
        const kf_call *waiting = s->calls.replies;
        int quota = s->sources.quota;
        if (!kf_propose(s, &proposal, error)) return false;
        /* The tuner had no point for its turn, or the reply was a diagnosis or useless. Then a
         * call is due now. */
        if (!proposal && ((quota && !s->sources.quota) || s->calls.replies != waiting)) continue;
        if (!proposal) {
            *stuck = !s->calls.in_flight && !s->calls.replies;
            return true;
        }
        if (!kf_jobs_dispatch(s, proposal, error)) return false;
    }
    return true;
}

static void note_worker(kf_search *s, const char *news)
{
    kf_search_notify(s, KF_SEARCH_NEWS, "%s", news);
    kf_search_event_worker(s, news);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Waits for a short time until something happens, and handles it. */
static bool wait_some(kf_search *s, kf_error *error)
{
    kf_workers_result result;
    struct pollfd fds[WATCHED];
    double wake = INFINITY;
    /* The search is idle if it had nothing to do twice in a row. */
    int64_t mark = s->progress.attempts + s->jobs.last_ticket;
    s->clock.idle = !s->jobs.in_flight && mark == s->clock.idle_mark;
    s->clock.idle_mark = mark;
    bool moved = false;
    if (!kf_calls_step(s, false, &moved, error)) return false;
    if (moved) return true;
    size_t count = kf_calls_watch(s, fds, WATCHED, &wake);
    kf_workers_listen(s->workers, fds, count, wake);
    int got = kf_workers_wait(s->workers, WAIT_SECONDS, &result, error);
    const char *news = kf_workers_news(s->workers);
    if (news) note_worker(s, news);
    if (got < 0) return kf_fail_prefix(error, "no worker is left");
    kf_search_notify(s, KF_SEARCH_TICK, "%s", "");
    return got == 0 || kf_jobs_handle(s, &result, error);
}

/* True after a resume while jobs of the earlier session are in flight. They had been started,
 * or they would have been withdrawn then. */
static bool has_begun(const kf_search *s)
{
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next)
        if (p->again) return true;
    return false;
}

/* ---- the phases ------------------------------------------------------------------------------ */

static bool await_one(kf_search *s, double seconds, kf_error *error)
{
    kf_workers_result result;
    struct pollfd fds[WATCHED];
    double wake = INFINITY;
    if (interrupts(s))
        return kf_fail(error, KF_ERROR_BUSY, "interrupted before a worker was connected");
    kf_probes_step(s);
    size_t count = kf_probes_watch(s, fds, WATCHED, &wake);
    kf_workers_listen(s->workers, fds, count, wake);
    if (kf_workers_wait(s->workers, seconds, &result, error) < 0) return false;
    const char *news = kf_workers_news(s->workers);
    if (news) note_worker(s, news);
    kf_search_notify(s, KF_SEARCH_TICK, "%s", "");
    return true;
}

static bool await_hello(kf_search *s, kf_error *error)
{
    while (!kf_workers_hardware(s->workers)) {
        if (!await_one(s, WAIT_SECONDS, error)) return false;
        if (s->models.refused_at > 0 && kf_now() - s->models.refused_at > REFUSED_SECONDS)
            return kf_probes_refused(s, error) && false;
    }
    return true;
}

/* Waits a little for the other workers, so that the first candidates do not depend on which
 * worker connects first. */
static bool await_others(kf_search *s, kf_error *error)
{
    double until = kf_now() + OTHERS_SECONDS;
    while (kf_workers_absent(s->workers) && kf_now() < until && !s->models.refused_at)
        if (!await_one(s, 0.02, error)) return false;
    return true;
}

/* True if jobs are still in flight long after the end of the search. */
static bool is_late(const kf_search *s, double *ending_since)
{
    if (!s->progress.ending) return false;
    if (!*ending_since) *ending_since = kf_now();
    return s->jobs.in_flight && kf_now() - *ending_since > ENDING_SECONDS;
}

/* True if `over` has lasted for longer than jobs get to end by themselves. */
static bool is_past(double *since, bool over, double grace)
{
    if (!over)
        *since = 0;
    else if (!*since)
        *since = kf_now();
    return over && kf_now() - *since > grace;
}

/* Stops the jobs that did not end in time. Their candidates stay open. */
static void keep_time(kf_search *s)
{
    double left = kf_search_time_left(s);
    double grace = fmin(MOST_GRACE, GRACE * s->settings->budget.seconds);
    if (is_past(&s->clock.search_over, left <= kf_search_reserve(s), grace)) kf_jobs_stop(s, false);
    if (is_past(&s->clock.run_over, left <= 0, grace)) kf_jobs_stop(s, true);
}

/* Notes candidates and replies that came too late to be judged. */
static void note_open(const kf_search *s, kf_search_result *result)
{
    kf_error *text = &result->left_out, verify = *text;
    char counts[2][48] = {"", ""};
    int replies = 0, candidates = 0;
    for (size_t i = 0; i < s->sources.defaults; i++)
        candidates += candidates < s->jobs.defaults_open && !s->sources.items[i]->settled;
    for (const kf_call *c = s->calls.replies; c; c = c->next) replies++;
    for (const kf_proposal *p = s->jobs.retries; p; p = p->next) candidates++;
    result->open = candidates || replies;
    if (!result->open) return;
    if (candidates)
        snprintf(counts[0], sizeof counts[0], "%d candidate%s", candidates,
                 candidates == 1 ? "" : "s");
    if (replies)
        snprintf(counts[1], sizeof counts[1], "%d model repl%s", replies,
                 replies == 1 ? "y" : "ies");
    bool one = candidates + replies == 1;
    kf_fail(text, KF_ERROR_LIMIT, "%.300s%s%s%s%s %s not judged: a resumed run judges %s",
            verify.text, *verify.text ? "; " : "", counts[0], candidates && replies ? " and " : "",
            counts[1], one ? "was" : "were", one ? "it" : "them");
}

/* True if a run without models found nothing to judge but the baseline. */
static bool is_idle(const kf_search *s)
{
    return !s->models.count && !s->progress.best && s->progress.judged + s->progress.known <= 1;
}

/* True if models were asked, and no reply came. */
static bool is_silent(const kf_search *s)
{
    return s->models.count && (s->progress.calls || s->models.gone) && !s->calls.answered &&
           !s->selection.model_candidates && !s->models.budget_spent;
}

static bool has_spent_its_time(const kf_search *s, const kf_search_result *result)
{
    return result->end == KF_SEARCH_SPENT && kf_search_time_left(s) <= kf_search_reserve(s);
}

static bool search(kf_search *s, kf_search_result *result, kf_error *error)
{
    double ending_since = 0;
    for (;;) {
        bool stuck;
        if (!fill(s, &stuck, error)) return false;
        const char *over = kf_search_spent(s, false);
        s->progress.ending = over || interrupts(s) || s->models.gone;
        if (interrupts(s) || (s->progress.ending && !has_begun(s))) kf_jobs_withdraw(s);
        if (interrupts(s)) kf_jobs_cancel_questions(s);
        if (!interrupts(s)) keep_time(s);
        if (interrupts(s) >= 2 || is_late(s, &ending_since)) break;
        if (s->models.gone && is_silent(s)) {
            kf_jobs_cancel(s);
            break;
        }
        if (!s->jobs.in_flight) {
            if (s->progress.ending || (stuck && !s->jobs.retries && !kf_ensemble_alive(&s->models)))
                break;
        }
        if (!wait_some(s, error)) return false;
    }
    kf_search_notify_known(s);
    const char *over = kf_search_spent(s, false);
    result->end = interrupts(s)       ? KF_SEARCH_INTERRUPTED
                  : s->models.gone    ? KF_SEARCH_STOPPED
                  : s->jobs.postponed ? KF_SEARCH_STOPPED
                  : over              ? KF_SEARCH_SPENT
                                      : KF_SEARCH_CONVERGED;
    result->time_spent = has_spent_its_time(s, result);
    result->models_silent = is_silent(s);
    result->machine_failed = result->end == KF_SEARCH_STOPPED && !s->models.gone;
    if (result->end == KF_SEARCH_INTERRUPTED)
        kf_fail(&result->why, KF_ERROR_BUSY, "interrupted");
    else if (result->end == KF_SEARCH_STOPPED)
        result->why = s->models.gone ? s->models.why : s->jobs.postponed_why;
    else
        kf_fail(&result->why, KF_ERROR_NONE, "%s",
                over                    ? over
                : s->models.why.text[0] ? s->models.why.text
                : is_idle(s) ? "this task has nothing to tune: give a model with --model, or "
                               "judge a file of your own with kforge eval"
                             : "nothing is left to try: the tuner has converged");
    return true;
}

static bool verify_best(kf_search *s, kf_error *error)
{
    double until = kf_now() + FINAL_SECONDS, ending_since = 0;
    s->progress.ending = true;
    for (int i = 0; i < FINAL_TRIES && kf_now() < until && !interrupts(s) && !s->jobs.in_flight;
         i++) {
        kf_proposal *proposal;
        /* keep_time stops one that is late. Further ones have to fit. */
        if (kf_search_time_left(s) <= (i ? s->verification.longest : 0)) return true;
        if (!kf_verify_propose(s, true, &proposal, error)) return false;
        if (!proposal) return true;
        if (!kf_jobs_dispatch(s, proposal, error)) return false;
        while (s->jobs.in_flight && interrupts(s) < 2 && !is_late(s, &ending_since)) {
            if (!wait_some(s, error)) return false;
            keep_time(s);
        }
    }
    return true;
}

/* True if the best is not measured again: after Ctrl-C, and if no model can be reached. The remedy
 * is needed first then, and the seeds may be measured again later. */
static bool ends_at_once(const kf_search_result *result)
{
    return result->end == KF_SEARCH_INTERRUPTED ||
           (result->end == KF_SEARCH_STOPPED && result->models_silent);
}

/* True if replies came, none of them holds a usable source, and no other source was faster than the
 * baseline. An episode may end at one of its
 * limits before its agent has changed the source, so agents do not count. */
static bool is_useless(kf_search *s)
{
    for (int i = 0; i < (int)s->models.count; i++)
        if (kf_is_agent(s, i)) return false;
    int64_t useless = s->progress.useless + kf_replies_waiting_useless(s);
    return s->models.count && s->progress.replies > 0 && useless >= s->progress.replies &&
           !s->selection.model_candidates && !(s->progress.best_speedup.low > 1);
}

/* Adds to `why` that the run ended before its first request to a model. */
static void note_unasked(const kf_search *s, kf_search_result *result)
{
    kf_error why = result->why;
    const char *took =
        kf_defaults_settled(&s->sources) ? "baseline, seeds and tuner" : "baseline and seeds";
    if (result->time_spent)
        kf_fail(&result->why, KF_ERROR_NONE,
                "%.400s; no model was asked: %s took it; give more, as in --time %.0fs", why.text,
                took, ceil(LONGER * s->settings->budget.seconds));
    else
        kf_fail(&result->why, KF_ERROR_NONE, "%.400s; no model was asked", why.text);
}

/* True if the run has models, and ended by itself before it asked one. */
static bool is_unasked(const kf_search *s, const kf_search_result *result)
{
    return (result->end == KF_SEARCH_SPENT || result->end == KF_SEARCH_CONVERGED) &&
           s->models.count && !s->progress.calls && !s->models.gone && !s->models.budget_spent &&
           !s->models.why.text[0];
}

/* Calls in flight at the end have been stored as failed ones by now. They are the models' fault if
 * the time was too short for them, and not if other candidates were enough. */
static void note_silence(kf_search *s, kf_search_result *result)
{
    kf_error why = result->why;
    if (result->time_spent) result->models_silent = is_silent(s);
    bool useless =
        (result->end == KF_SEARCH_SPENT || result->end == KF_SEARCH_CONVERGED) && is_useless(s);
    if (result->models_silent && result->end == KF_SEARCH_SPENT)
        kf_fail(&result->why, KF_ERROR_NONE, "%.300s; no model has replied%s%s", why.text,
                *kf_models_cause(&s->models) ? ": " : "", kf_models_cause(&s->models));
    else if (is_unasked(s, result))
        note_unasked(s, result);
    else if (useless)
        kf_fail(&result->why, KF_ERROR_NONE, "%.400s; no model reply held a usable source",
                why.text);
    result->models_silent = result->models_silent || useless;
}

/* Counts the model replies with a candidate that had been judged before. */
static bool count_repeated(const kf_search *s, kf_search_result *result, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(s->store, s->progress.run, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_attempt(cursor, &attempt, error) : row) == 1)
        result->repeated +=
            attempt.model_call && strcmp(attempt.step, kf_step_name(KF_STEP_TRY)) != 0 &&
            (attempt.outcome == KF_ATTEMPT_KNOWN || attempt.outcome == KF_ATTEMPT_SAME_CODE);
    return row == 0;
}

/* Fills in what the user should know of the end. */
static bool conclude(kf_search *s, kf_search_result *result, kf_error *error)
{
    /* The time that was kept for measuring again may be left over, or used up only now. */
    result->time_spent = result->time_spent || has_spent_its_time(s, result);
    result->settled = result->end == KF_SEARCH_CONVERGED ||
                      (result->end == KF_SEARCH_SPENT && kf_selection_stop(s) &&
                       strcmp(kf_selection_stop(s), result->why.text) == 0);
    if (!count_repeated(s, result, error)) return false;
    if (*s->selection.above_floor)
        kf_fail(&result->question, KF_ERROR_INPUT, "%s", s->selection.above_floor);
    if (ends_at_once(result)) return true;
    if (!kf_verify_left_out(s, result, error)) return false;
    /* Without more time a resumed run would leave it out again. */
    if (*result->left_out.text && kf_verify_lacks_time(s)) result->time_spent = true;
    result->settled = result->settled && !*result->left_out.text;
    if (!result->settled) note_open(s, result);
    return true;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

/* Skips baseline and seeds in a benchmark of independent drafts, which need no measurement of
 * them. */
static void skip_defaults(kf_search *s)
{
    if (!s->settings->samples || !kf_strategy_is_independent(&s->strategy)) return;
    for (size_t i = 0; i < s->sources.defaults; i++) s->sources.items[i]->settled = true;
    s->sources.next_default = s->sources.defaults;
}

static bool note_start(kf_search *s, kf_error *error)
{
    kf_autoresult kf_store_run found = {0};
    if (!kf_store_find_run(s->store, s->progress.run, &found, error)) return false;
    s->notes.until = s->clock.began = found.started;
    return true;
}

/* Expects that a job takes as long as the task's latest jobs on such a device. */
static bool expect_time(kf_search *s, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_store_latest(s->store, kf_task_hash(s->task), LATEST, error);
    kf_autoresult kf_store_candidate found = {0};
    double sum = 0;
    int count = 0, row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_candidate(cursor, &found, error) : row) == 1) {
        if (!(found.judge_seconds > 0) || strcmp(found.device, s->environment_id) != 0) continue;
        sum += found.judge_seconds;
        count++;
    }
    if (count) s->progress.usual = sum / count;
    return row == 0;
}

static bool begin_run(kf_search *s, const char *run, kf_error *error)
{
    s->environment_id =
        kf_search_environment_id(kf_workers_environment_id(s->workers), s->settings->baseline);
    if (!s->environment_id) return kf_fail_memory(error, "a search");
    if (!kf_tunable_sources_start(s, error) || !expect_time(s, error)) return false;
    skip_defaults(s);
    if (run) {
        snprintf(s->progress.run, sizeof s->progress.run, "%s", run);
        return kf_store_resume_run(s->store, run, error) && note_start(s, error) &&
               kf_state_restore(s, error) && kf_state_add_start(s, error) &&
               kf_best_refresh(s, true, error);
    }
    if (!kf_search_add_start(s, error)) return false;
    kf_auto(cJSON) bundle = kf_task_bundle(s->task);
    kf_autofree char *text = bundle ? cJSON_PrintUnformatted(bundle) : NULL,
                     *options = kf_search_options_json(s->settings);
    kf_autofree char *state = kf_state_json(s);
    if (!text || !options || !state) return kf_fail_memory(error, "a search");
    const char *hash = kf_task_hash(s->task);
    return kf_store_put_task(s->store, hash, kf_task_name(s->task), text, strlen(text), error) &&
           kf_store_begin_run(s->store,
                              &(kf_store_run_new){.task = hash,
                                                  .device = s->environment_id,
                                                  .options = options,
                                                  .seed = s->settings->seed,
                                                  .state = state,
                                                  .state_size = strlen(state)},
                              s->progress.run, error) &&
           note_start(s, error);
}

void kf_search_release(kf_search *s)
{
    kf_jobs_clear(&s->jobs);
    kf_models_close(&s->models);
    kf_calls_clear(&s->calls);
    kf_replay_clear(&s->replay);
    kf_store_close(s->notes.store);
    kf_population_free(s->selection.population);
    for (size_t i = 0; i < s->sources.count; i++) kf_tunable_source_free(s->sources.items[i]);
    free(s->verification.tries);
    free(s->clock.starts);
    free(s->environment_id);
}

/* Asks the models, unless nothing is judged before their first requests. */
static bool ask_models(kf_search *s, kf_error *error)
{
    return kf_defaults_settled(&s->sources) || kf_probes_start(s, error);
}

static bool run_all(kf_search *s, const char *run, kf_search_result *result, bool *begun,
                    kf_error *error)
{
    const kf_search_settings *settings = s->settings;
    if (!kf_prompt_check(settings->prompts, error) || !kf_models_check(s, error) ||
        !kf_jobs_prepare(s, error) || !kf_tunable_sources_defaults(s, error) ||
        /* A resumed run may have judged its baseline. */
        !(run || ask_models(s, error)) || !await_hello(s, error) || !begin_run(s, run, error) ||
        !kf_replay_read(s, error) || !await_others(s, error))
        return false;
    *begun = true;
    kf_search_start_clock(s);
    kf_search_notify(s, KF_SEARCH_STARTED, "%s", s->progress.run);
    kf_search_event_start(s, run != NULL);
    kf_search_event_worker(s, "connected");
    if ((run && !ask_models(s, error)) || !kf_models_open(s, error)) return false;
    kf_probes_apply(s);
    if (!kf_pending_call_again(s, error) || !kf_jobs_submit_again(s, error) ||
        !search(s, result, error) || !kf_calls_stop(s, error))
        return false;
    note_silence(s, result);
    if (!ends_at_once(result) && !verify_best(s, error)) return false;
    return kf_best_refresh(s, false, error) && conclude(s, result, error);
}

/* Deletes a new run in which all models refused and nothing was judged. It has nothing to resume,
 * and would only fill the list of runs. If that fails, the run stays: the models' reason counts. */
static void drop_refused(kf_search *s, kf_search_result *result)
{
    if (result->end != KF_SEARCH_STOPPED || !result->models_silent || s->progress.attempts ||
        s->progress.calls || s->settings->bench ||
        !kf_store_delete_empty_run(s->store, s->progress.run, NULL))
        return;
    /* The user has seen its id. */
    kf_search_notify(s, KF_SEARCH_NEWS, "nothing was judged, so run %s is not stored",
                     s->progress.run);
    result->settled = true;
    s->progress.run[0] = '\0';
}

bool kf_search_run(kf_store *store, const kf_task *task, const char *run,
                   const kf_search_settings *settings, kf_workers *workers,
                   const volatile int *interrupted, const kf_search_observer *observer,
                   kf_search_result *result, kf_error *error)
{
    kf_autofree kf_search *s = calloc(1, sizeof *s);
    if (!s) return kf_fail_memory(error, "a search");
    *s = (kf_search){.store = store,
                     .task = task,
                     .settings = settings,
                     .workers = workers,
                     .interrupts = interrupted,
                     .observer = observer,
                     .progress = {.best_speedup = {NAN, NAN, NAN},
                                  .baseline = {NAN, NAN, NAN},
                                  .budget = settings->budget}};
    s->strategy = *settings->strategy.name ? settings->strategy : *kf_strategy_named("auto");
    s->selection.population = kf_population_new();
    bool begun = false;
    *result = (kf_search_result){.end = KF_SEARCH_STOPPED};
    bool ran = s->selection.population ? run_all(s, run, result, &begun, error)
                                       : kf_fail_memory(error, "a search");
    /* Drop an attempt that could not be stored completely. */
    if (kf_store_in_group(store)) kf_store_rollback(store);
    s->ended = ran;
    if (begun) {
        /* After a failure the stored state is consistent, while the state in memory may include
         * an attempt that was not stored. */
        s->clock.ended = kf_now();
        kf_autofree char *state = ran ? kf_state_json(s) : NULL;
        kf_run_status status = !ran || result->end == KF_SEARCH_STOPPED ? KF_RUN_FAILED
                               : result->end == KF_SEARCH_INTERRUPTED   ? KF_RUN_INTERRUPTED
                                                                        : KF_RUN_FINISHED;
        bool ended = (!ran || kf_store_drop_pending_call(store, s->progress.run, 0, error)) &&
                     (!state || kf_store_save_state(store, s->progress.run, state, strlen(state),
                                                    ran ? error : NULL)) &&
                     kf_store_end_run(store, s->progress.run, status, ran ? error : NULL);
        ran = ran && ended;
        s->progress.elapsed = kf_search_elapsed(s);
        kf_search_event_end(s, ran ? kf_search_end_name(result->end) : "failed",
                            ran     ? result->why.text
                            : error ? error->text
                                    : "");
        if (ran && !run) drop_refused(s, result);
    }
    kf_search_note_hardware(s);
    result->progress = s->progress;
    kf_search_release(s);
    return ran;
}
