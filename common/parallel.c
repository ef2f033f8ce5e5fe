#include "parallel.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MAX_THREADS 64

struct kf_parallel {
    pthread_t threads[MAX_THREADS];
    /* without the caller */
    int count;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    /* changes with each loop */
    unsigned round;
    int busy;
    bool ending;
    void (*body)(void *context, size_t i);
    void *context;
    size_t limit;
    atomic_size_t next;
};

static void take_part(kf_parallel *p)
{
    for (;;) {
        size_t i = atomic_fetch_add(&p->next, 1);
        if (i >= p->limit) return;
        p->body(p->context, i);
    }
}

static void *helper(void *argument)
{
    kf_parallel *p = argument;
    unsigned seen = 0;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->round == seen && !p->ending) pthread_cond_wait(&p->work, &p->lock);
        if (p->ending) break;
        seen = p->round;
        pthread_mutex_unlock(&p->lock);
        take_part(p);
        pthread_mutex_lock(&p->lock);
        if (--p->busy == 0) pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

kf_parallel *kf_parallel_new(void)
{
    kf_parallel *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    cpu_set_t set;
    int wanted = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    if (wanted > MAX_THREADS + 1) wanted = MAX_THREADS + 1;
    while (p->count < wanted - 1 && pthread_create(&p->threads[p->count], NULL, helper, p) == 0)
        p->count++;
    return p;
}

void kf_parallel_free(kf_parallel *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->count; i++) pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void kf_parallel_for(kf_parallel *p, size_t count, void (*body)(void *context, size_t i),
                     void *context)
{
    if (count < 2 || p->count == 0) {
        for (size_t i = 0; i < count; i++) body(context, i);
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->body = body;
    p->context = context;
    p->limit = count;
    atomic_store(&p->next, 0);
    p->busy = p->count;
    p->round++;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    take_part(p);
    pthread_mutex_lock(&p->lock);
    while (p->busy) pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

int kf_parallel_threads(const kf_parallel *p)
{
    return p->count + 1;
}

int kf_thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                    void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, attributes, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
