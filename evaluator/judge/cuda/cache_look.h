/* What times of reads say about the words of inputs that a device's cache holds. Pure functions. */
#ifndef CACHE_LOOK_H
#define CACHE_LOOK_H
#include <stdbool.h>
#include <stdint.h>

#include "kernels.h"
#include "kforge/task.h"

/* The words of one input that were looked at, and how many of them the cache held. */
typedef struct kf_cache_share {
    uint32_t words, cached;
} kf_cache_share;

/* A look into the cache for the inputs of a set. */
typedef struct kf_cache_shares {
    kf_cache_share inputs[KF_MAX_ARGUMENTS];
    uint32_t count;
} kf_cache_shares;

/* True if a look has the second line of this pair of lines: the first look or the one after it
 * (`again`), never both. */
bool kf_cache_odd_line(uint64_t secret, uint64_t pair, bool again);

/* Counts the words of an input that the cache holds. */
kf_cache_share kf_cache_count(const kf_cache_sample *samples, uint32_t count);

/* Returns the largest part of an input that was read between two looks: 0 if chance explains the
 * difference, or if the cache held too much of the input before. */
double kf_cache_read_since(const kf_cache_shares *before, const kf_cache_shares *now);
#endif
