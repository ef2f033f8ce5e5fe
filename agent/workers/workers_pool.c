/* The pool's queue of jobs, and the reports of channels: hellos, answers, failures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/judge.h"
#include "machine_failures.h"
#include "worker_protocol.h"
#include "workers_internal.h"

/* No kernel is faster than its baseline by this factor, and no measurement takes as long. */
#define MAX_SPEEDUP 1e7
#define MAX_SECONDS 1e6

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

/* Frees a job that has no result. */
static void drop_cancelled(kf_workers *pool, kf_pending *job)
{
    kf_pending_free(job);
    pool->gained_room = true;
}

void kf_pool_enqueue(kf_workers *pool, kf_pending *job, bool first)
{
    if (job->cancelled) {
        drop_cancelled(pool, job);
        return;
    }
    job->began = 0;
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

kf_pending *kf_pool_unlink(kf_workers *pool, kf_pending **at)
{
    kf_pending *job = *at;
    *at = job->next;
    if (!*at) pool->queue_end = at;
    job->next = NULL;
    return job;
}

kf_pending *kf_pool_dequeue(kf_workers *pool)
{
    return pool->queue ? kf_pool_unlink(pool, &pool->queue) : NULL;
}

/* Takes the result of a job over. If memory is short, the next kf_workers_wait fails. */
static void finish(kf_workers *pool, const kf_pending *job, kf_workers_result *result)
{
    kf_finished *f = calloc(1, sizeof *f);
    if (!f) {
        pool->out_of_memory = true;
        kf_workers_result_free(result);
        return;
    }
    f->result = *result;
    f->seconds = job->began > 0 ? kf_now() - job->began : 0;
    *pool->results_end = f;
    pool->results_end = &f->next;
}

/* ---- reports of channels --------------------------------------------------------------------- */

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
        same_hardware
            ? "; start a new run, which measures with the present protocol, runtime and compiler"
            : "");
}

bool kf_pool_hello(kf_workers *pool, kf_channel *channel, const char *text, size_t size,
                   kf_error *error)
{
    kf_auto(cJSON) json = kf_json_parse(text, size, KF_JOB_BYTES, "hello", error);
    if (!json)
        return kf_fail_prefix(error, "its first line is not a hello; check that it is the same "
                                     "version of kforge");
    const char *schema = kf_json_get_text(json, "schema", NULL),
               *hardware = kf_json_get_text(json, "hardware", NULL),
               *device = kf_json_get_text(json, "device", NULL),
               /* Missing: an older version, in which hardware and environment are the same. */
                   *environment_id = kf_json_get_text(json, "conditions", NULL);
    if (!environment_id) environment_id = hardware;
    if (!schema || strcmp(schema, KF_HELLO_SCHEMA) != 0 || !hardware || !*hardware || !device ||
        !*environment_id)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "its first line is not a hello; check that it is the same version of kforge");
    if (pool->environment_id && strcmp(pool->environment_id, environment_id) != 0) {
        pool->rejected++;
        return other_environment_id(pool, environment_id, error);
    }
    const cJSON *jobs = cJSON_GetObjectItemCaseSensitive(json, "jobs");
    channel->max_jobs = cJSON_IsNumber(jobs) && jobs->valuedouble >= 1
                            ? (size_t)fmin(jobs->valuedouble, KF_WORKER_JOBS)
                            : 1;
    channel->writes_alive = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "alive"));
    channel->takes_cancels = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "cancel"));
    pool->gained_room = true;
    if (!pool->environment_id) pool->environment_id = strdup(environment_id);
    if (!pool->hardware) pool->hardware = strdup(hardware);
    if (!pool->device) pool->device = strdup(device);
    return (pool->environment_id && pool->hardware && pool->device) ||
           kf_fail_memory(error, "a worker's hello");
}

/* True if a speedup is missing (NaN), or positive, in order and below MAX_SPEEDUP. An interval that
 * says nothing ends at infinity. */
static bool plausible_speedup(const kf_interval *i)
{
    if (isnan(i->value)) return isnan(i->low) && isnan(i->high);
    bool unknown = isnan(i->low) && isnan(i->high);
    return i->value > 0 && i->value < MAX_SPEEDUP &&
           (unknown || (i->low >= 0 && i->low <= i->value && i->high >= i->value));
}

/* True for a time below MAX_SECONDS, or NaN: unknown. Calls that are shorter than what a batch
 * costs may seem to take less than nothing. */
static bool plausible_seconds(double seconds)
{
    return isnan(seconds) || fabs(seconds) < MAX_SECONDS;
}

/* Rejects figures that no judge writes: they would become the best of a run. */
static bool check_figures(const kf_verdict *verdict, kf_error *error)
{
    bool good = plausible_speedup(&verdict->speedup) && plausible_seconds(verdict->build_seconds) &&
                plausible_seconds(verdict->judge_seconds);
    const char *where = "";
    for (size_t i = 0; good && i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        where = w->workload;
        good = plausible_speedup(&w->speedup) && !(w->latency_speedup.value < 0) &&
               plausible_seconds(w->baseline_seconds) && plausible_seconds(w->candidate_seconds) &&
               plausible_seconds(w->latency_baseline_seconds) &&
               plausible_seconds(w->latency_candidate_seconds) && w->sets >= 0 && w->pairs >= 0;
        for (size_t k = 0; good && k < w->output_count; k++)
            good = w->outputs[k].figures.compared >= 0 && w->outputs[k].figures.mismatched >= 0 &&
                   w->outputs[k].figures.mismatched <= w->outputs[k].figures.compared;
    }
    return good || kf_fail(error, KF_ERROR_INPUT,
                           "its verdict has impossible figures%s%s (a time or speedup that is "
                           "negative, too large or outside of its interval)",
                           *where ? " for workload " : "", where);
}

static bool check_verdict(const kf_pending *job, const kf_verdict *verdict, kf_error *error)
{
    const char *source = verdict->source_hash, *task = verdict->task_hash;
    if (strcmp(verdict->id, job->id) != 0)
        return kf_fail(error, KF_ERROR_INPUT, "it answered job %.64s instead of %s", verdict->id,
                       job->id);
    if ((*source || verdict->status == KF_CORRECT) && strcmp(source, job->source_hash) != 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "its verdict is about another source than the one it was sent");
    if ((*task || verdict->status == KF_CORRECT) && strcmp(task, job->task_hash) != 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "its verdict is about another task than the one it was sent");
    return check_figures(verdict, error);
}

bool kf_pool_has_other(const kf_workers *pool, const kf_channel *channel)
{
    for (size_t i = 0; i < pool->channel_count; i++) {
        const kf_channel *other = pool->channels[i];
        if (other != channel && !other->given_up && !other->retiring &&
            (other->kind->room(other) || other->kind->busy(other)))
            return true;
    }
    return false;
}

static void set_news(kf_workers *pool, const kf_channel *channel, const char *text,
                     const char *follows)
{
    pool->has_news = true;
    snprintf(pool->news, sizeof pool->news, "worker %.200s: %.300s; %s", channel->name, text,
             follows);
}

/* Counts failures of the machine. True: this verdict is one, and another machine gets the job. */
static bool hand_to_other(kf_workers *pool, kf_channel *channel, kf_pending *job,
                          const kf_verdict *verdict)
{
    channel->retiring = !kf_machine_failures_count(
        &channel->machine_failures,
        channel->max_machine_failures ? channel->max_machine_failures : KF_MACHINE_FAILURES,
        verdict, &channel->why);
    if (!kf_verdict_is_fault(verdict) || job->failed_on || !kf_pool_has_other(pool, channel))
        return false;
    job->failed_on = channel;
    set_news(pool, channel, verdict->message, "another gets the job");
    kf_pool_enqueue(pool, job, true);
    return true;
}

bool kf_pool_answer(kf_workers *pool, kf_channel *channel, kf_pending *job, const char *text,
                    size_t size, kf_error *error)
{
    kf_auto(cJSON) json = kf_json_parse(text, size, KF_JOB_BYTES, "verdict", error);
    if (!json) return false;
    kf_workers_result result = {.ticket = job->ticket};
    const char *schema = kf_json_get_text(json, "schema", NULL),
               *id = kf_json_get_text(json, "id", NULL),
               *why = kf_json_get_text(json, "error", NULL);
    if (job->cancelled && id && strcmp(id, job->id) == 0) {
        channel->failures = 0;
        drop_cancelled(pool, job);
        return true;
    }
    if (schema && strcmp(schema, KF_REFUSAL_SCHEMA) == 0 && id && strcmp(id, job->id) == 0 && why) {
        result.outcome = KF_WORKERS_REFUSED;
        kf_fail(&result.error, KF_ERROR_INPUT, "worker %s: %s", channel->name, why);
    } else {
        kf_auto(kf_verdict) verdict = kf_verdict_from_json(json, error);
        if (!verdict || !check_verdict(job, verdict, error)) return false;
        if (hand_to_other(pool, channel, job, verdict)) {
            channel->failures = 0;
            return true;
        }
        result.json = malloc(size + 1);
        if (!result.json) return kf_fail_memory(error, "a verdict");
        memcpy(result.json, text, size);
        result.json[size] = '\0';
        result.json_size = size;
        result.outcome = KF_WORKERS_JUDGED;
        result.verdict = kf_steal(&verdict);
    }
    channel->failures = 0;
    finish(pool, job, &result);
    kf_pending_free(job);
    return true;
}

void kf_pool_return(kf_workers *pool, kf_pending *job)
{
    job->alone = true;
    kf_pool_enqueue(pool, job, true);
}

void kf_pool_hand_back(kf_workers *pool, kf_pending *job)
{
    kf_pool_enqueue(pool, job, true);
}

void kf_pool_failed(kf_workers *pool, kf_channel *channel, kf_pending *job, bool wrong_machine,
                    const kf_error *why)
{
    channel->failures++;
    channel->given_up = wrong_machine || channel->failures >= KF_WORKER_LIVES;
    set_news(pool, channel, why->text, channel->given_up ? "given up" : "started again");
    pool->last = *why;
    kf_fail_prefix(&pool->last, "worker %.200s", channel->name);
    if (!job) return;
    if (job->cancelled || ++job->failures < KF_JOB_DEATHS) {
        kf_pool_enqueue(pool, job, true);
        return;
    }
    kf_workers_result result = {.ticket = job->ticket, .outcome = KF_WORKERS_LOST, .error = *why};
    kf_fail_prefix(&result.error, "%d workers failed with it, the last one", job->failures);
    finish(pool, job, &result);
    kf_pending_free(job);
}
