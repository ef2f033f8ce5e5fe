/* Inputs: the same numbers on CPU and GPU, from a key that only the judge knows.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11):
 * a counter-based generator, so that any element of any buffer can be computed alone, in any order,
 * on any device. Key: the 64 bits of the batch's secret; counter: block number (four words each)
 * with 16 bits of purpose, the argument's number, the set. Every formula is at the top of
 * evaluator/numeric/inputs.c, the elementary ones are code shared with CUDA (inputs_formula.h);
 * tested against the published known-answer vectors.
 */
#ifndef KFORGE_INPUTS_H
#define KFORGE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/argument.h"

typedef struct kf_key {
    uint64_t secret; /* fresh per batch from the kernel's random source */
    uint32_t set;    /* buffer set */
    uint32_t argument;
} kf_key;

void kf_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* What the judge does to an input beyond the task's distribution, so that a shortcut for one shape
 * of data is caught. Only where distribution.vary is set (nonfinite: distribution.nonfinite), and
 * only what leaves the distribution's structure alone: an interval that excludes 0 keeps its sign,
 * zeros of sparse data stay, integers are never varied. Values stay finite in the dtype, but for
 * nonfinite. */
typedef enum kf_variation {
    KF_VARY_NONE,
    KF_VARY_SCALE_UP,     /* ×64; f16 ×8, 8-bit floats ×4 */
    KF_VARY_SCALE_DOWN,   /* ×1/64, 1/8, 1/4 */
    KF_VARY_OFFSET,       /* + 8 standard deviations */
    KF_VARY_CANCELLATION, /* element 2i+1 ≈ −element 2i */
    KF_VARY_OUTLIER,      /* one element in 1024 is 32 times larger */
    KF_VARY_NONFINITE,    /* a few elements are +inf, -inf or NaN */
    KF_VARIATION_COUNT
} kf_variation;
const char *kf_variation_name(kf_variation variation);
/* False for those that kf_input_fill treats like KF_VARY_NONE for this argument. */
bool kf_variation_applies(const kf_problem_argument *argument, kf_variation variation);
/* The variation of the key's set: none for half of the sets, else one of the applicable ones. */
kf_variation kf_variation_choose(const kf_problem_argument *argument, kf_key key);

/* Fills elements [first, first+count) of an argument whose storage begins at `data` (data points at
 * element 0, aligned for its type). Thread-safe: callers split ranges; multiples of 1024 elements
 * are fastest. */
void kf_input_fill(const kf_problem_argument *argument, kf_key key, kf_variation variation,
                   void *data, int64_t first, int64_t count);
/* Fills bytes [first, first+count) of the buffer at `data` with random bits (poison, guards) of
 * stream `key`, which never overlap those of kf_input_fill under the same key. */
void kf_poison_fill(kf_key key, void *data, uint64_t first, uint64_t count);
/* True when bytes [first, first+count) still hold what kf_poison_fill put there; *where gets the
 * first differing byte. */
bool kf_poison_intact(kf_key key, const void *data, uint64_t first, uint64_t count,
                      uint64_t *where);

#endif
