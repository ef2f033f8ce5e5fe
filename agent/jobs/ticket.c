/* Tickets: states, waiting, notification, deadlines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobs_internal.h"
#include "kforge/file.h"

static bool is_final(kf_ticket_state state)
{
    return state >= KF_TICKET_DONE;
}

const char *kf_ticket_state_name(kf_ticket_state state)
{
    static const char *const names[] = {"queued", "running", "done", "cancelled", "expired"};
    return names[state];
}

kf_ticket *kf_ticket_new(kf_service *service, const kf_submission *submission)
{
    unsigned char chance[(KF_TICKET_ID - 1) / 2];
    kf_ticket *ticket = calloc(1, sizeof *ticket);
    if (!ticket) return NULL;
    if (!kf_random(chance, sizeof chance)) {
        free(ticket);
        return NULL;
    }
    for (size_t i = 0; i < sizeof chance; i++)
        snprintf(ticket->id + 2 * i, sizeof ticket->id - 2 * i, "%02x", chance[i]);
    ticket->service = service;
    ticket->references = 1;
    ticket->submitted = kf_now();
    if (submission->deadline_seconds > 0)
        ticket->deadline = ticket->submitted + submission->deadline_seconds;
    ticket->alias = submission->alias ? strdup(submission->alias) : NULL;
    ticket->watchers = submission->done ? calloc(1, sizeof *ticket->watchers) : NULL;
    if ((submission->alias && !ticket->alias) || (submission->done && !ticket->watchers)) {
        free(ticket->alias);
        free(ticket->watchers);
        free(ticket);
        return NULL;
    }
    if (ticket->watchers)
        *ticket->watchers =
            (kf_watcher){.done = submission->done, .context = submission->done_context};
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ticket->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return ticket;
}

static void unref(kf_ticket *ticket)
{
    if (--ticket->references) return;
    kf_work_release(ticket->work);
    kf_judgement_free(ticket->own);
    for (kf_watcher *w; (w = ticket->watchers);) {
        ticket->watchers = w->next;
        free(w);
    }
    if (ticket->free_data) ticket->free_data(ticket->data);
    pthread_cond_destroy(&ticket->changed);
    free(ticket->alias);
    free(ticket);
}

void kf_ticket_release(kf_ticket *ticket)
{
    if (!ticket) return;
    kf_service *service = ticket->service;
    pthread_mutex_lock(&service->lock);
    unref(ticket);
    pthread_mutex_unlock(&service->lock);
}

const char *kf_ticket_id(const kf_ticket *ticket)
{
    return ticket->id;
}

void *kf_ticket_data(const kf_ticket *ticket, void (*free_data)(void *data))
{
    return ticket->free_data == free_data ? ticket->data : NULL;
}

/* ---- with the lock held ---------------------------------------------------------------------- */

void kf_ticket_attach(kf_ticket *ticket, kf_work *work)
{
    ticket->work = work;
    work->references++;
    /* The work's list holds a reference to the ticket. */
    ticket->references++;
    ticket->next_waiting = work->tickets;
    work->tickets = ticket;
    if (work->place == KF_WORK_RUNNING) {
        ticket->state = KF_TICKET_RUNNING;
        ticket->began = kf_now();
    }
}

void kf_ticket_finish(kf_ticket *ticket, kf_ticket_state state)
{
    ticket->state = state;
    ticket->ended = kf_now();
    pthread_cond_broadcast(&ticket->changed);
    for (kf_watcher *w; (w = ticket->watchers);) {
        ticket->watchers = w->next;
        ticket->references++;
        w->ticket = ticket;
        w->next = ticket->service->notified;
        ticket->service->notified = w;
    }
    for (kf_ticket **at = ticket->work ? &ticket->work->tickets : NULL; at && *at;
         at = &(*at)->next_waiting) {
        if (*at != ticket) continue;
        *at = ticket->next_waiting;
        unref(ticket);
        return;
    }
}

void kf_ticket_keep(kf_ticket *ticket)
{
    kf_service *service = ticket->service;
    ticket->references++;
    if (service->last_kept)
        service->last_kept->next_kept = ticket;
    else
        service->first_kept = ticket;
    service->last_kept = ticket;
    if (++service->kept <= KF_SERVICE_KEPT) return;
    kf_ticket *oldest = service->first_kept;
    service->first_kept = oldest->next_kept;
    service->kept--;
    unref(oldest);
}

void kf_ticket_forget_all(kf_service *service)
{
    pthread_mutex_lock(&service->lock);
    for (kf_ticket *ticket; (ticket = service->first_kept);) {
        service->first_kept = ticket->next_kept;
        unref(ticket);
    }
    service->last_kept = NULL;
    pthread_mutex_unlock(&service->lock);
}

/* Drops work that no ticket waits for any more, if no worker has begun it. */
static void drop_unwanted(kf_service *service, kf_work *work)
{
    if (work && !work->tickets && work->place < KF_WORK_RUNNING) kf_work_drop(service, work);
}

double kf_service_expire(kf_service *service, double now)
{
    double next = INFINITY;
    for (int place = KF_WORK_INCOMING; place <= KF_WORK_RUNNING; place++) {
        for (kf_work *work = service->lists[place].first, *after; work; work = after) {
            after = work->next;
            for (kf_ticket *t = work->tickets, *later; t; t = later) {
                later = t->next_waiting;
                if (t->deadline > now) next = fmin(next, t->deadline);
                if (!t->deadline || t->deadline > now) continue;
                service->figures.expired++;
                kf_ticket_finish(t, KF_TICKET_EXPIRED);
            }
            drop_unwanted(service, work);
        }
    }
    return next;
}

/* ---- for clients ----------------------------------------------------------------------------- */

void kf_service_notify(kf_service *service)
{
    for (;;) {
        pthread_mutex_lock(&service->lock);
        kf_watcher *watcher = service->notified;
        if (watcher) service->notified = watcher->next;
        pthread_mutex_unlock(&service->lock);
        if (!watcher) return;
        watcher->done(watcher->context, watcher->ticket);
        kf_ticket_release(watcher->ticket);
        free(watcher);
    }
}

kf_ticket_state kf_ticket_state_now(kf_ticket *ticket)
{
    pthread_mutex_lock(&ticket->service->lock);
    kf_ticket_state state = ticket->state;
    pthread_mutex_unlock(&ticket->service->lock);
    return state;
}

kf_ticket_state kf_ticket_wait(kf_ticket *ticket, double seconds)
{
    double until = kf_now() + (seconds > 0 ? fmin(seconds, 1e9) : 0);
    struct timespec when = {.tv_sec = (time_t)until};
    when.tv_nsec = (long)((until - floor(until)) * 1e9);
    pthread_mutex_t *lock = &ticket->service->lock;
    pthread_mutex_lock(lock);
    while (!is_final(ticket->state) && pthread_cond_timedwait(&ticket->changed, lock, &when) == 0)
        continue;
    kf_ticket_state state = ticket->state;
    pthread_mutex_unlock(lock);
    return state;
}

const kf_judgement *kf_ticket_judgement(kf_ticket *ticket)
{
    pthread_mutex_lock(&ticket->service->lock);
    bool done = ticket->state == KF_TICKET_DONE;
    const kf_judgement *judgement = !done         ? NULL
                                    : ticket->own ? ticket->own
                                                  : ticket->work->judgement;
    pthread_mutex_unlock(&ticket->service->lock);
    return judgement;
}

bool kf_ticket_cached(kf_ticket *ticket)
{
    pthread_mutex_lock(&ticket->service->lock);
    bool cached = ticket->is_cached;
    pthread_mutex_unlock(&ticket->service->lock);
    return cached;
}

double kf_ticket_queue_seconds(kf_ticket *ticket)
{
    pthread_mutex_lock(&ticket->service->lock);
    double end = ticket->began ? ticket->began : ticket->ended ? ticket->ended : kf_now();
    double seconds = end - ticket->submitted;
    pthread_mutex_unlock(&ticket->service->lock);
    return seconds > 0 ? seconds : 0;
}

/* Lets the pump stop the worker of running work that no ticket waits for. True if it has to. */
static bool stop_unwanted(kf_service *service, kf_work *work)
{
    if (!work || work->tickets || work->place != KF_WORK_RUNNING) return false;
    kf_work_move(service, work, KF_WORK_CANCELLED, false);
    kf_work_unlist(service, work);
    return true;
}

bool kf_ticket_cancel(kf_ticket *ticket)
{
    kf_service *service = ticket->service;
    bool stops = false;
    pthread_mutex_lock(&service->lock);
    bool cancelled = !is_final(ticket->state);
    if (cancelled) {
        kf_work *work = ticket->work;
        service->figures.cancelled++;
        kf_ticket_finish(ticket, KF_TICKET_CANCELLED);
        drop_unwanted(service, work);
        stops = stop_unwanted(service, work);
    }
    pthread_mutex_unlock(&service->lock);
    if (stops) kf_service_wake(service);
    if (cancelled) kf_service_notify(service);
    return cancelled;
}

bool kf_ticket_watch(kf_ticket *ticket, void (*done)(void *context, kf_ticket *ticket),
                     void *context)
{
    kf_watcher *watcher = calloc(1, sizeof *watcher);
    if (!watcher) return false;
    pthread_mutex_lock(&ticket->service->lock);
    bool final = is_final(ticket->state);
    if (!final) {
        *watcher = (kf_watcher){.next = ticket->watchers, .done = done, .context = context};
        ticket->watchers = watcher;
    }
    pthread_mutex_unlock(&ticket->service->lock);
    if (!final) return true;
    free(watcher);
    done(context, ticket);
    return true;
}

bool kf_ticket_unwatch(kf_ticket *ticket, const void *context)
{
    kf_watcher *found = NULL;
    pthread_mutex_lock(&ticket->service->lock);
    for (kf_watcher **at = &ticket->watchers; *at && !found; at = &(*at)->next) {
        if ((*at)->context != context) continue;
        found = *at;
        *at = found->next;
        break;
    }
    pthread_mutex_unlock(&ticket->service->lock);
    free(found);
    return found != NULL;
}

kf_ticket *kf_service_find(kf_service *service, const char *id)
{
    kf_ticket *found = NULL;
    pthread_mutex_lock(&service->lock);
    for (kf_ticket *t = service->first_kept; t; t = t->next_kept)
        if (strcmp(t->id, id) == 0 || (t->alias && strcmp(t->alias, id) == 0)) found = t;
    if (found) found->references++;
    pthread_mutex_unlock(&service->lock);
    return found;
}
