/* Inputs: the same numbers on CPU and GPU, from a key that only the judge knows. Pure and
 * thread-safe.
 *
 * The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
 * 1, 2, 3", SC'11). It is counter-based: any element of any buffer can be computed alone, in any
 * order, on any device. The key is the batch's 64-bit secret. The counter holds the block number
 * (four words a block), 16 bits of purpose, the argument's number and the set.
 *
 * evaluator/numeric/inputs.c has the formula of each distribution. The elementary formulas
 * (inputs_formula.h) are shared with CUDA. tests/unit/test_inputs.c checks the published
 * known-answer vectors.
 */
#ifndef KFORGE_INPUTS_H
#define KFORGE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/argument.h"

typedef struct kf_key {
    /* drawn for each batch from the operating system's random source */
    uint64_t secret;
    /* number of the buffer set */
    uint32_t set;
    uint32_t argument;
} kf_key;

/* Computes one block. */
void kf_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Changes that the judge makes to an input in addition to the task's distribution, so that a
 * shortcut for one kind of data fails.
 *
 * Variations need distribution.vary (nonfinite: distribution.nonfinite). They keep what the
 * distribution promises: an interval without 0 keeps its sign, zeros of sparse data stay, integers
 * stay in their range, sorted data sorted, permutations distinct. Except for nonfinite, values stay
 * finite. */
typedef enum kf_variation {
    KF_VARY_NONE,
    /* times 64; f16 8, 8-bit floats 4 */
    KF_VARY_SCALE_UP,
    /* divided by the same factors */
    KF_VARY_SCALE_DOWN,
    /* plus 8 standard deviations */
    KF_VARY_OFFSET,
    /* element 2i+1 ≈ −element 2i */
    KF_VARY_CANCELLATION,
    /* one element in 1024 is 32 times larger */
    KF_VARY_OUTLIER,
    /* one element, or one in 1024, is another legal value, often the least or the largest */
    KF_VARY_STRAY,
    /* all elements are equal; offsets: one row has all; one_hot: all rows are equal */
    KF_VARY_EQUAL,
    /* runs of 1024 have ranges of their own; sorted and offsets: parts of very unequal sizes;
     * permutation: a rotation; signs: another share of ones */
    KF_VARY_CLUSTERS,
    /* a few elements are +inf, -inf or NaN */
    KF_VARY_NONFINITE,
    KF_VARIATION_COUNT
} kf_variation;
const char *kf_variation_name(kf_variation variation);
/* False if kf_input_fill treats the variation like KF_VARY_NONE for this argument. */
bool kf_variation_applies(const kf_problem_argument *argument, kf_variation variation);
/* True if honest programs may be much faster or slower on such data than on the task's: equal and
 * clusters. Timed batches have none of these. */
bool kf_variation_changes_speed(kf_variation variation);
/* Returns the variation of the key's set: KF_VARY_NONE for half of the sets, else one that applies.
 */
kf_variation kf_variation_choose(const kf_problem_argument *argument, kf_key key);

/* Fills elements [first, first+count) of an argument. `data` points at element 0 and is aligned for
 * its type. Callers may split a buffer among threads; multiples of 1024 elements are fastest. */
void kf_input_fill(const kf_problem_argument *argument, kf_key key, kf_variation variation,
                   void *data, int64_t first, int64_t count);
/* Returns how many elements from *start on may change together: about `count`, fewer or a few more
 * if elements depend on each other. Moves *start to where they begin. 0 if none can change. */
int64_t kf_input_part(const kf_problem_argument *argument, int64_t *start, int64_t count);
/* Draws other values for these elements, legal together with those around them. `before`: as they
 * are. Some may stay. */
void kf_input_part_draw(const kf_problem_argument *argument, kf_key key, kf_variation variation,
                        int64_t start, int64_t count, const void *before, void *after);

/* Fills bytes [first, first+count) of the buffer at `data` with random bits, for unwritten outputs
 * and guard zones. They never overlap those of kf_input_fill under the same key. */
void kf_poison_fill(kf_key key, void *data, uint64_t first, uint64_t count);
/* Writes what bytes [first, first+count) of a buffer hold then. */
void kf_poison_read(kf_key key, void *bytes, uint64_t first, uint64_t count);
/* True if bytes [first, first+count) still hold the bits of kf_poison_fill. Otherwise *where gets
 * the first byte that differs. */
bool kf_poison_intact(kf_key key, const void *data, uint64_t first, uint64_t count,
                      uint64_t *where);

#endif
