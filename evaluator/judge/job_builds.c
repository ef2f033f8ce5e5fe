#include "job_builds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "build_common.h"
#include "kforge/file.h"

/* Between two looks at a stop flag. */
#define LOOK_NANOSECONDS 20000000

/* Notes that the candidate's build is over, and wakes the reader of the notification. */
static void note_finished(kf_prepared *p)
{
    __atomic_store_n(&p->finished, 1, __ATOMIC_RELEASE);
    /* a full pipe wakes its reader, too */
    if (p->notify >= 0 && write(p->notify, "", 1) < 0) return;
}

static void *build_candidate(void *context)
{
    kf_prepared *p = context;
    const kf_job *job = p->job;
    kf_build_request request = {.task = job->task,
                                .source = job->source,
                                .size = job->source_size,
                                .name = job->options.torch ? "candidate.py" : "candidate.cu",
                                .flags = (const char *const *)job->flags,
                                .asan = job->options.asan,
                                .untimed = job->options.check_only,
                                .seconds = job->options.build_seconds,
                                .strict_sandbox = job->options.strict_sandbox,
                                .directory = p->directory,
                                .stop = &p->halt};
    p->done = job->options.torch ? kf_build_torch(p->judge->device, p->judge->cache, &request,
                                                  &p->candidate, &p->error)
                                 : p->judge->device->operations->build(p->judge->device, &request,
                                                                       &p->candidate, &p->error);
    note_finished(p);
    return NULL;
}

/* Builds one at a time among all jobs. If several jobs find the cache empty, only the first one
 * builds. */
static void *build_trusted(void *context)
{
    kf_trusted_work *work = context;
    const kf_prepared *p = work->prepared;
    kf_judge *judge = p->judge;
    pthread_mutex_t *lock = &judge->trusted_locks[work->oracle];
    pthread_mutex_lock(lock);
    work->done =
        kf_task_binary_get(judge->device, judge->cache, p->job->task, work->file, work->oracle,
                           p->job->options.build_seconds, &p->halt, &work->binary, &work->error);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* A compiler runs on the processors of the thread that waits for it. */
static bool start(kf_judge *judge, pthread_t *thread, void *(*function)(void *), void *context)
{
    pthread_attr_t attributes;
    cpu_set_t others;
    if (pthread_attr_init(&attributes)) return false;
    if (judge->device->keep_off && kf_launch_cpu_others(judge->device->keep_off, &others))
        pthread_attr_setaffinity_np(&attributes, sizeof others, &others);
    bool started = pthread_create(thread, &attributes, function, context) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

kf_prepared *kf_judge_prepare(kf_judge *judge, const kf_job *job, int notify, kf_error *error)
{
    kf_auto(kf_prepared) p = calloc(1, sizeof *p);
    if (!p) {
        kf_fail_memory(error, "a job");
        return NULL;
    }
    *p = (kf_prepared){.judge = judge, .own = *job, .job = &p->own, .notify = notify};
    if (job->options.sanitize && strcmp(judge->device->operations->kind, "cpu") == 0)
        p->own.options.asan = true; /* AddressSanitizer does the work there */
    const kf_task_file *baseline = job->options.baseline
                                       ? kf_task_baseline_named(job->task, job->options.baseline)
                                       : kf_task_baseline(job->task);
    if (!baseline) {
        kf_fail(error, KF_ERROR_INPUT, "task %s has no baseline named \"%s\"",
                kf_task_name(job->task), job->options.baseline);
        return NULL;
    }
    p->baseline = baseline;
    if (job->options.torch &&
        (!kf_task_is_torch(job->task) || job->options.asan || job->flag_count)) {
        kf_fail(error, KF_ERROR_INPUT, "%s: a solution in Python (class ModelNew) %s",
                kf_task_name(job->task),
                !kf_task_is_torch(job->task)
                    ? "needs a task with a problem file for PyTorch as its oracle or baseline"
                    : "takes no compiler flags and no AddressSanitizer");
        return NULL;
    }
    if (!job->of_baseline)
        p->forbidden = kf_task_forbidden(job->task, job->source, &p->forbidden_line);
    if (p->forbidden) {
        p->done = true;
        note_finished(p);
        return kf_steal(&p);
    }
    if (!(p->directory = kf_directory_temporary("kforge-job", error))) return NULL;
    for (int i = 0; i < KF_TRUSTED_COUNT; i++) {
        kf_trusted_work *work = &p->trusted[i];
        *work = (kf_trusted_work){.prepared = p, .oracle = i == KF_TRUSTED_ORACLE};
        work->file = work->oracle ? kf_task_oracle(job->task) : baseline;
        work->running = start(judge, &work->thread, build_trusted, work);
        if (!work->running) build_trusted(work);
    }
    p->asked = true;
    p->running = start(judge, &p->thread, build_candidate, p);
    if (!p->running) build_candidate(p);
    return kf_steal(&p);
}

bool kf_prepared_is_built(const kf_prepared *p)
{
    return __atomic_load_n(&p->finished, __ATOMIC_ACQUIRE);
}

/* Joins the thread of a build, and asks it to end once p->stop says so. */
static void join(kf_prepared *p, pthread_t thread)
{
    for (struct timespec until;;) {
        if (p->stop && __atomic_load_n(p->stop, __ATOMIC_RELAXED))
            __atomic_store_n(&p->halt, 1, __ATOMIC_RELAXED);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NANOSECONDS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT) return;
    }
}

bool kf_prepared_await_candidate(kf_prepared *p, kf_error *error)
{
    if (p->running) join(p, p->thread);
    p->running = false;
    return p->done || kf_fail_copy(error, &p->error);
}

bool kf_prepared_await_trusted(kf_prepared *p, kf_error *error)
{
    for (int i = 0; i < KF_TRUSTED_COUNT; i++) {
        kf_trusted_work *work = &p->trusted[i];
        if (work->running) join(p, work->thread);
        work->running = false;
    }
    for (int i = 0; i < KF_TRUSTED_COUNT; i++)
        if (!p->trusted[i].done) return kf_fail_copy(error, &p->trusted[i].error);
    return true;
}

void kf_prepared_free(kf_prepared *p)
{
    if (!p) return;
    if (p->asked) {
        __atomic_store_n(&p->halt, 1, __ATOMIC_RELAXED);
        kf_prepared_await_candidate(p, NULL);
        kf_prepared_await_trusted(p, NULL);
    }
    kf_build_free(&p->candidate);
    for (int i = 0; i < KF_TRUSTED_COUNT; i++) kf_task_binary_free(&p->trusted[i].binary);
    if (p->directory) kf_directory_remove(p->directory, NULL);
    free(p->directory);
    free(p);
}
