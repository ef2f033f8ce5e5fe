/* Opens and closes workers, submits jobs and waits for results. */
#include "workers.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api_key.h"
#include "machine_failures.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/judge.h"
#include "worker_protocol.h"
#include "workers_internal.h"

/* Time for channels to close by themselves. */
#define CLOSE_SECONDS 0.4

const char *kf_workers_doing(const kf_workers *workers)
{
    return workers->doing;
}

const char *kf_workers_news(kf_workers *workers)
{
    if (!workers->has_news) return NULL;
    workers->has_news = false;
    return workers->news;
}

/* ---- opening --------------------------------------------------------------------------------- */

bool kf_workers_times(char *spec, size_t *times, kf_error *error)
{
    size_t length = strlen(spec), digits = length;
    while (digits > 0 && isdigit((unsigned char)spec[digits - 1])) digits--;
    size_t mark = digits > 0 && spec[digits - 1] == '*'                         ? 1
                  : digits > 1 && memcmp(spec + digits - 2, "\xc3\x97", 2) == 0 ? 2
                                                                                : 0;
    *times = 1;
    if (!mark || digits == length) return true;
    unsigned long count = length - digits > 4 ? 0 : strtoul(spec + digits, NULL, 10);
    if (count < 1 || count > KF_WORKERS_MAX)
        return kf_fail(error, KF_ERROR_INPUT, "workers \"%s\": expected 1 to %d of them", spec,
                       KF_WORKERS_MAX);
    *times = count;
    spec[digits - mark] = '\0';
    for (size_t end = digits - mark; end > 0 && spec[end - 1] == ' ';) spec[--end] = '\0';
    return true;
}

static bool add_channel(kf_workers *pool, kf_channel *channel, kf_error *error)
{
    if (!channel) return false;
    if (pool->channel_count == KF_WORKERS_MAX) {
        channel->kind->close(channel);
        return kf_fail(error, KF_ERROR_INPUT, "more than %d workers", KF_WORKERS_MAX);
    }
    pool->channels[pool->channel_count++] = channel;
    return true;
}

static bool open_spec(kf_workers *pool, const char *text, const kf_workers_options *options,
                      kf_error *error)
{
    kf_autofree char *spec = strdup(text);
    size_t times;
    if (!spec) return kf_fail_memory(error, "a worker");
    if (!kf_api_keys_check_command("worker", text, error) || !kf_workers_times(spec, &times, error))
        return false;
    if (!*spec)
        return kf_fail(error, KF_ERROR_INPUT,
                       "workers \"%s\": expected local, a command or spool:DIR", text);
    if (strncmp(spec, "spool:", 6) == 0)
        return add_channel(pool, kf_spool_open(pool, spec + 6, times, options, error), error);
    bool local = strcmp(spec, "local") == 0;
    size_t devices = local && options->device_count ? options->device_count : 1;
    for (size_t i = 0; i < times * devices; i++) {
        kf_workers_options one = *options;
        if (local && options->device_count) one.device = options->devices[i % devices];
        if (!add_channel(pool, kf_pipe_open(pool, local ? NULL : spec, &one, error), error))
            return false;
    }
    return true;
}

bool kf_workers_here(const char *const *specs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(specs[i], "local", 5) == 0) return true;
    return count == 0;
}

kf_workers *kf_workers_open(const char *const *specs, size_t count,
                            const kf_workers_options *options, kf_error *error)
{
    static const kf_workers_options defaults;
    kf_auto(kf_workers) pool = calloc(1, sizeof *pool);
    if (pool) pool->channels = calloc(KF_WORKERS_MAX, sizeof *pool->channels);
    if (!pool || !pool->channels) {
        kf_fail_memory(error, "the workers");
        return NULL;
    }
    pool->queue_end = &pool->queue;
    pool->results_end = &pool->results;
    pool->listen_until = INFINITY;
    pool->alive_seconds =
        options && options->alive_seconds > 0 ? options->alive_seconds : KF_ALIVE_SECONDS;
    static const char *const local[] = {"local"};
    if (count == 0) specs = local, count = 1;
    for (size_t i = 0; i < count; i++)
        if (!open_spec(pool, specs[i], options ? options : &defaults, error)) return NULL;
    return kf_steal(&pool);
}

void kf_workers_close(kf_workers *workers)
{
    if (!workers) return;
    for (size_t i = 0; i < workers->channel_count; i++)
        if (workers->channels[i]->kind->begin_close)
            workers->channels[i]->kind->begin_close(workers->channels[i]);
    double until = kf_now() + CLOSE_SECONDS;
    for (size_t i = 0; i < workers->channel_count; i++) {
        kf_channel *channel = workers->channels[i];
        struct pollfd fds[KF_CHANNEL_FDS];
        double wake = until;
        while (channel->kind->begin_close && channel->kind->watch(channel, fds, &wake) > 0 &&
               kf_now() < until) {
            channel->kind->advance(channel, kf_now());
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        }
        channel->kind->close(channel);
    }
    for (kf_pending *job; (job = kf_pool_dequeue(workers));) kf_pending_free(job);
    for (kf_finished *f = workers->results, *next; f; f = next) {
        next = f->next;
        kf_workers_result_free(&f->result);
        free(f);
    }
    free(workers->channels);
    free(workers->bundle);
    free(workers->hardware);
    free(workers->environment_id);
    free(workers->device);
    free(workers);
}

const char *kf_workers_hardware(const kf_workers *workers)
{
    return workers->device ? workers->hardware : NULL;
}

const char *kf_workers_environment_id(const kf_workers *workers)
{
    return workers->device ? workers->environment_id : NULL;
}

const char *kf_workers_device(const kf_workers *workers)
{
    return workers->device;
}

bool kf_workers_expect(kf_workers *workers, const char *environment_id)
{
    free(workers->environment_id);
    workers->environment_id = strdup(environment_id);
    return workers->environment_id;
}

/* ---- using ----------------------------------------------------------------------------------- */

static size_t queue_length(const kf_workers *workers)
{
    size_t count = 0;
    for (const kf_pending *job = workers->queue; job; job = job->next) count++;
    return count;
}

size_t kf_workers_room(const kf_workers *workers)
{
    size_t room = 0, waiting = queue_length(workers);
    for (size_t i = 0; i < workers->channel_count; i++)
        if (!workers->channels[i]->given_up)
            room += workers->channels[i]->kind->room(workers->channels[i]);
    return room > waiting ? room - waiting : 0;
}

size_t kf_workers_capacity(const kf_workers *workers)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->channel_count; i++) {
        const kf_channel *channel = workers->channels[i];
        if (!channel->given_up)
            count += channel->kind->room(channel) + channel->kind->busy(channel);
    }
    return count;
}

size_t kf_workers_rejected(const kf_workers *workers)
{
    return workers->rejected;
}

size_t kf_workers_retired(const kf_workers *workers)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->channel_count; i++) count += workers->channels[i]->retiring;
    return count;
}

size_t kf_workers_absent(const kf_workers *workers)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->channel_count; i++) {
        const kf_channel *channel = workers->channels[i];
        count +=
            !channel->given_up && !channel->kind->room(channel) && !channel->kind->busy(channel);
    }
    return count;
}

size_t kf_workers_devices(const kf_workers *workers)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->channel_count; i++) {
        const kf_channel *channel = workers->channels[i];
        if (!channel->given_up)
            count += channel->kind->takes
                         ? 1
                         : channel->kind->room(channel) + channel->kind->busy(channel);
    }
    return count;
}

size_t kf_workers_least_jobs(const kf_workers *workers)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->channel_count; i++) {
        const kf_channel *channel = workers->channels[i];
        if (!channel->given_up)
            count += channel->kind->takes
                         ? 1
                         : (channel->kind->room(channel) + channel->kind->busy(channel) + 1) / 2;
    }
    return count;
}

size_t kf_workers_in_flight(const kf_workers *workers)
{
    size_t count = queue_length(workers);
    for (size_t i = 0; i < workers->channel_count; i++)
        count += workers->channels[i]->kind->busy(workers->channels[i]);
    for (const kf_finished *f = workers->results; f; f = f->next) count++;
    return count;
}

/* Returns the bundle of the task as JSON. NULL: out of memory. */
static const char *bundle_of(kf_workers *workers, const kf_task *task)
{
    if (workers->bundle && strcmp(workers->bundle_hash, kf_task_hash(task)) == 0)
        return workers->bundle;
    kf_auto(cJSON) bundle = kf_task_bundle(task);
    free(workers->bundle);
    workers->bundle = bundle ? cJSON_PrintUnformatted(bundle) : NULL;
    snprintf(workers->bundle_hash, sizeof workers->bundle_hash, "%s", kf_task_hash(task));
    return workers->bundle;
}

/* Returns the first job in the queue that `channel` may take. NULL: there is no such job. */
static kf_pending **next_for(kf_workers *workers, const kf_channel *channel)
{
    for (kf_pending **at = &workers->queue; *at; at = &(*at)->next)
        if ((*at)->failed_on != channel || !kf_pool_has_other(workers, channel)) return at;
    return NULL;
}

/* Gives the jobs in the queue to channels with room. */
static void distribute(kf_workers *workers)
{
    for (size_t i = 0; i < workers->channel_count && workers->queue; i++) {
        kf_channel *channel = workers->channels[i];
        kf_pending **job;
        while (!channel->given_up && channel->kind->room(channel) &&
               (job = next_for(workers, channel)) &&
               (!channel->kind->takes || channel->kind->takes(channel, *job)))
            channel->kind->begin(channel, kf_pool_unlink(workers, job));
    }
}

bool kf_workers_submit(kf_workers *workers, const kf_job *job, int64_t ticket, kf_error *error)
{
    const char *bundle = bundle_of(workers, job->task);
    kf_auto(cJSON) json = bundle ? kf_job_to_json_around(job, bundle) : NULL;
    bool asked = json && cJSON_AddNumberToObject(json, "alive", workers->alive_seconds);
    kf_autofree char *text = asked ? cJSON_PrintUnformatted(json) : NULL;
    kf_pending *pending = text ? calloc(1, sizeof *pending) : NULL;
    if (!pending) return kf_fail_memory(error, "a job");
    size_t size = strlen(text);
    char *line = realloc(text, size + 2);
    if (line) text = NULL, line[size] = '\n', line[size + 1] = '\0';
    *pending =
        (kf_pending){.id = strdup(job->id), .line = line, .size = size + 1, .ticket = ticket};
    if (!pending->id || !line) {
        kf_pending_free(pending);
        return kf_fail_memory(error, "a job");
    }
    if (size > KF_JOB_BYTES) {
        kf_pending_free(pending);
        return kf_fail(error, KF_ERROR_LIMIT,
                       "the job has %zu bytes, more than the %u that workers accept", size,
                       KF_JOB_BYTES);
    }
    kf_hash hash = kf_hash_bytes(job->source, job->source_size);
    kf_hash_hex(&hash, pending->source_hash);
    snprintf(pending->task_hash, sizeof pending->task_hash, "%s", kf_task_hash(job->task));
    const kf_job_options *o = &job->options;
    pending->limit =
        o->build_seconds * (KF_BUILD_TIMEOUT_FACTOR + (o->torch ? KF_EXTENSION_BUILDS : 0)) +
        (KF_JOB_CEILING * o->timeout_seconds + o->seconds) * (o->verify ? 2 : 1);
    /* A second measurement has processes of its own, and so has one with frozen weights. */
    if (kf_task_baseline_compiled(job->task, o->baseline))
        pending->limit +=
            KF_COMPILE_SECONDS * kf_task_workload_count(job->task) * (1 + o->verify + o->torch);
    if (o->torch && kf_compiles_when_called(job->source))
        pending->limit += KF_DRY_RUN_BUILDS * o->build_seconds;
    if (o->counters) pending->limit += 60;
    /* Three tools of 30 s. */
    if (o->sanitize || o->verify) pending->limit += 100;
    kf_pool_enqueue(workers, pending, false);
    /* If a worker has room, the job begins now. So a later kf_workers_withdraw does not depend on
     * timing. */
    distribute(workers);
    return true;
}

static bool any_left(const kf_workers *workers)
{
    for (size_t i = 0; i < workers->channel_count; i++)
        if (!workers->channels[i]->given_up) return true;
    return false;
}

/* Does all that needs no waiting. */
static void advance(kf_workers *workers)
{
    double now = kf_now();
    for (size_t i = 0; i < workers->channel_count; i++)
        if (!workers->channels[i]->given_up)
            workers->channels[i]->kind->advance(workers->channels[i], now);
    distribute(workers);
}

static bool take_result(kf_workers *workers, kf_workers_result *result)
{
    kf_finished *f = workers->results;
    if (!f) return false;
    *result = f->result;
    workers->results = f->next;
    if (!workers->results) workers->results_end = &workers->results;
    free(f);
    return true;
}

void kf_workers_listen(kf_workers *workers, const struct pollfd *fds, size_t count, double wake)
{
    workers->listen_count = count < KF_WORKERS_LISTENED ? count : KF_WORKERS_LISTENED;
    if (count) memcpy(workers->listen_fds, fds, workers->listen_count * sizeof *fds);
    workers->listen_until = wake;
}

/* Waits for an event. False if a signal came, or an event of kf_workers_listen. */
static bool wait_for(const kf_workers *workers, double until)
{
    kf_autofree struct pollfd *fds =
        calloc(workers->channel_count * KF_CHANNEL_FDS + workers->listen_count, sizeof *fds);
    nfds_t count = 0;
    double wake = fmin(until, workers->listen_until);
    for (size_t i = 0; fds && i < workers->channel_count; i++)
        if (!workers->channels[i]->given_up)
            count +=
                (nfds_t)workers->channels[i]->kind->watch(workers->channels[i], fds + count, &wake);
    nfds_t own = count;
    if (fds && workers->listen_count)
        memcpy(fds + own, workers->listen_fds, workers->listen_count * sizeof *fds);
    if (fds) count += workers->listen_count;
    double left = wake - kf_now();
    if (poll(fds, count, left > 0 ? (int)fmin(ceil(left * 1000), 1e6) : 0) < 0) return false;
    for (nfds_t i = own; i < count; i++)
        if (fds[i].revents) return false;
    return kf_now() < workers->listen_until;
}

int kf_workers_wait(kf_workers *workers, double seconds, kf_workers_result *result, kf_error *error)
{
    double until = kf_now() + (seconds > 0 ? seconds : 0);
    workers->gained_room = false;
    for (;;) {
        advance(workers);
        if (take_result(workers, result)) return 1;
        if (workers->out_of_memory) return kf_fail_memory(error, "a verdict") - 1;
        if (!any_left(workers)) {
            kf_fail_copy(error, &workers->last);
            return -1;
        }
        if (workers->gained_room || kf_now() >= until || !wait_for(workers, until)) break;
    }
    kf_workers_listen(workers, NULL, 0, INFINITY);
    return 0;
}

size_t kf_workers_withdraw(kf_workers *workers, int64_t *tickets, size_t most)
{
    size_t count = 0;
    while (count < most && workers->queue) {
        kf_pending *job = kf_pool_dequeue(workers);
        tickets[count++] = job->ticket;
        kf_pending_free(job);
    }
    for (size_t i = 0; i < workers->channel_count; i++)
        if (workers->channels[i]->kind->withdraw)
            count += workers->channels[i]->kind->withdraw(workers->channels[i], tickets + count,
                                                          most - count);
    return count;
}

/* Drops the result of a job if it waits to be taken, and sets *seconds to the time of the job. */
static bool drop_result(kf_workers *workers, int64_t ticket, double *seconds)
{
    for (kf_finished **at = &workers->results; *at; at = &(*at)->next) {
        kf_finished *f = *at;
        if (f->result.ticket != ticket) continue;
        *at = f->next;
        if (!*at) workers->results_end = at;
        *seconds = f->seconds;
        kf_workers_result_free(&f->result);
        free(f);
        return true;
    }
    return false;
}

double kf_workers_cancel(kf_workers *workers, int64_t ticket)
{
    double began = 0, seconds;
    if (drop_result(workers, ticket, &seconds)) return seconds;
    for (kf_pending **at = &workers->queue; *at; at = &(*at)->next) {
        if ((*at)->ticket != ticket) continue;
        kf_pending_free(kf_pool_unlink(workers, at));
        return 0;
    }
    for (size_t i = 0; i < workers->channel_count; i++)
        if (workers->channels[i]->kind->cancel(workers->channels[i], ticket, &began)) break;
    return began > 0 ? kf_now() - began : 0;
}
