/* The best candidate of a run at each attempt, by the rank of kf_store_best. The baseline never
 * counts. */
#ifndef KFORGE_BEST_SO_FAR_H
#define KFORGE_BEST_SO_FAR_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/store.h"

/* The best from one moment on. */
typedef struct kf_best_step {
    /* `created` of the attempt */
    double time;
    int64_t candidate;
    kf_interval speedup;
    bool verified;
} kf_best_step;

/* A candidate that is correct and timed. */
typedef struct kf_ranked {
    int64_t candidate;
    kf_interval speedup;
    /* It was measured again, and both measurements agree. */
    bool again, verified;
} kf_ranked;

typedef struct kf_best_so_far {
    kf_best_step *steps;
    size_t step_count;
    kf_ranked *ranked;
    size_t ranked_count;
} kf_best_so_far;

/* Takes the next attempt of the run. False without memory. */
bool kf_best_so_far_add(kf_best_so_far *best, const kf_store_attempt *attempt);
void kf_best_so_far_clear(kf_best_so_far *best);

#endif
