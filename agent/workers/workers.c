/* The pool: a queue of jobs, ends that take them, a queue of results. */
#include "workers.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine_failures.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/judge.h"
#include "worker_protocol.h"
#include "workers_internal.h"

#define CLOSE_SECONDS 0.4 /* that ends have to end by themselves */
#define NEWS_BYTES 600

typedef struct finished {
    struct finished *next;
    kf_workers_result result;
} finished;

struct kf_workers {
    kf_end **ends;
    size_t end_count;
    kf_pending *queue, **queue_end;
    finished *results, **results_end;
    char *hardware, *device, *environment_id;
    bool greeted;     /* a first hello came since the last wait */
    size_t strangers; /* turned away for other conditions */
    kf_error last;
    bool has_news;
    char news[NEWS_BYTES];
    bool out_of_memory;
    /* of the task of the last job, printed: most jobs of a run share it, and it is most of a job */
    char *bundle;
    char bundle_hash[KF_HASH_HEX];
    struct pollfd listening[KF_WORKERS_LISTENED]; /* of kf_workers_listen */
    size_t listened;
    double listen_until;
};

/* ---- jobs and results ------------------------------------------------------------------------ */

void kf_pending_free(kf_pending *job)
{
    if (!job) return;
    free(job->id);
    free(job->line);
    free(job);
}

void kf_workers_result_free(kf_workers_result *result)
{
    kf_verdict_free(result->verdict);
    free(result->json);
    *result = (kf_workers_result){0};
}

static void enqueue(kf_workers *pool, kf_pending *job, bool first)
{
    if (first) {
        job->next = pool->queue;
        if (!pool->queue) pool->queue_end = &job->next;
        pool->queue = job;
        return;
    }
    job->next = NULL;
    *pool->queue_end = job;
    pool->queue_end = &job->next;
}

/* Takes the job that *at points to out of the queue. */
static kf_pending *unlink_job(kf_workers *pool, kf_pending **at)
{
    kf_pending *job = *at;
    *at = job->next;
    if (!*at) pool->queue_end = at;
    job->next = NULL;
    return job;
}

static kf_pending *dequeue(kf_workers *pool)
{
    return pool->queue ? unlink_job(pool, &pool->queue) : NULL;
}

/* Takes the result over; without memory for it the run can't go on, which the next wait says. */
static void finish(kf_workers *pool, kf_workers_result *result)
{
    finished *f = calloc(1, sizeof *f);
    if (!f) {
        pool->out_of_memory = true;
        kf_workers_result_free(result);
        return;
    }
    f->result = *result;
    *pool->results_end = f;
    pool->results_end = &f->next;
}

/* ---- what ends report ------------------------------------------------------------------------ */

static const char *text_of(const cJSON *json, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

static size_t hardware_length(const char *environment_id)
{
    const char *mark = strstr(environment_id, KF_JUDGE_MARK);
    return mark ? (size_t)(mark - environment_id) : strlen(environment_id);
}

static bool other_environment_id(const kf_workers *pool, const char *environment_id,
                                 kf_error *error)
{
    size_t length = hardware_length(environment_id);
    bool same_hardware = length == hardware_length(pool->environment_id) &&
                         strncmp(environment_id, pool->environment_id, length) == 0;
    return kf_fail(
        error, KF_ERROR_MACHINE, "it judges on %s, this run on %s: their times can't be compared%s",
        environment_id, pool->environment_id,
        same_hardware ? "; start a new run, which measures by today's rules, runtime and compiler"
                      : "");
}

bool kf_pool_hello(kf_workers *pool, kf_end *end, const char *text, size_t size, kf_error *error)
{
    kf_auto(cJSON) json = kf_json_parse(text, size, KF_JOB_BYTES, "hello", error);
    if (!json) return false;
    const char *schema = text_of(json, "schema"), *hardware = text_of(json, "hardware"),
               *device = text_of(json, "device"),
               *environment_id = text_of(json, "conditions"); /* none: a version that did not tell
                                                                 them apart from the hardware */
    if (!environment_id) environment_id = hardware;
    if (!schema || strcmp(schema, KF_HELLO_SCHEMA) != 0 || !hardware || !*hardware || !device ||
        !*environment_id)
        return kf_fail(error, KF_ERROR_INPUT,
                       "its first line is no hello; is it another version of kforge?");
    if (pool->environment_id && strcmp(pool->environment_id, environment_id) != 0) {
        pool->strangers++;
        return other_environment_id(pool, environment_id, error);
    }
    const cJSON *jobs = cJSON_GetObjectItemCaseSensitive(json, "jobs");
    end->jobs_most = cJSON_IsNumber(jobs) && jobs->valuedouble >= 1
                         ? (size_t)fmin(jobs->valuedouble, KF_WORKER_JOBS)
                         : 1;
    pool->greeted = true;
    if (!pool->environment_id) pool->environment_id = strdup(environment_id);
    if (!pool->hardware) pool->hardware = strdup(hardware);
    if (!pool->device) pool->device = strdup(device);
    return (pool->environment_id && pool->hardware && pool->device) ||
           kf_fail(error, KF_ERROR_MEMORY, "out of memory");
}

static bool check_verdict(const kf_pending *job, const kf_verdict *verdict, kf_error *error)
{
    const char *source = verdict->source_hash, *task = verdict->task_hash;
    if (strcmp(verdict->id, job->id) != 0)
        return kf_fail(error, KF_ERROR_INPUT, "it answered job %.64s when asked about %s",
                       verdict->id, job->id);
    if ((*source || verdict->status == KF_CORRECT) && strcmp(source, job->source_hash) != 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "its verdict is about another source than the one it was sent");
    if ((*task || verdict->status == KF_CORRECT) && strcmp(task, job->task_hash) != 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "its verdict is about another task than the one it was sent");
    return true;
}

/* Is there another end that could do it now or soon? One that has not said hello may never come. */
static bool has_other(const kf_workers *pool, const kf_end *end)
{
    for (size_t i = 0; i < pool->end_count; i++) {
        const kf_end *other = pool->ends[i];
        if (other != end && !other->given_up && !other->worn &&
            (other->kind->room(other) || other->kind->busy(other)))
            return true;
    }
    return false;
}

static void tell(kf_workers *pool, const kf_end *end, const char *text, const char *follows)
{
    pool->has_news = true;
    snprintf(pool->news, sizeof pool->news, "worker %.200s: %.300s; %s", end->name, text, follows);
}

/* Counts the machine's faults; true: this is one, and another machine gets the job. */
static bool hand_on(kf_workers *pool, kf_end *end, kf_pending *job, const kf_verdict *verdict)
{
    end->worn = !kf_machine_failures_count(
        &end->faults, end->faults_most ? end->faults_most : KF_MACHINE_FAILURES, verdict,
        &end->why);
    if (!kf_verdict_is_fault(verdict) || job->spoilt_by || !has_other(pool, end)) return false;
    job->spoilt_by = end;
    tell(pool, end, verdict->message, "another gets the job");
    enqueue(pool, job, true);
    return true;
}

bool kf_pool_answer(kf_workers *pool, kf_end *end, kf_pending *job, const char *text, size_t size,
                    kf_error *error)
{
    kf_auto(cJSON) json = kf_json_parse(text, size, KF_JOB_BYTES, "verdict", error);
    if (!json) return false;
    kf_workers_result result = {.ticket = job->ticket};
    const char *schema = text_of(json, "schema"), *id = text_of(json, "id"),
               *why = text_of(json, "error");
    if (schema && strcmp(schema, KF_REFUSAL_SCHEMA) == 0 && id && strcmp(id, job->id) == 0 && why) {
        result.outcome = KF_WORKERS_REFUSED;
        kf_fail(&result.error, KF_ERROR_INPUT, "worker %s: %s", end->name, why);
    } else {
        kf_auto(kf_verdict) verdict = kf_verdict_from_json(json, error);
        if (!verdict || !check_verdict(job, verdict, error)) return false;
        if (hand_on(pool, end, job, verdict)) {
            end->failures = 0;
            return true;
        }
        result.json = malloc(size + 1);
        if (!result.json) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        memcpy(result.json, text, size);
        result.json[size] = '\0';
        result.json_size = size;
        result.outcome = KF_WORKERS_JUDGED;
        result.verdict = kf_steal(&verdict);
    }
    end->failures = 0;
    finish(pool, &result);
    kf_pending_free(job);
    return true;
}

void kf_pool_return(kf_workers *pool, kf_pending *job)
{
    job->alone = true;
    enqueue(pool, job, true);
}

void kf_pool_hand_back(kf_workers *pool, kf_pending *job)
{
    enqueue(pool, job, true);
}

void kf_pool_failed(kf_workers *pool, kf_end *end, kf_pending *job, bool wrong_machine,
                    const kf_error *why)
{
    end->failures++;
    end->given_up = wrong_machine || end->failures >= KF_WORKER_LIVES;
    tell(pool, end, why->text, end->given_up ? "given up" : "started again");
    pool->last = *why;
    kf_fail_prefix(&pool->last, "worker %.200s", end->name);
    if (!job) return;
    if (++job->deaths < KF_JOB_DEATHS) {
        enqueue(pool, job, true);
        return;
    }
    kf_workers_result result = {.ticket = job->ticket, .outcome = KF_WORKERS_LOST, .error = *why};
    kf_fail_prefix(&result.error, "%d workers failed with it, the last one", job->deaths);
    finish(pool, &result);
    kf_pending_free(job);
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

static bool add_end(kf_workers *pool, kf_end *end, kf_error *error)
{
    if (!end) return false;
    if (pool->end_count == KF_WORKERS_MAX) {
        end->kind->close(end);
        return kf_fail(error, KF_ERROR_INPUT, "more than %d workers", KF_WORKERS_MAX);
    }
    pool->ends[pool->end_count++] = end;
    return true;
}

static bool open_spec(kf_workers *pool, const char *text, const kf_workers_options *options,
                      kf_error *error)
{
    kf_autofree char *spec = strdup(text);
    size_t times;
    if (!spec) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    if (!kf_workers_times(spec, &times, error)) return false;
    if (!*spec)
        return kf_fail(error, KF_ERROR_INPUT,
                       "workers \"%s\": expected local, a command or spool:DIR", text);
    if (strncmp(spec, "spool:", 6) == 0)
        return add_end(pool, kf_spool_open(pool, spec + 6, times, options, error), error);
    bool local = strcmp(spec, "local") == 0;
    size_t devices = local && options->device_count ? options->device_count : 1;
    for (size_t i = 0; i < times * devices; i++) {
        kf_workers_options one = *options;
        if (local && options->device_count) one.device = options->devices[i % devices];
        if (!add_end(pool, kf_pipe_open(pool, local ? NULL : spec, &one, error), error))
            return false;
    }
    return true;
}

kf_workers *kf_workers_open(const char *const *specs, size_t count,
                            const kf_workers_options *options, kf_error *error)
{
    static const kf_workers_options defaults;
    kf_auto(kf_workers) pool = calloc(1, sizeof *pool);
    if (pool) pool->ends = calloc(KF_WORKERS_MAX, sizeof *pool->ends);
    if (!pool || !pool->ends) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    pool->queue_end = &pool->queue;
    pool->results_end = &pool->results;
    pool->listen_until = INFINITY;
    static const char *const local[] = {"local"};
    if (count == 0) specs = local, count = 1;
    for (size_t i = 0; i < count; i++)
        if (!open_spec(pool, specs[i], options ? options : &defaults, error)) return NULL;
    return kf_steal(&pool);
}

void kf_workers_close(kf_workers *workers)
{
    if (!workers) return;
    for (size_t i = 0; i < workers->end_count; i++)
        if (workers->ends[i]->kind->close_gently)
            workers->ends[i]->kind->close_gently(workers->ends[i]);
    double until = kf_now() + CLOSE_SECONDS;
    for (size_t i = 0; i < workers->end_count; i++) {
        kf_end *end = workers->ends[i];
        struct pollfd fds[KF_END_FDS];
        double wake = until;
        while (end->kind->close_gently && end->kind->watch(end, fds, &wake) > 0 &&
               kf_now() < until) {
            end->kind->advance(end, kf_now());
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        }
        end->kind->close(end);
    }
    for (kf_pending *job; (job = dequeue(workers));) kf_pending_free(job);
    for (finished *f = workers->results, *next; f; f = next) {
        next = f->next;
        kf_workers_result_free(&f->result);
        free(f);
    }
    free(workers->ends);
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
    for (size_t i = 0; i < workers->end_count; i++)
        if (!workers->ends[i]->given_up) room += workers->ends[i]->kind->room(workers->ends[i]);
    return room > waiting ? room - waiting : 0;
}

size_t kf_workers_capacity(const kf_workers *workers)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->end_count; i++) {
        const kf_end *end = workers->ends[i];
        if (!end->given_up) count += end->kind->room(end) + end->kind->busy(end);
    }
    return count;
}

size_t kf_workers_strangers(const kf_workers *workers)
{
    return workers->strangers;
}

size_t kf_workers_worn(const kf_workers *workers)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->end_count; i++) count += workers->ends[i]->worn;
    return count;
}

size_t kf_workers_absent(const kf_workers *workers)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->end_count; i++) {
        const kf_end *end = workers->ends[i];
        count += !end->given_up && !end->kind->room(end) && !end->kind->busy(end);
    }
    return count;
}

size_t kf_workers_devices(const kf_workers *workers)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->end_count; i++) {
        const kf_end *end = workers->ends[i];
        if (!end->given_up)
            count += end->kind->takes ? 1 : end->kind->room(end) + end->kind->busy(end);
    }
    return count;
}

size_t kf_workers_least_jobs(const kf_workers *workers)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->end_count; i++) {
        const kf_end *end = workers->ends[i];
        if (!end->given_up)
            count += end->kind->takes ? 1 : (end->kind->room(end) + end->kind->busy(end) + 1) / 2;
    }
    return count;
}

size_t kf_workers_in_flight(const kf_workers *workers)
{
    size_t count = queue_length(workers);
    for (size_t i = 0; i < workers->end_count; i++)
        count += workers->ends[i]->kind->busy(workers->ends[i]);
    for (const finished *f = workers->results; f; f = f->next) count++;
    return count;
}

/* NULL: out of memory. */
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

/* The first job in the queue that is for this end; NULL: none is. */
static kf_pending **next_for(kf_workers *workers, const kf_end *end)
{
    for (kf_pending **at = &workers->queue; *at; at = &(*at)->next)
        if ((*at)->spoilt_by != end || !has_other(workers, end)) return at;
    return NULL;
}

/* Jobs that wait go to workers that have room. */
static void hand_out(kf_workers *workers)
{
    for (size_t i = 0; i < workers->end_count && workers->queue; i++) {
        kf_end *end = workers->ends[i];
        kf_pending **job;
        while (!end->given_up && end->kind->room(end) && (job = next_for(workers, end)) &&
               (!end->kind->takes || end->kind->takes(end, *job)))
            end->kind->begin(end, unlink_job(workers, job));
    }
}

bool kf_workers_submit(kf_workers *workers, const kf_job *job, int64_t ticket, kf_error *error)
{
    const char *bundle = bundle_of(workers, job->task);
    kf_auto(cJSON) json = bundle ? kf_job_to_json_around(job, bundle) : NULL;
    kf_autofree char *text = json ? cJSON_PrintUnformatted(json) : NULL;
    kf_pending *pending = text ? calloc(1, sizeof *pending) : NULL;
    if (!pending) return kf_fail(error, KF_ERROR_MEMORY, "out of memory for a job");
    size_t size = strlen(text);
    char *line = realloc(text, size + 2);
    if (line) text = NULL, line[size] = '\n', line[size + 1] = '\0';
    *pending =
        (kf_pending){.id = strdup(job->id), .line = line, .size = size + 1, .ticket = ticket};
    if (!pending->id || !line) {
        kf_pending_free(pending);
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory for a job");
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
        (o->timeout_seconds + o->seconds) * (o->verify ? 2 : 1);
    if (kf_task_baseline_compiled(job->task,
                                  o->baseline)) /* a second measurement has processes of its own,
                                                   and so has one with frozen weights */
        pending->limit +=
            KF_COMPILE_SECONDS * kf_task_workload_count(job->task) * (1 + o->verify + o->torch);
    if (o->torch && kf_compiles_when_called(job->source))
        pending->limit += KF_DRY_RUN_BUILDS * o->build_seconds;
    if (o->counters) pending->limit += 60;
    if (o->sanitize || o->verify) pending->limit += 100; /* three tools of 30 s */
    enqueue(workers, pending, false);
    /* where there is room it has begun: whether it can be taken back is not up to who looks when */
    hand_out(workers);
    return true;
}

static bool any_left(const kf_workers *workers)
{
    for (size_t i = 0; i < workers->end_count; i++)
        if (!workers->ends[i]->given_up) return true;
    return false;
}

/* Everything that can be done without waiting. */
static void advance(kf_workers *workers)
{
    double now = kf_now();
    for (size_t i = 0; i < workers->end_count; i++)
        if (!workers->ends[i]->given_up) workers->ends[i]->kind->advance(workers->ends[i], now);
    hand_out(workers);
}

static bool take_result(kf_workers *workers, kf_workers_result *result)
{
    finished *f = workers->results;
    if (!f) return false;
    *result = f->result;
    workers->results = f->next;
    if (!workers->results) workers->results_end = &workers->results;
    free(f);
    return true;
}

void kf_workers_listen(kf_workers *workers, const struct pollfd *fds, size_t count, double wake)
{
    workers->listened = count < KF_WORKERS_LISTENED ? count : KF_WORKERS_LISTENED;
    if (count) memcpy(workers->listening, fds, workers->listened * sizeof *fds);
    workers->listen_until = wake;
}

/* Waits until something may have happened; false when a signal came, or something that is listened
 * for. */
static bool wait_for(const kf_workers *workers, double until)
{
    kf_autofree struct pollfd *fds =
        calloc(workers->end_count * KF_END_FDS + workers->listened, sizeof *fds);
    nfds_t count = 0;
    double wake = fmin(until, workers->listen_until);
    for (size_t i = 0; fds && i < workers->end_count; i++)
        if (!workers->ends[i]->given_up)
            count += (nfds_t)workers->ends[i]->kind->watch(workers->ends[i], fds + count, &wake);
    nfds_t own = count;
    if (fds && workers->listened)
        memcpy(fds + own, workers->listening, workers->listened * sizeof *fds);
    if (fds) count += workers->listened;
    double left = wake - kf_now();
    if (poll(fds, count, left > 0 ? (int)fmin(ceil(left * 1000), 1e6) : 0) < 0) return false;
    for (nfds_t i = own; i < count; i++)
        if (fds[i].revents) return false;
    return kf_now() < workers->listen_until;
}

int kf_workers_wait(kf_workers *workers, double seconds, kf_workers_result *result, kf_error *error)
{
    double until = kf_now() + (seconds > 0 ? seconds : 0);
    workers->greeted = false;
    for (;;) {
        advance(workers);
        if (take_result(workers, result)) return 1;
        if (workers->out_of_memory)
            return kf_fail(error, KF_ERROR_MEMORY, "out of memory for a verdict") - 1;
        if (!any_left(workers)) {
            kf_fail_copy(error, &workers->last);
            return -1;
        }
        if (workers->greeted || kf_now() >= until || !wait_for(workers, until)) break;
    }
    kf_workers_listen(workers, NULL, 0, INFINITY);
    return 0;
}

size_t kf_workers_withdraw(kf_workers *workers, int64_t *tickets, size_t most)
{
    size_t count = 0;
    while (count < most && workers->queue) {
        kf_pending *job = dequeue(workers);
        tickets[count++] = job->ticket;
        kf_pending_free(job);
    }
    for (size_t i = 0; i < workers->end_count; i++)
        if (workers->ends[i]->kind->withdraw)
            count +=
                workers->ends[i]->kind->withdraw(workers->ends[i], tickets + count, most - count);
    return count;
}
