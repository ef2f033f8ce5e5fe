/* What all parts of a service use: its log, its figures, the store for reading. */
#include <stdarg.h>
#include <stdio.h>

#include "jobs_internal.h"

void kf_service_log(kf_service *service, const char *format, ...)
{
    char line[1200];
    va_list arguments;
    if (!service->settings.log) return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    service->settings.log(service->settings.log_context, line);
}

void kf_service_read_figures(kf_service *service, kf_service_figures *figures)
{
    pthread_mutex_lock(&service->lock);
    *figures = service->figures;
    figures->queued =
        service->lists[KF_WORK_INCOMING].count + service->lists[KF_WORK_WAITING].count;
    figures->running = service->lists[KF_WORK_RUNNING].count;
    pthread_mutex_unlock(&service->lock);
}

const char *kf_service_store(const kf_service *service)
{
    return service->settings.store_path;
}

/* ---- reading the store ----------------------------------------------------------------------- */

kf_store *kf_service_reading(kf_service *service, kf_error *error)
{
    if (!service->settings.store_path) {
        kf_fail(error, KF_ERROR_INPUT, "this service has no store");
        return NULL;
    }
    kf_service_reader *reader = &service->reader;
    pthread_mutex_lock(&reader->lock);
    if (!reader->store)
        reader->store = kf_store_open(service->settings.store_path, KF_STORE_READ, error);
    if (!reader->store) pthread_mutex_unlock(&reader->lock);
    return reader->store;
}

void kf_service_reading_done(kf_service *service)
{
    pthread_mutex_unlock(&service->reader.lock);
}
