/* Which candidate is judged next. In this order: one with a verdict that blames the machine or the
 * judge, once more; the baseline and the seeds at their defaults; a new best, measured again; a
 * candidate that an agent waits for; a model's reply; a point of the tuner. With models, a few
 * points of the tuner come between two of their candidates. While all calls are in flight and a
 * worker would be idle, further points follow. */
#include "search_internal.h"

bool kf_defaults_settled(const kf_tunable_sources *sources)
{
    for (size_t i = 0; i < sources->defaults; i++)
        if (!sources->items[i]->settled) return false;
    return true;
}

/* Proposes the next default; NULL if all were proposed. */
static bool propose_default(kf_search *s, kf_proposal **proposal, kf_error *error)
{
    while (s->sources.next_default < s->sources.defaults) {
        size_t index = s->sources.next_default++;
        kf_tunable_source *tunable = s->sources.items[index];
        /* It is in flight after a resume. */
        if (tunable->settled || tunable->in_flight) continue;
        *proposal = kf_proposal_new(index == 0 ? KF_STEP_BASELINE : KF_STEP_SEED, tunable,
                                    &tunable->initial, error);
        return *proposal;
    }
    return true;
}

/* Enough to keep a device busy. A worker may take more, but each of them would be chosen without
 * the results of the others. */
#define JOBS_A_DEVICE 5

size_t kf_free_capacity(const kf_search *s)
{
    size_t taken = 0, capacity = kf_workers_capacity(s->workers);
    size_t enough = JOBS_A_DEVICE * kf_workers_devices(s->workers);
    if (capacity > enough) capacity = enough;
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next) taken++;
    return capacity > taken ? capacity - taken : 0;
}

/* True if the tuner may fill the time of a call. If every device has a job, free places are
 * reserved for the replies to come. */
static bool has_room_for_points(const kf_search *s)
{
    size_t calls = 0, jobs = 0;
    for (const kf_call *call = s->calls.in_flight; call; call = call->next) calls++;
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next) jobs++;
    return jobs < kf_workers_least_jobs(s->workers) || kf_free_capacity(s) > calls;
}

bool kf_propose(kf_search *s, kf_proposal **proposal, kf_error *error)
{
    *proposal = s->jobs.retries;
    if (*proposal) {
        s->jobs.retries = (*proposal)->next;
        (*proposal)->next = NULL;
        return true;
    }
    if (!propose_default(s, proposal, error)) return false;
    if (*proposal || !kf_defaults_settled(&s->sources)) return true;
    if (!kf_verify_propose(s, false, proposal, error)) return false;
    if (*proposal) return true;
    if (!kf_episodes_propose(s, proposal, error)) return false;
    if (*proposal) return true;
    if (s->sources.quota > 0 || !s->models.count) {
        if (!kf_tunable_sources_propose(s, proposal, error)) return false;
        if (*proposal && s->sources.quota > 0) s->sources.quota--;
        if (!*proposal) s->sources.quota = 0;
        /* Without a point of the tuner a call may be due, before a reply is used. */
        return true;
    }
    const kf_call *reply = s->calls.replies;
    if (!kf_replies_propose(s, proposal, error)) return false;
    if (*proposal || reply || !s->calls.in_flight || !s->strategy.propose.tune ||
        !has_room_for_points(s))
        return true;
    /* All possible calls are in flight, and a worker is idle. */
    return kf_tunable_sources_propose(s, proposal, error);
}
