/* Opens and closes a service, and reads its figures and candidates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs_internal.h"
#include "kforge/json.h"
#include "kforge/judge.h"

#define LEAST_HASH_DIGITS 8
#define DEFAULT_TIMEOUT 30.0

/* ---- opening --------------------------------------------------------------------------------- */

static bool copy_text(char **to, const char *text)
{
    *to = text ? strdup(text) : NULL;
    return *to || !text;
}

static bool copy_list(char ***to, size_t *to_count, const char *const *items, size_t count)
{
    *to = calloc(count + 1, sizeof **to);
    for (size_t i = 0; *to && i < count; i++) {
        if (!copy_text(&(*to)[i], items[i])) return false;
        ++*to_count;
    }
    return *to != NULL;
}

/* One local worker for each processor of a machine without a GPU, since each builds one job. */
static bool default_workers(kf_service_settings *settings)
{
    const char *device = settings->device;
    bool cpu = device ? strncmp(device, "cpu", 3) == 0 : kf_judge_gpu_count() == 0;
    if (settings->worker_count || settings->device_count || !cpu) return true;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int count = processors < 1                        ? 1
                : processors > KF_SERVICE_CPU_WORKERS ? KF_SERVICE_CPU_WORKERS
                                                      : (int)processors;
    char *spec;
    if (asprintf(&spec, "local*%d", count) < 0) return false;
    /* copy_list left room for the end of the list. */
    settings->workers[0] = spec;
    settings->worker_count = 1;
    return true;
}

static bool copy_options(kf_service *service, const kf_service_options *o, kf_error *error)
{
    kf_service_settings *s = &service->settings;
    s->queue_limit = o->queue_limit ? o->queue_limit : KF_SERVICE_QUEUE;
    s->timeout_seconds = o->timeout_seconds > 0 ? o->timeout_seconds : DEFAULT_TIMEOUT;
    s->strict_sandbox = o->strict_sandbox;
    s->log = o->log;
    s->log_context = o->log_context;
    s->events = o->events;
    return (copy_text(&s->device, o->device) && copy_text(&s->program, o->program) &&
            copy_list(&s->workers, &s->worker_count, o->workers, o->worker_count) &&
            copy_list(&s->devices, &s->device_count, o->devices, o->device_count) &&
            default_workers(s)) ||
           kf_fail_memory(error, "a service");
}

static bool open_store(kf_service *service, const kf_service_options *options, kf_error *error)
{
    if (options->no_store) return true;
    service->pump.store = kf_store_open(options->store, KF_STORE_CREATE, error);
    if (!service->pump.store) return false;
    return copy_text(&service->settings.store_path, kf_store_path(service->pump.store)) ||
           kf_fail_memory(error, "a service");
}

kf_service *kf_service_open(const kf_service_options *options, kf_error *error)
{
    kf_auto(kf_service) service = calloc(1, sizeof *service);
    if (!service) {
        kf_fail_memory(error, "a service");
        return NULL;
    }
    service->pump.wake = -1;
    pthread_mutex_init(&service->lock, NULL);
    pthread_mutex_init(&service->tasks.lock, NULL);
    pthread_mutex_init(&service->reader.lock, NULL);
    if (!copy_options(service, options, error) || !kf_service_tasks_open(service, options, error) ||
        !open_store(service, options, error) || !kf_service_pump_start(service, error))
        return NULL;
    return kf_steal(&service);
}

/* ---- closing --------------------------------------------------------------------------------- */

static void cancel_all(kf_service *service)
{
    pthread_mutex_lock(&service->lock);
    service->is_closing = true;
    for (int place = KF_WORK_INCOMING; place <= KF_WORK_RUNNING; place++)
        for (kf_work *work = service->lists[place].first; work; work = work->next)
            while (work->tickets) {
                service->figures.cancelled++;
                kf_ticket_finish(work->tickets, KF_TICKET_CANCELLED);
            }
    pthread_mutex_unlock(&service->lock);
    kf_service_notify(service);
}

static void forget_work(kf_service *service)
{
    pthread_mutex_lock(&service->lock);
    for (int place = KF_WORK_INCOMING; place < KF_WORK_DONE; place++)
        while (service->lists[place].first) kf_work_drop(service, service->lists[place].first);
    for (kf_work *work; (work = service->first_remembered);) {
        service->first_remembered = work->next_remembered;
        kf_work_unlist(service, work);
        kf_work_release(work);
    }
    pthread_mutex_unlock(&service->lock);
}

static void free_list(char **items, size_t count)
{
    for (size_t i = 0; i < count; i++) free(items[i]);
    free(items);
}

void kf_service_close(kf_service *service)
{
    if (!service) return;
    cancel_all(service);
    kf_service_pump_end(service);
    kf_ticket_forget_all(service);
    forget_work(service);
    kf_service_tasks_close(service);
    kf_store_close(service->reader.store);
    kf_store_close(service->pump.store);
    pthread_mutex_destroy(&service->lock);
    pthread_mutex_destroy(&service->tasks.lock);
    pthread_mutex_destroy(&service->reader.lock);
    kf_service_settings *s = &service->settings;
    free_list(s->workers, s->worker_count);
    free_list(s->devices, s->device_count);
    free(s->store_path);
    free(s->device);
    free(s->program);
    free(service);
}

/* ---- reading --------------------------------------------------------------------------------- */

double kf_service_cost(kf_service *service)
{
    double cost = 0;
    kf_store *store = kf_service_reading(service, NULL);
    if (!store) return 0;
    kf_store_cursor *cursor = kf_store_proposers(store, NULL, NULL);
    kf_autoresult kf_store_proposer row = {0};
    while (cursor && kf_store_next_proposer(cursor, &row, NULL) == 1) cost += row.cost_usd;
    kf_store_cursor_free(cursor);
    kf_service_reading_done(service);
    return cost;
}

/* Adds the JSON value of `text`, or null. */
static bool add_json(cJSON *object, const char *key, const char *text, size_t size)
{
    cJSON *value = text ? kf_json_parse(text, size, KF_JOB_BYTES, key, NULL) : cJSON_CreateNull();
    if (value && cJSON_AddItemToObject(object, key, value)) return true;
    cJSON_Delete(value);
    return false;
}

static cJSON *describe(kf_store *store, const kf_store_candidate *found, kf_error *error)
{
    size_t size = 0, verdict_size = 0;
    kf_autofree char *source = kf_store_source(store, found->id, &size, error);
    if (!source) return NULL;
    kf_autofree char *verdict =
        found->verdict ? kf_store_verdict_json(store, found->verdict, &verdict_size, error) : NULL;
    if (found->verdict && !verdict) return NULL;
    kf_auto(cJSON) object = cJSON_CreateObject();
    const char *status = found->verdict ? kf_status_name(found->status) : NULL;
    bool made = object && cJSON_AddStringToObject(object, "candidate", found->hash) &&
                cJSON_AddStringToObject(object, "task", found->task) &&
                (status ? cJSON_AddStringToObject(object, "status", status)
                        : cJSON_AddNullToObject(object, "status")) &&
                cJSON_AddStringToObject(object, "source", source) &&
                add_json(object, "flags", found->flags, strlen(found->flags)) &&
                add_json(object, "verdict", verdict, verdict_size);
    if (!made) kf_fail_memory(error, "a candidate");
    cJSON *whole = made ? cJSON_GetObjectItemCaseSensitive(object, "verdict") : NULL;
    if (whole) kf_verdict_publish(whole);
    return made ? kf_steal(&object) : NULL;
}

cJSON *kf_service_candidate(kf_service *service, const char *hash, kf_error *error)
{
    size_t length = strlen(hash);
    if (length < LEAST_HASH_DIGITS || length >= KF_HASH_HEX ||
        strspn(hash, "0123456789abcdef") != length) {
        kf_fail(error, KF_ERROR_INPUT, "candidate: expected %d to 64 hexadecimal digits of a hash",
                LEAST_HASH_DIGITS);
        return NULL;
    }
    kf_store *store = kf_service_reading(service, error);
    if (!store) return NULL;
    kf_autoresult kf_store_candidate found = {0};
    cJSON *object = kf_store_find_candidate_prefix(store, NULL, hash, &found, error)
                        ? describe(store, &found, error)
                        : NULL;
    kf_service_reading_done(service);
    return object;
}
