/* The pump: the one thread that uses the workers and writes the store. It looks incoming work up in
 * the store, hands work to workers with room, and ends work with its judgement. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "jobs_internal.h"
#include "kforge/file.h"
#include "machine_failures.h"
#include "verdict_event.h"
#include "parallel.h"

/* The longest wait for an event. */
#define WAIT_SECONDS 60.0
/* Pause before workers are started again after all of them ended, at first and at most. */
#define FIRST_PAUSE 1.0
#define MOST_PAUSE 30.0
/* After so many ends of all workers without a verdict, waiting jobs are given up. */
#define MOST_COLLAPSES 2

void kf_service_wake(kf_service *service)
{
    uint64_t one = 1;
    ssize_t written = write(service->pump.wake, &one, sizeof one);
    (void)written;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void write_event(const kf_service *service, kf_event_kind kind, cJSON *fields)
{
    kf_event_stream *events = service->settings.events;
    kf_event_write(events, kind, kf_event_stream_id(events), fields);
}

static void write_attempt(kf_service *service, const kf_work *work, const kf_verdict *verdict)
{
    char job[80];
    service->pump.verdicts++;
    if (!service->settings.events) return;
    const kf_attempt_result result = kf_attempt_result_of(verdict);
    cJSON *fields = cJSON_CreateObject();
    snprintf(job, sizeof job, "serve-%s-%lld", service->pump.session, (long long)work->number);
    kf_event_number(fields, "step", (double)service->pump.verdicts);
    kf_event_text(fields, "job", job);
    kf_event_text(fields, "task", kf_task_name(work->input.task->task));
    kf_event_text(fields, "proposer", work->input.proposer);
    kf_event_text(fields, "model", "");
    kf_event_result(fields, &result);
    write_event(service, KF_EVENT_ATTEMPT, fields);
}

static void write_news(kf_service *service, const char *message)
{
    if (!service->settings.events) return;
    kf_workers *workers = service->pump.workers;
    cJSON *fields = cJSON_CreateObject();
    kf_event_number(fields, "step", (double)service->pump.verdicts);
    kf_event_number(fields, "workers", (double)kf_workers_devices(workers));
    kf_event_text(fields, "device", kf_workers_device(workers));
    kf_event_text(fields, "message", message);
    write_event(service, KF_EVENT_WORKER, fields);
}

/* ---- workers --------------------------------------------------------------------------------- */

static bool open_workers(kf_service *service, kf_error *error)
{
    const kf_service_settings *s = &service->settings;
    service->pump.workers =
        kf_workers_open((const char *const *)s->workers, s->worker_count,
                        &(kf_workers_options){.device = s->device,
                                              .program = s->program,
                                              .devices = (const char *const *)s->devices,
                                              .device_count = s->device_count},
                        error);
    return service->pump.workers != NULL;
}

static void end_all(kf_service *service, kf_work_place place, const char *why)
{
    pthread_mutex_lock(&service->lock);
    for (kf_work *work; (work = service->lists[place].first);) {
        kf_judgement *judgement = kf_judgement_lost(&work->input, why);
        if (!judgement) break;
        kf_work_finish(service, work, judgement, false);
    }
    pthread_mutex_unlock(&service->lock);
}

/* Puts the running work back into the queue, and gives up work that was lost too often. */
static void take_back(kf_service *service, const char *why)
{
    pthread_mutex_lock(&service->lock);
    for (kf_work *work; (work = service->lists[KF_WORK_RUNNING].last);) {
        kf_judgement *lost =
            ++work->retries > KF_SERVICE_RETRIES ? kf_judgement_lost(&work->input, why) : NULL;
        if (lost)
            kf_work_finish(service, work, lost, false);
        else
            kf_work_move(service, work, KF_WORK_WAITING, true);
    }
    pthread_mutex_unlock(&service->lock);
}

/* All workers have ended. */
static void collapse(kf_service *service, const kf_error *why)
{
    kf_service_pump *pump = &service->pump;
    double pause = fmin(FIRST_PAUSE * pow(2, pump->collapses), MOST_PAUSE);
    kf_service_log(service, "%s; workers start again in %.0f s", why->text, pause);
    kf_workers_close(pump->workers);
    pump->workers = NULL;
    pump->restart_at = kf_now() + pause;
    take_back(service, why->text);
    if (++pump->collapses >= MOST_COLLAPSES) {
        end_all(service, KF_WORK_INCOMING, why->text);
        end_all(service, KF_WORK_WAITING, why->text);
    }
    pthread_mutex_lock(&service->lock);
    snprintf(service->figures.trouble, sizeof service->figures.trouble, "%.255s", why->text);
    service->figures.ready = false;
    pthread_mutex_unlock(&service->lock);
}

static void note_hello(kf_service *service)
{
    kf_workers *workers = service->pump.workers;
    const char *device = kf_workers_device(workers);
    pthread_mutex_lock(&service->lock);
    kf_service_figures *f = &service->figures;
    size_t devices = kf_workers_devices(workers);
    bool is_news = device && (!f->ready || f->devices != devices);
    f->ready = device != NULL;
    f->devices = devices;
    if (device) {
        snprintf(f->device, sizeof f->device, "%s", device);
        snprintf(f->environment_id, sizeof f->environment_id, "%s",
                 kf_workers_environment_id(workers));
    }
    pthread_mutex_unlock(&service->lock);
    if (is_news) write_news(service, "the number of workers changed");
}

/* ---- work ------------------------------------------------------------------------------------ */

static void finish(kf_service *service, kf_work *work, kf_judgement *judgement, bool cached)
{
    pthread_mutex_lock(&service->lock);
    kf_work_finish(service, work, judgement, cached);
    pthread_mutex_unlock(&service->lock);
}

/* Takes a reference to the first work of a list. NULL: it is empty. */
static kf_work *first_of(kf_service *service, kf_work_place place)
{
    pthread_mutex_lock(&service->lock);
    kf_work *work = service->lists[place].first;
    if (work) work->references++;
    pthread_mutex_unlock(&service->lock);
    return work;
}

static void put_back(kf_service *service, kf_work *work)
{
    pthread_mutex_lock(&service->lock);
    kf_work_release(work);
    pthread_mutex_unlock(&service->lock);
}

/* Answers incoming work from the store, or queues it. */
static void look_up(kf_service *service)
{
    for (kf_work *work; (work = first_of(service, KF_WORK_INCOMING)); put_back(service, work)) {
        kf_judgement *judgement = kf_service_stored(service, &work->input);
        pthread_mutex_lock(&service->lock);
        bool wanted = work->place == KF_WORK_INCOMING;
        if (wanted && judgement)
            kf_work_finish(service, work, kf_steal(&judgement), true);
        else if (wanted)
            kf_work_move(service, work, KF_WORK_WAITING, false);
        pthread_mutex_unlock(&service->lock);
        kf_judgement_free(judgement);
        kf_service_notify(service);
    }
}

static bool submit(kf_service *service, kf_work *work, kf_error *error)
{
    kf_service_pump *pump = &service->pump;
    const kf_work_input *input = &work->input;
    char id[64], code[KF_HASH_HEX];
    char *known[] = {code};
    work->number = ++pump->last_number;
    snprintf(id, sizeof id, "serve-%s-%lld", pump->session, (long long)work->number);
    kf_job job = {.id = id,
                  .task = input->task->task,
                  .source = input->source,
                  .source_size = input->size,
                  .flags = input->flags,
                  .flag_count = input->flag_count,
                  .device = (char[]){""},
                  .known_code = known,
                  .options = kf_job_options_default()};
    job.options.check_only = input->mode == KF_MODE_CHECK;
    job.options.verify = input->mode == KF_MODE_VERIFY;
    job.options.torch = input->python;
    job.options.kernelbench = false;
    job.options.seconds = input->seconds;
    job.options.timeout_seconds = service->settings.timeout_seconds;
    job.options.strict_sandbox = service->settings.strict_sandbox;
    if (!work->without_twin && !work->retries && kf_service_twin(service, input, code))
        job.known_count = 1;
    return kf_workers_submit(pump->workers, &job, work->number, error);
}

/* Gives waiting work to workers with room. */
static void hand_out(kf_service *service)
{
    while (kf_workers_room(service->pump.workers) > 0) {
        kf_work *work = first_of(service, KF_WORK_WAITING);
        if (!work) return;
        pthread_mutex_lock(&service->lock);
        kf_work_move(service, work, KF_WORK_RUNNING, false);
        for (kf_ticket *t = work->tickets; t; t = t->next_waiting) {
            t->state = KF_TICKET_RUNNING;
            if (!t->began) t->began = kf_now();
        }
        pthread_mutex_unlock(&service->lock);
        kf_error why = {0};
        if (!submit(service, work, &why)) {
            kf_judgement *lost = kf_judgement_lost(&work->input, why.text);
            if (lost) finish(service, work, lost, false);
        }
        put_back(service, work);
    }
}

/* Stops the workers of work that was cancelled while it ran. */
static void stop_cancelled(kf_service *service)
{
    for (kf_work *work; (work = first_of(service, KF_WORK_CANCELLED)); put_back(service, work)) {
        if (service->pump.workers) kf_workers_cancel(service->pump.workers, work->number);
        pthread_mutex_lock(&service->lock);
        kf_work_drop(service, work);
        pthread_mutex_unlock(&service->lock);
    }
}

static kf_work *find_running(kf_service *service, int64_t number)
{
    pthread_mutex_lock(&service->lock);
    kf_work *work = service->lists[KF_WORK_RUNNING].first;
    while (work && work->number != number) work = work->next;
    if (work) work->references++;
    pthread_mutex_unlock(&service->lock);
    return work;
}

static bool names_known_code(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->finding_count; i++)
        if (strcmp(verdict->findings[i].rule, "code.known") == 0) return true;
    return false;
}

/* Puts running work back to the front of the queue. False if nothing waits for it, or it was tried
 * too often. */
static bool judge_again(kf_service *service, kf_work *work, bool is_fault)
{
    pthread_mutex_lock(&service->lock);
    bool again = work->tickets && (!is_fault || work->retries < KF_SERVICE_RETRIES);
    if (again) {
        work->retries += is_fault;
        service->figures.retries += is_fault;
        kf_work_move(service, work, KF_WORK_WAITING, true);
    }
    pthread_mutex_unlock(&service->lock);
    return again;
}

/* Ends work with a worker's result, or queues it again. */
static void settle(kf_service *service, kf_work *work, kf_workers_result *result)
{
    const kf_verdict *verdict = result->verdict;
    kf_judgement *judgement = NULL;
    bool cached = false;
    if (result->outcome != KF_WORKERS_JUDGED) {
        if (result->outcome == KF_WORKERS_LOST && judge_again(service, work, true)) return;
        judgement = kf_judgement_lost(&work->input, result->error.text);
    } else {
        service->pump.collapses = 0;
        write_attempt(service, work, verdict);
        judgement = kf_service_same_code(service, &work->input, verdict);
        cached = judgement != NULL;
        if (!judgement && names_known_code(verdict)) {
            work->without_twin = true;
            if (judge_again(service, work, false)) return;
        }
        bool is_fault = verdict->blame == KF_BLAME_MACHINE || verdict->blame == KF_BLAME_JUDGE;
        if (!judgement && is_fault && judge_again(service, work, true)) return;
        if (!judgement) {
            if (!is_fault) kf_service_record(service, &work->input, result);
            judgement =
                kf_judgement_new(kf_steal(&result->verdict), &work->input, work->input.mode);
        }
    }
    if (judgement) finish(service, work, judgement, cached);
}

/* Waits for an event, and handles a result. */
static void wait_for_event(kf_service *service, double until)
{
    kf_service_pump *pump = &service->pump;
    kf_workers_result result = {0};
    kf_error why = {0};
    struct pollfd wake = {.fd = pump->wake, .events = POLLIN};
    uint64_t count;
    if (!pump->workers) {
        double left = fmin(until, pump->restart_at) - kf_now();
        poll(&wake, 1, left > 0 ? (int)ceil(left * 1000) : 0);
    } else {
        kf_workers_listen(pump->workers, &wake, 1, until);
        int got = kf_workers_wait(pump->workers, WAIT_SECONDS, &result, &why);
        kf_work *work = got > 0 ? find_running(service, result.ticket) : NULL;
        if (work) {
            settle(service, work, &result);
            put_back(service, work);
        }
        kf_workers_result_free(&result);
        for (const char *news; (news = kf_workers_news(pump->workers));) {
            kf_service_log(service, "%s", news);
            write_news(service, news);
        }
        kf_event_stream_flush(service->settings.events);
        note_hello(service);
        if (got < 0) collapse(service, &why);
    }
    while (read(pump->wake, &count, sizeof count) > 0) continue;
}

static bool is_closing(kf_service *service)
{
    pthread_mutex_lock(&service->lock);
    bool closing = service->is_closing;
    pthread_mutex_unlock(&service->lock);
    return closing;
}

static void *run_pump(void *argument)
{
    kf_service *service = argument;
    kf_service_pump *pump = &service->pump;
    while (!is_closing(service)) {
        kf_error why = {0};
        if (!pump->workers && kf_now() >= pump->restart_at && !open_workers(service, &why))
            collapse(service, &why);
        if (pump->workers && kf_workers_device(pump->workers)) {
            look_up(service);
            hand_out(service);
        }
        stop_cancelled(service);
        pthread_mutex_lock(&service->lock);
        double next = kf_service_expire(service, kf_now());
        pthread_mutex_unlock(&service->lock);
        kf_service_notify(service);
        wait_for_event(service, fmin(next, kf_now() + WAIT_SECONDS));
        kf_service_notify(service);
    }
    /* The workers end with the thread that started them. */
    kf_workers_close(pump->workers);
    pump->workers = NULL;
    return NULL;
}

bool kf_service_pump_start(kf_service *service, kf_error *error)
{
    uint32_t chance;
    if (!kf_random(&chance, sizeof chance))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel provides no random numbers");
    snprintf(service->pump.session, sizeof service->pump.session, "%08x", chance);
    service->pump.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (service->pump.wake < 0)
        return kf_fail(error, KF_ERROR_MACHINE, "no event descriptor: %s", strerror(errno));
    int failed = kf_thread_start(&service->pump.thread, NULL, run_pump, service);
    if (!failed) return true;
    close(service->pump.wake);
    service->pump.wake = -1;
    return kf_fail(error, KF_ERROR_MACHINE, "no thread: %s", strerror(failed));
}

void kf_service_pump_end(kf_service *service)
{
    if (service->pump.wake < 0) return;
    kf_service_wake(service);
    pthread_join(service->pump.thread, NULL);
    close(service->pump.wake);
    service->pump.wake = -1;
}
