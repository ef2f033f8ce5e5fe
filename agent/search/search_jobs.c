/* Jobs: candidates on their way to workers and back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "search_internal.h"

bool kf_jobs_prepare(kf_search *s, kf_error *error)
{
    kf_auto(cJSON) bundle = kf_task_bundle(s->task);
    kf_task *task = bundle ? kf_task_from_bundle(bundle, error) : NULL;
    if (!task) return bundle ? false : kf_fail_memory(error, "the task");
    s->jobs.template = kf_job_new("template", task, "x", 1, NULL, 0, error);
    if (!s->jobs.template) return false;
    const kf_search_settings *settings = s->settings;
    kf_job_options *o = &s->jobs.template->options;
    o->half_width = settings->half_width > 0 ? settings->half_width : 0.03;
    o->timeout_seconds = settings->timeout_seconds > 0 ? settings->timeout_seconds : 30;
    o->strict_sandbox = settings->strict_sandbox;
    if (settings->device && *settings->device) {
        free(s->jobs.template->device);
        s->jobs.template->device = strdup(settings->device);
        if (!s->jobs.template->device) return kf_fail_memory(error, "a job");
    }
    if (settings->baseline && !(o->baseline = strdup(settings->baseline)))
        return kf_fail_memory(error, "a job");
    if (settings->counters && !(o->counters = strdup(settings->counters)))
        return kf_fail_memory(error, "a job");
    uint32_t chance;
    if (!kf_random(&chance, sizeof chance))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel provides no random numbers");
    snprintf(s->jobs.session, sizeof s->jobs.session, "%08x", chance);
    return true;
}

/* True if a stored verdict on the same candidate or binary will do. The result of an episode counts
 * only by a verdict of its own. */
static bool accepts_known(const kf_proposal *p)
{
    return p->retries == 0 && p->origin.step != KF_STEP_VERIFY &&
           p->origin.step != KF_STEP_EPISODE && p->asked.wish == KF_LLM_WISH_EVAL;
}

/* Sets how the proposal is measured. */
static void set_options(const kf_search *s, const kf_proposal *p, kf_job *job)
{
    static char all[] = "all";
    const kf_search_settings *settings = s->settings;
    kf_job_options *o = &job->options;
    /* A known verdict must not replace this measurement. */
    if (!accepts_known(p)) job->known_count = 0;
    o->verify = p->origin.step == KF_STEP_VERIFY || p->origin.step == KF_STEP_EPISODE;
    /* Most candidates are never reported, and these workloads decide nothing. */
    o->unseen = o->verify || p->asked.wish == KF_LLM_WISH_SUBMIT;
    o->check_only = kf_episodes_only_checks(p);
    o->seconds = settings->timing_seconds > 0 ? settings->timing_seconds : 0.6;
    if (p->asked.wish == KF_LLM_WISH_PROFILE) o->counters = all;
    /* A submission is not verified: its agent lives, and could disturb both measurements. */
    if (!o->verify && p->asked.wish != KF_LLM_WISH_SUBMIT) return;
    /* The counters of the best candidate are worth one more second. */
    const char *device = kf_workers_device(s->workers);
    if (!o->counters && device && strncmp(device, "cuda", 4) == 0) o->counters = all;
    o->half_width = 0.01;
    double seconds = settings->verify_seconds > 0 ? settings->verify_seconds : 3;
    /* Two measurements, and what a first one takes, fit into the time that is left. */
    double room = (kf_search_time_left(s) - s->progress.usual) / 2;
    o->seconds = fmin(seconds, fmax(room, o->seconds));
}

/* Submits the common job with the proposal's source and flags. */
static bool submit_job(kf_search *s, const kf_proposal *p, kf_error *error)
{
    char id[64];
    snprintf(id, sizeof id, "%s-%s-%lld", s->progress.run, s->jobs.session, (long long)p->ticket);
    kf_job job = *s->jobs.template;
    job.id = id;
    job.source = p->source;
    job.source_size = p->size;
    job.flags = (char **)(uintptr_t)p->flags;
    job.flag_count = (size_t)p->flag_count;
    set_options(s, p, &job);
    return kf_workers_submit(s->workers, &job, p->ticket, error);
}

/* True if the source and the flags are allowed in a candidate. */
static bool acceptable(const kf_proposal *p, kf_error *why)
{
    if (!kf_source_check(p->source, p->size, "candidate", why)) return false;
    for (int i = 0; i < p->flag_count; i++)
        if (!kf_flag_check(p->flags[i], why)) return false;
    return true;
}

bool kf_jobs_dispatch(kf_search *s, kf_proposal *p, kf_error *error)
{
    bool known = false;
    kf_error why = {0};
    if (!p->began) p->began = s->progress.attempts + 1;
    if (!acceptable(p, &why)) {
        bool recorded = kf_episodes_only_checks(p) || kf_record_rejected(s, p, why.text, error);
        if (kf_episodes_only_checks(p)) kf_episodes_answer(s, p, NULL, why.text, 0);
        kf_proposal_free(p);
        return recorded;
    }
    bool fresh = accepts_known(p);
    if (fresh && !kf_record_known(s, p, &known, error)) {
        kf_proposal_free(p);
        return false;
    }
    if (fresh && !known && !kf_known_form(s, p, error)) {
        kf_proposal_free(p);
        return false;
    }
    p->ticket = ++s->jobs.last_ticket;
    if (!known) kf_search_notify_known(s);
    if (known || !submit_job(s, p, error)) {
        kf_proposal_free(p);
        return known;
    }
    p->started = kf_now();
    if (p->tunable) p->tunable->in_flight++;
    p->next = s->jobs.in_flight;
    s->jobs.in_flight = p;
    return true;
}

static kf_proposal *unlink_ticket(kf_search *s, int64_t ticket)
{
    for (kf_proposal **at = &s->jobs.in_flight; *at; at = &(*at)->next) {
        kf_proposal *p = *at;
        if (p->ticket != ticket) continue;
        *at = p->next;
        p->next = NULL;
        if (p->tunable) p->tunable->in_flight--;
        return p;
    }
    return NULL;
}

bool kf_jobs_submit_again(kf_search *s, kf_error *error)
{
    kf_proposal *restored = s->jobs.in_flight;
    s->jobs.in_flight = NULL;
    for (kf_proposal **at = &s->jobs.retries; *at;) {
        kf_proposal *p = *at;
        if (p->origin.model >= (int)s->models.count) {
            *at = p->next;
            kf_proposal_free(p);
        } else {
            at = &p->next;
        }
    }
    /* The latest one comes first in the list. */
    while (restored) {
        kf_proposal **first = &restored;
        for (kf_proposal **at = &restored; *at; at = &(*at)->next)
            if ((*at)->ticket < (*first)->ticket) first = at;
        kf_proposal *p = *first;
        *first = p->next;
        p->next = s->jobs.in_flight;
        s->jobs.in_flight = p;
        p->started = kf_now();
        /* Otherwise this session lacks its model. */
        bool with_model = p->origin.model < (int)s->models.count;
        if (with_model && !submit_job(s, p, error)) {
            for (kf_proposal *rest; (rest = restored);)
                restored = rest->next, kf_proposal_free(rest);
            return false;
        }
        if (!with_model) kf_proposal_free(unlink_ticket(s, p->ticket));
    }
    return true;
}

/* Gives the result of a check to its agent. It is no attempt: a verdict without times would stand
 * in the way of one with times. */
static void take_check(kf_search *s, const kf_proposal *p, const kf_workers_result *result)
{
    double judged = result->verdict ? result->verdict->judge_seconds : NAN;
    s->progress.device_seconds += judged > 0 ? judged : kf_now() - p->started;
    kf_episodes_answer(s, p, result->verdict, result->error.text, 0);
}

bool kf_jobs_handle(kf_search *s, kf_workers_result *result, kf_error *error)
{
    kf_proposal *p = unlink_ticket(s, result->ticket);
    bool again = false, recorded = true;
    if (p && kf_episodes_only_checks(p))
        take_check(s, p, result);
    else if (p)
        recorded = kf_record_result(s, p, result, &again, error);
    kf_workers_result_free(result);
    if (!again) kf_proposal_free(p);
    return recorded;
}

/* Opens a candidate that is not judged now. Points of the tuner are proposed again after a resume.
 * Candidates of paid replies are kept. */
static void open_again(kf_search *s, kf_proposal *p)
{
    if (p && p->origin.call && !p->asked.tag) {
        p->next = s->jobs.retries;
        s->jobs.retries = p;
        return;
    }
    if (p && (p->origin.step == KF_STEP_BASELINE || p->origin.step == KF_STEP_SEED)) {
        s->sources.next_default = 0;
        s->jobs.defaults_open++;
    }
    if (p && p->asked.tag)
        kf_episodes_answer(s, p, NULL, "the run ends before it could be judged", 0);
    kf_proposal_free(p);
}

void kf_jobs_withdraw(kf_search *s)
{
    int64_t tickets[KF_WORKERS_MAX];
    size_t count = kf_workers_withdraw(s->workers, tickets, KF_WORKERS_MAX);
    for (size_t i = 0; i < count; i++) open_again(s, unlink_ticket(s, tickets[i]));
}

void kf_jobs_stop(kf_search *s, bool verifying)
{
    for (kf_proposal *p = s->jobs.in_flight, *next; p; p = next) {
        next = p->next;
        if (p->origin.step == KF_STEP_VERIFY && !verifying) continue;
        /* Without a baseline a run yields nothing, and a resumed one would be stopped again. */
        if (p->origin.step == KF_STEP_BASELINE && !s->progress.judged) continue;
        kf_workers_cancel(s->workers, p->ticket);
        open_again(s, unlink_ticket(s, p->ticket));
    }
}

/* Their workers may serve another run, which must not get these verdicts. */
void kf_jobs_cancel(kf_search *s)
{
    for (kf_proposal *p = s->jobs.in_flight, *next; p; p = next) {
        next = p->next;
        kf_workers_cancel(s->workers, p->ticket);
        kf_proposal_free(unlink_ticket(s, p->ticket));
    }
}

/* After an interruption no agent waits for these answers, and the episode starts anew after a
 * resume. */
void kf_jobs_cancel_questions(kf_search *s)
{
    for (kf_proposal *p = s->jobs.in_flight, *next; p; p = next) {
        next = p->next;
        if (!p->asked.tag) continue;
        kf_workers_cancel(s->workers, p->ticket);
        kf_proposal_free(unlink_ticket(s, p->ticket));
    }
}

static void free_list(kf_proposal *list)
{
    for (kf_proposal *next; list; list = next) {
        next = list->next;
        kf_proposal_free(list);
    }
}

void kf_jobs_clear(kf_search_jobs *jobs)
{
    free_list(jobs->in_flight);
    free_list(jobs->retries);
    free_list(jobs->postponed);
    kf_job_free(jobs->template);
    *jobs = (kf_search_jobs){0};
}
