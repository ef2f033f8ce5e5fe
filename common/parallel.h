/* A few threads that share a loop: filling, hashing and comparing buffers. They sleep between
 * loops, so they do not disturb timing. One thread at a time may use a kf_parallel. */
#ifndef KFORGE_PARALLEL_H
#define KFORGE_PARALLEL_H

#include <pthread.h>
#include <stddef.h>

#include "kforge/cleanup.h"

typedef struct kf_parallel kf_parallel;

/* Starts one thread for each processor but the caller's, or fewer if the machine refuses some. The
 * caller frees. NULL without memory. */
kf_parallel *kf_parallel_new(void);
void kf_parallel_free(kf_parallel *parallel);
KF_DEFINE_AUTO(kf_parallel, kf_parallel_free)
/* Calls body(context, i) for every i below count, in any order and on any of the threads. Returns
 * when all calls have returned. */
void kf_parallel_for(kf_parallel *parallel, size_t count, void (*body)(void *context, size_t i),
                     void *context);
/* Returns the number of threads, with the caller's. */
int kf_parallel_threads(const kf_parallel *parallel);

/* Does pthread_create. The thread blocks all signals, because they are meant for the main thread.
 */
int kf_thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                    void *context);

#endif
