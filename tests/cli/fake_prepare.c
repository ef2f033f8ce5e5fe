/* Simulates building ahead for test doubles of the judge. Threads wait for the time in the
 * candidate ("fake: build 0.2") or for a file ("fake: build until FILE"), and then call
 * kf_judge_run(). $FAKE_JOBS is the number of jobs at a time (default: 1). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kforge/judge.h"

struct kf_prepared {
    const kf_job *job;
    pthread_t thread;
    int notify, finished, abandoned;
};

static void doze(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Copies the file that a build waits for to `path`. False if it waits for no file. */
static bool waits_for(const kf_job *job, char *path, size_t size)
{
    static const char word[] = "fake: build until ";
    const char *line = strstr(job->source, word);
    if (line)
        snprintf(path, size, "%.*s", (int)strcspn(line + strlen(word), "\n"), line + strlen(word));
    return line;
}

static void *build(void *context)
{
    kf_prepared *p = context;
    const char *line = strstr(p->job->source, "fake: build ");
    double seconds = line ? strtod(line + strlen("fake: build "), NULL) : 0;
    struct timespec pause = {.tv_sec = (time_t)seconds,
                             .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    char file[512];
    if (seconds > 0) nanosleep(&pause, NULL);
    if (waits_for(p->job, file, sizeof file))
        while (access(file, F_OK) != 0 && !__atomic_load_n(&p->abandoned, __ATOMIC_RELAXED)) doze();
    __atomic_store_n(&p->finished, 1, __ATOMIC_RELEASE);
    if (p->notify >= 0 && write(p->notify, "", 1) < 0) return NULL;
    return NULL;
}

kf_prepared *kf_judge_prepare(kf_judge *judge, const kf_job *job, int notify, kf_error *error)
{
    (void)judge;
    kf_prepared *p = calloc(1, sizeof *p);
    if (p) *p = (kf_prepared){.job = job, .notify = notify};
    if (p && pthread_create(&p->thread, NULL, build, p) == 0) return p;
    free(p);
    kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    return NULL;
}

bool kf_prepared_is_built(const kf_prepared *prepared)
{
    return __atomic_load_n(&prepared->finished, __ATOMIC_ACQUIRE);
}

kf_verdict *kf_judge_measure(kf_judge *judge, kf_prepared *prepared, bool more,
                             const volatile int *stop, kf_error *error)
{
    (void)more;
    while (!kf_prepared_is_built(prepared) && !(stop && __atomic_load_n(stop, __ATOMIC_RELAXED)))
        doze();
    return kf_judge_run(judge, prepared->job, stop, error);
}

void kf_prepared_free(kf_prepared *prepared)
{
    if (!prepared) return;
    __atomic_store_n(&prepared->abandoned, 1, __ATOMIC_RELAXED);
    pthread_join(prepared->thread, NULL);
    free(prepared);
}

size_t kf_judge_jobs(const kf_judge *judge)
{
    (void)judge;
    const char *text = getenv("FAKE_JOBS");
    return text ? strtoul(text, NULL, 10) : 1;
}
