/* The loop: fill the workers, start model calls, wait, record, until a budget is spent, nothing is
 * left to try, or somebody interrupts.
 *
 * What is tried next, in this order: candidates whose verdict the machine spoilt, once more; the
 * baseline and the seeds at their defaults; a new best that has to be measured again; what models
 * replied; points of the tuner. With models a few points of the tuner come between two of their
 * candidates, and as many as there is time for while all calls are in flight and a worker would be
 * idle.
 */
#include "search.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "search_internal.h"

#define WAIT_SECONDS 0.1 /* how long an interrupt or a reply may go unnoticed */
#define FINAL_SECONDS 8  /* after this no further candidate is measured again */
#define FINAL_TRIES 4
#define OTHERS_SECONDS 3 /* that workers get to come up once the first is there */
#define WATCHED 256      /* descriptors of models that are waited for together with the workers' */

static const char *const step_names[KF_STEP_COUNT] = {
    [KF_STEP_BASELINE] = "baseline",
    [KF_STEP_SEED] = "seed",
    [KF_STEP_TUNE] = "tune",
    [KF_STEP_DRAFT] = "draft",
    [KF_STEP_IMPROVE] = "improve",
    [KF_STEP_REPAIR_BUILD] = "repair_build",
    [KF_STEP_REPAIR_WRONG] = "repair_wrong",
    [KF_STEP_CONTRAST] = "contrast",
    [KF_STEP_CROSSOVER] = "crossover",
    [KF_STEP_RETHINK] = "rethink",
    [KF_STEP_CRITIC_OPTIMISE] = "critic_optimise",
    [KF_STEP_CRITIC_REPAIR] = "critic_repair",
    [KF_STEP_SUMMARY] = "summary",
    [KF_STEP_VERIFY] = "verify",
};

const char *kf_step_name(kf_step step)
{
    return (unsigned)step < KF_STEP_COUNT ? step_names[step] : "unknown";
}

bool kf_step_parse(const char *name, kf_step *step)
{
    for (int i = 0; i < KF_STEP_COUNT; i++) {
        if (strcmp(step_names[i], name) != 0) continue;
        *step = (kf_step)i;
        return true;
    }
    return false;
}

char *kf_search_environment_id(const char *judged, const char *baseline)
{
    char *text;
    if (!baseline) return strdup(judged);
    return asprintf(&text, "%s, against baseline %s", judged, baseline) < 0 ? NULL : text;
}

/* ---- telling --------------------------------------------------------------------------------- */

double kf_search_elapsed(const kf_search *s)
{
    return s->elapsed_before + (s->started > 0 ? kf_now() - s->started : 0);
}

static void note_hardware(kf_search *s)
{
    const char *hardware = kf_workers_hardware(s->workers);
    snprintf(s->progress.hardware, sizeof s->progress.hardware, "%s", hardware ? hardware : "");
}

void kf_search_tell(kf_search *s, kf_search_event event, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    if (!s->workers) return; /* a preview has nobody to tell */
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    s->progress.elapsed = kf_search_elapsed(s);
    note_hardware(s);
    s->progress.in_flight = kf_workers_in_flight(s->workers);
    s->progress.calls_in_flight = 0;
    for (const kf_call *call = s->calls; call; call = call->next) s->progress.calls_in_flight++;
    if (s->observer && s->observer->notify)
        s->observer->notify(s->observer->context, event, &s->progress, text);
}

static int interrupts(const kf_search *s)
{
    return s->interrupts ? *s->interrupts : 0;
}

/* Is a candidate that a model was paid for still to be judged? */
static bool owes_verdicts(const kf_search *s)
{
    if (s->replies || s->retries) return true;
    for (const kf_proposal *p = s->in_flight; p; p = p->next)
        if (p->model >= 0) return true;
    return false;
}

/* All the samples of a benchmark have been drawn and judged. */
static bool sampled(const kf_search *s)
{
    return s->settings->samples && s->answered >= s->settings->samples && !owes_verdicts(s);
}

const char *kf_search_paid(const kf_search *s)
{
    const kf_search_budget *budget = &s->settings->budget;
    if (budget->cost_usd > 0 && s->progress.cost_usd >= budget->cost_usd)
        return "the money is spent";
    if (budget->tokens > 0 && s->progress.tokens >= budget->tokens) return "the tokens are spent";
    return NULL;
}

/* Which budget is spent, in words; NULL: none. `ahead`: what is in flight counts as judged. */
static const char *spent(const kf_search *s, bool ahead)
{
    const kf_search_budget *budget = &s->settings->budget;
    int64_t flying = 0;
    for (const kf_proposal *p = s->in_flight; ahead && p; p = p->next)
        flying += p->step != KF_STEP_VERIFY;
    if (sampled(s)) return "all samples are drawn";
    if (budget->seconds > 0 && kf_search_elapsed(s) >= budget->seconds) return "the time is up";
    if (budget->candidates > 0 && s->progress.judged + flying >= budget->candidates)
        return "all candidates of the budget are judged";
    /* A candidate under way is expected to take as long as others did. */
    double mean = s->progress.judged ? s->progress.device_seconds / (double)s->progress.judged : 0;
    if (budget->device_seconds > 0 &&
        s->progress.device_seconds + mean * (double)flying >= budget->device_seconds)
        return "the device's time is up";
    /* What is paid for is judged; a search asks for nothing more, but samples under way are waited
     * for. */
    bool waiting = owes_verdicts(s) || (s->settings->samples && s->calls);
    if (!waiting && kf_search_paid(s)) return kf_search_paid(s);
    /* No model has room for another request, and what others had reserved has come back. */
    if (s->budget_spent && !s->calls && !owes_verdicts(s) && !kf_models_alive(s))
        return s->models_why.text;
    return kf_selection_stop(s);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool make_job(kf_search *s, kf_error *error)
{
    kf_auto(cJSON) bundle = kf_task_bundle(s->task);
    kf_task *task = bundle ? kf_task_from_bundle(bundle, error) : NULL;
    if (!task)
        return bundle ? false : kf_fail(error, KF_ERROR_MEMORY, "out of memory for the task");
    s->job = kf_job_new("template", task, "x", 1, NULL, 0, error);
    if (!s->job) return false;
    const kf_search_settings *settings = s->settings;
    kf_job_options *o = &s->job->options;
    o->half_width = settings->half_width > 0 ? settings->half_width : 0.03;
    o->timeout_seconds = settings->timeout_seconds > 0 ? settings->timeout_seconds : 30;
    o->strict_sandbox = settings->strict_sandbox;
    if (settings->device && *settings->device) {
        free(s->job->device);
        s->job->device = strdup(settings->device);
        if (!s->job->device) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    }
    if (settings->baseline && !(o->baseline = strdup(settings->baseline)))
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    if (settings->counters && !(o->counters = strdup(settings->counters)))
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    uint32_t chance;
    if (!kf_random(&chance, sizeof chance))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel gives no random numbers");
    snprintf(s->session, sizeof s->session, "%08x", chance);
    return true;
}

/* The job of a proposal: the template with the proposal's own text lent to it. */
static bool submit_job(kf_search *s, const kf_proposal *p, kf_error *error)
{
    char id[64];
    snprintf(id, sizeof id, "%s-%s-%lld", s->progress.run, s->session, (long long)p->ticket);
    kf_job job = *s->job;
    const kf_search_settings *settings = s->settings;
    job.id = id;
    job.source = p->source;
    job.source_size = p->size;
    job.flags = (char **)(uintptr_t)p->flags;
    job.flag_count = (size_t)p->flag_count;
    job.options.verify = p->step == KF_STEP_VERIFY;
    if (job.options.verify || p->retries) job.known_count = 0; /* this one is to be measured */
    job.options.seconds = settings->timing_seconds > 0 ? settings->timing_seconds : 0.6;
    if (job.options.verify) {
        static char all[] = "all"; /* what bounds the best one is worth a second */
        const char *device = kf_workers_device(s->workers);
        if (!job.options.counters && device && strncmp(device, "cuda", 4) == 0)
            job.options.counters = all;
        job.options.half_width = 0.01;
        job.options.seconds = settings->verify_seconds > 0 ? settings->verify_seconds : 3;
    }
    return kf_workers_submit(s->workers, &job, p->ticket, error);
}

/* Refused here rather than by a worker: what is no source, or flags that no candidate may have. */
static bool acceptable(const kf_proposal *p, kf_error *why)
{
    if (!kf_source_check(p->source, p->size, "candidate", why)) return false;
    for (int i = 0; i < p->flag_count; i++)
        if (!kf_flag_check(p->flags[i], why)) return false;
    return true;
}

/* Takes the proposal over: to a worker, or recorded at once. */
static bool dispatch(kf_search *s, kf_proposal *p, kf_error *error)
{
    bool known = false;
    kf_error why = {0};
    if (!p->began) p->began = s->progress.attempts + 1;
    if (!acceptable(p, &why)) {
        bool recorded = kf_record_rejected(s, p, why.text, error);
        kf_proposal_free(p);
        return recorded;
    }
    bool fresh = p->retries == 0 && p->step != KF_STEP_VERIFY;
    if (fresh && !kf_record_known(s, p, &known, error)) {
        kf_proposal_free(p);
        return false;
    }
    p->ticket = ++s->next_ticket;
    if (known || !submit_job(s, p, error)) {
        kf_proposal_free(p);
        return known;
    }
    p->started = kf_now();
    if (p->arm) p->arm->in_flight++;
    p->next = s->in_flight;
    s->in_flight = p;
    return true;
}

static kf_proposal *unlink_ticket(kf_search *s, int64_t ticket)
{
    for (kf_proposal **at = &s->in_flight; *at; at = &(*at)->next) {
        kf_proposal *p = *at;
        if (p->ticket != ticket) continue;
        *at = p->next;
        p->next = NULL;
        if (p->arm) p->arm->in_flight--;
        return p;
    }
    return NULL;
}

/* Those that were under way when the run was left go to the workers once more, in the order in
 * which they went then. */
static bool submit_again(kf_search *s, kf_error *error)
{
    kf_proposal *restored = s->in_flight;
    s->in_flight = NULL;
    for (kf_proposal **at = &s->retries; *at;) {
        kf_proposal *p = *at;
        if (p->model >= (int)s->model_count) {
            *at = p->next;
            kf_proposal_free(p);
        } else {
            at = &p->next;
        }
    }
    while (restored) { /* the latest comes first */
        kf_proposal **first = &restored;
        for (kf_proposal **at = &restored; *at; at = &(*at)->next)
            if ((*at)->ticket < (*first)->ticket) first = at;
        kf_proposal *p = *first;
        *first = p->next;
        p->next = s->in_flight;
        s->in_flight = p;
        p->started = kf_now();
        /* else of one that this session does without, as replies are */
        bool with_model = p->model < (int)s->model_count;
        if (with_model && !submit_job(s, p, error)) {
            for (kf_proposal *rest; (rest = restored);)
                restored = rest->next, kf_proposal_free(rest);
            return false;
        }
        if (!with_model) kf_proposal_free(unlink_ticket(s, p->ticket));
    }
    return true;
}

/* ---- what is tried next ---------------------------------------------------------------------- */

static bool defaults_settled(const kf_search *s)
{
    for (size_t i = 0; i < s->defaults; i++)
        if (!s->arms[i]->settled) return false;
    return true;
}

/* The next default; NULL when all were proposed. */
static bool propose_default(kf_search *s, kf_proposal **proposal, kf_error *error)
{
    while (s->next_default < s->defaults) {
        size_t index = s->next_default++;
        kf_tunable_source *arm = s->arms[index];
        if (arm->settled || arm->in_flight) continue; /* in flight: of a run that goes on */
        *proposal = kf_proposal_new(index == 0 ? KF_STEP_BASELINE : KF_STEP_SEED, arm,
                                    &arm->initial, error);
        return *proposal;
    }
    return true;
}

/* Returns how many more jobs may be submitted. A job counts until its verdict is recorded, so a
 * decision does not depend on a verdict that waits to be read. */
static size_t free_capacity(const kf_search *s)
{
    size_t taken = 0, capacity = kf_workers_capacity(s->workers);
    for (const kf_proposal *p = s->in_flight; p; p = p->next) taken++;
    return capacity > taken ? capacity - taken : 0;
}

/* The tuner may fill the time of a call, but what the call brings is not to wait behind all its
 * points: as long as every device has a job, there is room for each reply to come. */
static bool has_room_for_points(const kf_search *s)
{
    size_t calls = 0, jobs = 0;
    for (const kf_call *call = s->calls; call; call = call->next) calls++;
    for (const kf_proposal *p = s->in_flight; p; p = p->next) jobs++;
    return jobs < kf_workers_least_jobs(s->workers) || free_capacity(s) > calls;
}

static bool propose(kf_search *s, kf_proposal **proposal, kf_error *error)
{
    *proposal = s->retries;
    if (*proposal) {
        s->retries = (*proposal)->next;
        (*proposal)->next = NULL;
        return true;
    }
    if (!propose_default(s, proposal, error)) return false;
    if (*proposal || !defaults_settled(s)) return true;
    if (!kf_verify_propose(s, false, proposal, error)) return false;
    if (*proposal) return true;
    if (s->quota > 0 || !s->model_count) {
        if (!kf_tunable_sources_propose(s, proposal, error)) return false;
        if (*proposal && s->quota > 0) s->quota--;
        if (!*proposal) s->quota = 0;
        return true; /* without a turn of the tuner a call may be due, before a reply is used */
    }
    const kf_call *reply = s->replies;
    if (!kf_models_propose(s, proposal, error)) return false;
    if (*proposal || reply || !s->calls || !s->strategy.tune || !has_room_for_points(s))
        return true;
    /* all that could be asked was, and a worker is idle */
    return kf_tunable_sources_propose(s, proposal, error);
}

/* Gives every free worker something to do. *stuck: there was nothing.
 *
 * One step at a time, and between two of them everything is looked at again, in the same order: a
 * reply that has come, a call that is due, a proposal. So what is done follows from the state and
 * from what a run writes down (when replies came, calls were begun and rooms changed), never from
 * how long the search happened to wait in between; and what a run waits for, it waits for with
 * nothing left to do. What changes without moving the run on (the tuner's turn is over, a diagnosis
 * was read) comes to the same before the next reply is there and after. */
static bool fill(kf_search *s, bool *stuck, kf_error *error)
{
    *stuck = false;
    while (free_capacity(s) && !spent(s, true) && !interrupts(s) && !s->models_gone) {
        kf_proposal *proposal = NULL;
        bool moved = false;
        /* A call is due before the tuner may fill the time until its reply. */
        if (defaults_settled(s) && !kf_models_step(s, true, &moved, error)) return false;
        if (moved) continue;
        const kf_call *waiting = s->replies;
        int quota = s->quota;
        if (!propose(s, &proposal, error)) return false;
        /* The tuner had nothing for its turn, or the reply was a diagnosis or of no use: a call is
         * due now. */
        if (!proposal && ((quota && !s->quota) || s->replies != waiting)) continue;
        if (!proposal) {
            *stuck = !s->calls && !s->replies;
            return true;
        }
        if (!dispatch(s, proposal, error)) return false;
    }
    return true;
}

/* ---- what comes back ------------------------------------------------------------------------- */

static bool handle(kf_search *s, kf_workers_result *result, kf_error *error)
{
    kf_proposal *p = unlink_ticket(s, result->ticket);
    bool again = false, recorded = !p || kf_record_result(s, p, result, &again, error);
    kf_workers_result_free(result);
    if (!again) kf_proposal_free(p);
    return recorded;
}

/* Waits for one thing to happen, a little. */
static bool wait_some(kf_search *s, kf_error *error)
{
    kf_workers_result result;
    struct pollfd fds[WATCHED];
    double wake = INFINITY;
    /* Twice in a row there was nothing to do. */
    int64_t mark = s->progress.attempts + s->next_ticket;
    s->idle = !s->in_flight && mark == s->idle_mark;
    s->idle_mark = mark;
    bool moved = false;
    if (!kf_models_step(s, false, &moved, error)) return false;
    if (moved) return true;
    size_t count = kf_models_watch(s, fds, WATCHED, &wake);
    kf_workers_listen(s->workers, fds, count, wake);
    int got = kf_workers_wait(s->workers, WAIT_SECONDS, &result, error);
    const char *news = kf_workers_news(s->workers);
    if (news) kf_search_tell(s, KF_SEARCH_NEWS, "%s", news);
    if (got < 0) return kf_fail_prefix(error, "no worker is left");
    kf_search_tell(s, KF_SEARCH_TICK, "%s", "");
    return got == 0 || handle(s, &result, error);
}

/* Jobs that nobody has begun are taken back. Should the run go on, points are proposed again; what
 * a model was paid for is kept for then. */
static void withdraw(kf_search *s)
{
    int64_t tickets[KF_WORKERS_MAX];
    size_t count = kf_workers_withdraw(s->workers, tickets, KF_WORKERS_MAX);
    for (size_t i = 0; i < count; i++) {
        kf_proposal *p = unlink_ticket(s, tickets[i]);
        if (p && p->call) {
            p->next = s->retries;
            s->retries = p;
        } else {
            if (p && (p->step == KF_STEP_BASELINE || p->step == KF_STEP_SEED)) s->next_default = 0;
            kf_proposal_free(p);
        }
    }
}

/* Of a run that goes on: what is under way was begun by then, or would have been taken back by
 * then. */
static bool has_begun(const kf_search *s)
{
    for (const kf_proposal *p = s->in_flight; p; p = p->next)
        if (p->again) return true;
    return false;
}

/* ---- the phases ------------------------------------------------------------------------------ */

static bool await_one(kf_search *s, double seconds, kf_error *error)
{
    kf_workers_result result;
    if (interrupts(s))
        return kf_fail(error, KF_ERROR_BUSY, "interrupted before a worker was there");
    if (kf_workers_wait(s->workers, seconds, &result, error) < 0) return false;
    const char *news = kf_workers_news(s->workers);
    if (news) kf_search_tell(s, KF_SEARCH_NEWS, "%s", news);
    kf_search_tell(s, KF_SEARCH_TICK, "%s", "");
    return true;
}

static bool await_hello(kf_search *s, kf_error *error)
{
    while (!kf_workers_hardware(s->workers))
        if (!await_one(s, WAIT_SECONDS, error)) return false;
    return true;
}

/* What is tried first should not depend on which worker of a machine came up first; those that take
 * long are not waited for. */
static bool await_others(kf_search *s, kf_error *error)
{
    double until = kf_now() + OTHERS_SECONDS;
    while (kf_workers_absent(s->workers) && kf_now() < until)
        if (!await_one(s, 0.02, error)) return false;
    return true;
}

static bool search(kf_search *s, kf_search_result *result, kf_error *error)
{
    for (;;) {
        bool stuck;
        if (!fill(s, &stuck, error)) return false;
        const char *over = spent(s, false);
        s->progress.ending = over || interrupts(s) || s->models_gone;
        if (interrupts(s) || (s->progress.ending && !has_begun(s))) withdraw(s);
        if (interrupts(s) >= 2) break;
        if (!s->in_flight) {
            if (s->progress.ending || (stuck && !s->retries && !kf_models_alive(s))) break;
        }
        if (!wait_some(s, error)) return false;
    }
    const char *over = spent(s, false);
    result->end = interrupts(s)    ? KF_SEARCH_INTERRUPTED
                  : s->models_gone ? KF_SEARCH_STOPPED
                  : s->aside       ? KF_SEARCH_STOPPED
                  : over           ? KF_SEARCH_SPENT
                                   : KF_SEARCH_CONVERGED;
    result->machine_failed = result->end == KF_SEARCH_STOPPED && !s->models_gone;
    if (result->end == KF_SEARCH_INTERRUPTED)
        kf_fail(&result->why, KF_ERROR_BUSY, "interrupted");
    else if (result->end == KF_SEARCH_STOPPED)
        result->why = s->models_gone ? s->models_why : s->aside_why;
    else
        kf_fail(&result->why, KF_ERROR_NONE, "%s",
                over                    ? over
                : s->models_why.text[0] ? s->models_why.text
                                        : "nothing is left to try: the tuner has converged");
    return true;
}

static bool verify_best(kf_search *s, kf_error *error)
{
    double until = kf_now() + FINAL_SECONDS;
    s->progress.ending = true;
    for (int i = 0; i < FINAL_TRIES && kf_now() < until && !interrupts(s); i++) {
        kf_proposal *proposal;
        if (!kf_verify_propose(s, true, &proposal, error)) return false;
        if (!proposal) return true;
        if (!dispatch(s, proposal, error)) return false;
        while (s->in_flight && interrupts(s) < 2)
            if (!wait_some(s, error)) return false;
    }
    return true;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

/* What no prompt shows and no tuner needs is not measured. */
static void skip_defaults(kf_search *s)
{
    if (!s->settings->samples || !kf_strategy_is_independent(&s->strategy)) return;
    for (size_t i = 0; i < s->defaults; i++) s->arms[i]->settled = true;
    s->next_default = s->defaults;
}

static bool note_start(kf_search *s, kf_error *error)
{
    kf_autoresult kf_store_run found = {0};
    if (!kf_store_find_run(s->store, s->progress.run, &found, error)) return false;
    s->notes_until = found.started;
    return true;
}

static bool begin_run(kf_search *s, const char *run, kf_error *error)
{
    s->environment_id =
        kf_search_environment_id(kf_workers_environment_id(s->workers), s->settings->baseline);
    if (!s->environment_id) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    if (!kf_tunable_sources_start(s, error)) return false;
    skip_defaults(s);
    if (run) {
        snprintf(s->progress.run, sizeof s->progress.run, "%s", run);
        return kf_store_resume_run(s->store, run, error) && note_start(s, error) &&
               kf_state_restore(s, error) && kf_best_refresh(s, error);
    }
    kf_auto(cJSON) bundle = kf_task_bundle(s->task);
    kf_autofree char *text = bundle ? cJSON_PrintUnformatted(bundle) : NULL,
                     *options = kf_search_options_json(s->settings);
    kf_autofree char *state = kf_state_json(s);
    if (!text || !options || !state) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
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
    for (kf_proposal *p; (p = s->in_flight);) s->in_flight = p->next, kf_proposal_free(p);
    for (kf_proposal *p; (p = s->retries);) s->retries = p->next, kf_proposal_free(p);
    for (kf_proposal *p; (p = s->aside);) s->aside = p->next, kf_proposal_free(p);
    kf_models_close(s);
    kf_replay_clear(&s->replay);
    kf_store_close(s->notes_store);
    kf_population_free(s->population);
    for (size_t i = 0; i < s->arm_count; i++) kf_tunable_source_free(s->arms[i]);
    kf_job_free(s->job);
    free(s->tries);
    free(s->environment_id);
    free(s->system_text);
}

static bool run_all(kf_search *s, const char *run, kf_search_result *result, bool *begun,
                    kf_error *error)
{
    const kf_search_settings *settings = s->settings;
    if (!kf_prompt_check(settings->prompts, error) || !kf_models_check(settings, error) ||
        !make_job(s, error) || !kf_tunable_sources_defaults(s, error) || !await_hello(s, error) ||
        !begin_run(s, run, error) || !kf_replay_read(s, error) || !await_others(s, error))
        return false;
    *begun = true;
    s->started = kf_now();
    kf_search_tell(s, KF_SEARCH_STARTED, "%s", s->progress.run);
    if (!kf_models_open(s, error) || !kf_pending_call_again(s, error) || !submit_again(s, error) ||
        !search(s, result, error) || !kf_models_stop(s, error))
        return false;
    if (result->end != KF_SEARCH_INTERRUPTED && !verify_best(s, error)) return false;
    s->over = true;
    return kf_best_refresh(s, error);
}

bool kf_search_run(kf_store *store, const kf_task *task, const char *run,
                   const kf_search_settings *settings, kf_workers *workers,
                   const volatile int *interrupted, const kf_search_observer *observer,
                   kf_search_result *result, kf_error *error)
{
    kf_autofree kf_search *s = calloc(1, sizeof *s);
    if (!s) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    *s = (kf_search){.store = store,
                     .task = task,
                     .settings = settings,
                     .workers = workers,
                     .interrupts = interrupted,
                     .observer = observer,
                     .progress = {.best_speedup = {NAN, NAN, NAN}, .budget = settings->budget}};
    s->strategy = *settings->strategy.name ? settings->strategy : *kf_strategy_named("auto");
    s->population = kf_population_new();
    bool begun = false;
    *result = (kf_search_result){.end = KF_SEARCH_STOPPED};
    bool ran = s->population ? run_all(s, run, result, &begun, error)
                             : kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    /* an attempt that could not be stored whole */
    if (kf_store_in_group(store)) kf_store_rollback(store);
    s->ended = ran;
    if (begun) {
        /* After a failure what was stored last is whole, and what is in memory may be an attempt
         * ahead that could not be stored. */
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
    }
    note_hardware(s);
    result->progress = s->progress;
    kf_search_release(s);
    return ran;
}
