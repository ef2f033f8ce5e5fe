/* A few threads that share loops over sets and buffers: filling, hashing, comparing. They sleep
 * while a batch is timed. */
#ifndef KFORGE_PARALLEL_H
#define KFORGE_PARALLEL_H

#include <stddef.h>

#include "kforge/cleanup.h"

typedef struct kf_parallel kf_parallel;

/* One thread a processor, the caller being one of them. NULL when out of memory; fewer threads when
 * the machine refuses some. */
kf_parallel *kf_parallel_new(void);
void kf_parallel_free(kf_parallel *parallel);
KF_DEFINE_AUTO(kf_parallel, kf_parallel_free)
/* Calls body(context, i) for every i below count, in any order and from any of the threads, and
 * returns when all are done. */
void kf_parallel_for(kf_parallel *parallel, size_t count, void (*body)(void *context, size_t i),
                     void *context);
int kf_parallel_threads(const kf_parallel *parallel);

#endif
