/* Compares an output with the oracle's: every element, with NaN and infinities. Pure and
 * thread-safe.
 *
 * Expected values are float64 for floating outputs, and of the output's own type for integers. If
 * the expected value is NaN or infinite, the output must be the same (f8e4m3, which has no
 * infinities: NaN or ±448). Any other NaN or infinity is a mismatch. For an expected value beyond
 * the type's largest number, that number and the infinity that it rounds to pass. Others are a
 * mismatch, unless the value is beyond by at most 4 u. It then counts as the largest number, and
 * for no scale.
 *
 * KF_ERROR_RATIO applies to the root mean square (RMS) and to the maximum separately, over all
 * elements of a buffer:
 *
 *     error <= ratio * (baseline's error on the same inputs) + c * u * scale + order + tiny
 *
 *     scale  RMS or maximum of the expected values
 *     u      unit roundoff of the output's type
 *     tiny   the smallest number that may be flushed to zero
 *     c      allowance for another order of summation, below
 *     order  more of it, for an output that fails without it: below, "Long sums"
 *
 * A sum of K terms in sequence errs by about 0.2 sqrt(K) u of its scale, a pairwise sum by 1 u.
 *
 *     type                c     why
 *     f64                 1024  the oracle has no more digits itself
 *     f32                 32    most orders up to K = 1,000. f32 arithmetic lowered to tf32 errs by
 *                               4000 u.
 *     tf32                3     for the maximum 5: operands rounded or truncated, which is 4 u of a
 *                               product that may be nearly all of an element. bf16 operands err by
 *                               4 u RMS.
 *     f16, bf16           1     their sums belong in f32
 *     8 bits              1     the same; for the RMS 1/2, and rounding towards zero passes: 1 u
 *                               would allow e5m2 values that are all a sixth too large
 *
 * 16 and 8 bits: every output of these types is rounded once. For the RMS, ratio multiplies only
 * the part of the baseline's error beyond that rounding. With a baseline that rounds once, 1.4 u
 * are allowed. Over K >= 1024 terms, f16 accumulators err by 6 u. Those of a tensor core, which
 * adds 8 or 16 products exactly first, err by 2.4 and 1.7 u.
 *
 * 8-bit outputs are coarse, so the maximum says little. Each element's error must also be within
 * max(4 u (|expected| + scale RMS), 2 * baseline's maximum). And the values before rounding must be
 * right: the distance of the expected value from the numbers that round to the output is 0 for most
 * elements. Its RMS must be within
 *
 *     ratio * baseline's + (1/16 + 1/8 / sqrt(elements)) (u * scale + tiny)
 *
 * for rounding to nearest or towards zero. One rounding to bf16 before errs by 1/16 u of e4m3 at
 * most. Values that are all 1.5 % too large (e5m2: 3 %) pass.
 *
 * The baseline's own output always passes for ratio >= 2.
 *
 * Fills. An output may hold a large number in many places, for example -1e9 where a mask is 0. In
 * the scale it would allow any error elsewhere. So elements are fills if two or more have the
 * largest magnitude M >= 1000, and all others are at most 2^-8 M. They may also lie within 2^-10 of
 * M, as in x - 1e9, if all others are at most 2^-20 M. A fill passes with an error of max(2, c) u
 * M, and counts for no scale and no error. Another fill counts for the error.
 *
 * Long sums. With v the unit roundoff of f32, scale and change as RMS or as maximum:
 *
 *     order   = sqrt(K) * change + (0.8 sqrt(K) + 1.2e-5 K^1.5) * v * scale, K at most 2^18
 *     change  of the expected values, if each floating input moves to a neighbouring number of its
 *             type, up or down at random, in proportion to v. It is v times the root of the sum of
 *             the squares of all terms, whatever the terms add up to.
 *     K       number of terms, from the share of expected values that change if only a share of
 *             the inputs moves, which are not varied for this. If an input of indices is varied,
 * all may go into one element: K is then the number of elements of the largest floating input.
 *
 * A sum that cancels keeps the rounding errors of its terms, so its scale says little. The first
 * term allows them in any order of summation. A sum in sequence of terms with mean 0 errs by
 * 0.2 sqrt(K) changes RMS, and 4 to 5 times as much in the worst of many elements. tf32 operands
 * err by 4000. The second term is for sums of one sign. Their change is smaller by sqrt(K). Terms
 * below half a unit of the sum's last place add an error that grows faster than sqrt(K).
 *
 * With a few inputs that are much larger (KF_VARY_OUTLIER), a sum in sequence may lose all terms
 * after a large one. There the second term is K * v * scale, the worst case of any order (Higham,
 * "The accuracy of floating point summation", SIAM J. Sci. Comput. 14, 1993).
 *
 * Integers of a range of R numbers, in inputs of any type, make terms of few values, for example in
 * a variance. Rounding errors of equal terms have one direction while the sum stays in a binade: up
 * to K v / 3 of a sum in sequence. So there the second term is at least min(K / 3, 4000 sqrt(K) /
 * R) v scale. All of 160,000 simulated variances in sequence err by less. Integers that are
 * varied to equal ones or to clusters count as R = 1. A variance of equal numbers is 0, so the
 * scale is then at least that of inputs that are not varied. K counts double, since few rows show
 * it roughly.
 *
 * This is for terms that hardly contain other floating inputs: a product with normal numbers has
 * many values. To find that out, the judge also moves integers and other inputs apart. Integers of
 * other types move to another legal number. Zeros stay, so that a mask shows the number of its
 * terms.
 *
 * `order` is 0 for f64, and until the judge has run the oracle on moved inputs (measure_results.c).
 * tests/unit/test_accuracy.c has tables of the arithmetic that passes and fails.
 *
 * `tf32` of the argument: c and u of an f32 output are those of tf32. cuDNN chooses a convolution's
 * algorithm by shape, and by trial with torch.backends.cudnn.benchmark. With PyTorch's default
 * torch.backends.cudnn.allow_tf32 some algorithms round operands to tf32. Such a result is not
 * wrong, even if the baseline used another algorithm for this shape.
 */
#ifndef KFORGE_COMPARE_H
#define KFORGE_COMPARE_H

#include "kforge/argument.h"
#include "kforge/error.h"
#include "kforge/inputs.h"
#include "kforge/verdict.h"

/* Errors of one buffer; can be merged over sets and batches. Start with KF_NO_ERRORS. */
typedef struct kf_error_sums {
    /* of the absolute error, over elements that are finite in both buffers */
    double sum_square, max;
    /* of the finite expected values */
    double scale_square, scale_max;
    int64_t count;
    /* elements of which exactly one is finite, or that differ in kind */
    int64_t nonfinite;
    /* in the last buffer that had any; -1: no such element */
    int64_t first_nonfinite;
    /* of one buffer: least magnitude of its fills, 0 without any, and the error that they may have
     */
    double fill, fill_error;
    /* 8 bits: squares of the distances from the numbers that round to the output */
    double beyond_nearest, beyond_zero;
    /* of the changes of expected values by one rounding of the inputs; 0 of them until measured */
    double change_square, change_max;
    int64_t change_count;
    /* number of terms; 0 until measured */
    double terms;
    /* of these, those that contain integers, if few contain other floating inputs; else 0 */
    double integer_terms;
    /* these many rounding errors may have one direction */
    double one_way;
    /* least scale of `order`, RMS and maximum */
    double least_scale, least_scale_max;
} kf_error_sums;
#define KF_NO_ERRORS ((kf_error_sums){.first_nonfinite = -1})

/* Adds the errors of `data` (argument's dtype) against `expected` (double, or the dtype for
 * integers). */
void kf_error_accumulate(const kf_problem_argument *argument, const void *data,
                         const void *expected, kf_error_sums *sums);
/* Adds the errors of elements [first, first+count) of the buffers that begin at `data` and
 * `expected`. Fills are those of sums->fill. Another order of merging changes the last bits. */
void kf_error_accumulate_part(const kf_problem_argument *argument, const void *data,
                              const void *expected, int64_t first, int64_t count,
                              kf_error_sums *sums);
/* False if an output has no fills: its largest magnitude `largest` is too small, or a sample of its
 * expected values has one that is neither a fill nor far smaller. */
#define KF_FILL_SAMPLE 256
bool kf_may_have_fills(const kf_problem_argument *argument, double largest, const double *sample,
                       int count);
void kf_error_merge(kf_error_sums *into, const kf_error_sums *from);
/* Returns the RMS of the error, 0 without elements. */
double kf_error_rms(const kf_error_sums *sums);

/* Moves a share of the elements of a floating input to the next larger or smaller magnitude of its
 * type, by chance. A share below 1 moves only to larger ones, so that no two moves cancel exactly.
 * f64 moves by a rounding of f32. Zeros and subnormal numbers stay, integers too. */
void kf_nudge(kf_dtype dtype, void *data, int64_t count, uint64_t seed, double share);
/* Inputs that move together. */
typedef enum kf_moved {
    /* floating inputs */
    KF_MOVED_FLOATS,
    /* inputs of independent integers, of any type */
    KF_MOVED_INTEGERS,
    /* floating inputs of other numbers than integers and constants */
    KF_MOVED_OTHERS,
} kf_moved;
/* True if an argument belongs to `moved`. `inouts`: the device moves inouts, too. */
bool kf_condition_belongs(const kf_problem_argument *argument, kf_moved moved, bool inouts);
/* Moves a share of an input: floating inputs as kf_nudge, integers to the next legal number. That
 * is 0 only if no other is legal. */
void kf_nudge_input(const kf_problem_argument *argument, void *data, uint64_t seed, double share);
/* Returns the unit roundoff of an input that kf_nudge changes, 0 for other types. */
double kf_nudge_unit(kf_dtype dtype);
/* True if an argument moves. `inouts`: the device moves inouts, too. */
bool kf_condition_moves(const kf_problem_argument *argument, bool inouts);
/* Returns the largest kf_nudge_unit of the arguments that move, 0 if none does. */
double kf_condition_unit(const kf_problem_argument *arguments, int count, bool inouts);
/* Copies at most KF_CONDITION_SAMPLE expected values of an output, at equal distances, and returns
 * how many. */
#define KF_CONDITION_SAMPLE 65536
int64_t kf_condition_sample(const double *values, int64_t count, double *sample);
/* Adds `change` of a sample of expected values to the sums. `unit`: kf_condition_unit. Steps of the
 * function (rounding, comparisons) change few elements by much, also in proportion to the elements.
 * They do not count, or they would allow any error. False without memory.
 *
 * If only f64 inputs move, a change counts up to 1024 v scale. More would pass a candidate that
 * rounds its inputs to f32 first, though the output depends on their last bits. f64 inputs among
 * others stay. */
bool kf_condition_add(const double *before, const double *after, int64_t count, double unit,
                      kf_error_sums *sums);
/* True if the sums hold the number of terms, or the change by inputs that moved. */
static inline bool kf_condition_is_known(const kf_error_sums *sums)
{
    return sums->change_count > 0 || sums->terms > 0;
}
/* Returns how often to nudge, so that an output of few elements gives enough changes. */
static inline int kf_condition_runs(int64_t elements)
{
    return elements >= 8 ? 1 : elements > 0 ? (int)((8 + elements - 1) / elements) : 0;
}

/* The search for the number of terms of an output. Starts as zeros. */
typedef struct kf_terms_search {
    /* shares 4^-low and above change most elements; those 4^-high and below do not */
    int low, high;
    /* with share 4^-high, once high is low + 1 */
    int repeats, corrections;
    int64_t seen, changed;
    double terms;
} kf_terms_search;
/* Returns the share of the inputs to move next, or 0 at the end. Then search->terms is known. */
double kf_terms_share(kf_terms_search *search);
/* Notes a sample of expected values before and after. `again`: the values before, computed once
 * more, because an oracle with atomics differs from run to run. `all`: after KF_TERMS_ALL of the
 * inputs moved. Elements that do not move then count for nothing: a mask, zeros of a ReLU, and
 * those that are NaN or infinite. */
void kf_terms_note(kf_terms_search *search, const double *before, const double *again,
                   const double *all, const double *after, int64_t count);
/* Nearly all inputs, but below 1, since kf_nudge then moves all of them in one direction. */
#define KF_TERMS_ALL 0x1.ffp-1

/* Returns the number of terms of an output if input `varied` is varied; `varied` below 0: no input.
 * `terms`: found without variations. */
double kf_terms_varied(const kf_problem_argument *arguments, int count, int varied, double terms);
/* Returns integer_terms. `found`: numbers of terms by kf_moved, 0 if no argument belongs to it. */
double kf_terms_of_integers(const double found[KF_MOVED_OTHERS + 1]);
/* Sets the terms of the sums of an output, with one input varied. `plain`: without variations,
 * after its search for the number of terms. */
void kf_terms_apply(const kf_problem_argument *arguments, int count, int varied,
                    kf_variation variation, const kf_error_sums *plain, kf_error_sums *sums);

/* True if a failed output follows the right formula with too few bits: every element is finite, the
 * RMS error is below 1/64 of the output's RMS, and the largest below 1/16 of its largest value. */
bool kf_is_inaccurate(const kf_problem_argument *argument, const kf_error_sums *own);

/* Computes the limits of KF_ERROR_RATIO. `own` gives the scale of the output, `baseline` the
 * baseline's errors (NULL: a baseline without error). */
void kf_error_limits(const kf_problem_argument *argument, const kf_error_sums *own,
                     const kf_error_sums *baseline, double *allowed_rms, double *allowed_max);

/* Compares one buffer and fills figures: element counts, first mismatch, pattern of the mismatches
 * in words. True if it passes.
 *
 * `baseline` holds the baseline's errors for the same workload, NULL if the tolerance does not need
 * them. `mismatched` is above 0 in every failure: if only the RMS is too large, it counts the
 * elements above the allowed RMS. KF_ANY_ORDER sorts copies of the whole output (first_index is
 * then a rank) and applies rtol and atol. KF_ERROR_MEMORY is the only error; a mismatch leaves
 * error->code unchanged. */
bool kf_compare_output(const kf_problem_argument *argument, const void *data, const void *expected,
                       const kf_error_sums *baseline, kf_error_figures *figures, kf_error *error);

/* An input of any type that an output of indices may refer to. */
typedef struct kf_indexed {
    const kf_problem_argument *argument;
    const void *data;
} kf_indexed;

/* True if the shapes allow that the output holds indices along an axis of the input. */
bool kf_may_be_indexed(const kf_problem_argument *output, const kf_problem_argument *input);
/* True if an integer output that differs holds indices into a floating input that are as good:
 * along one axis, the input has the same values there, and no index is repeated. Equal values may
 * come in any order (topk, sort, argmax). Inputs without ties allow only the expected indices.
 *
 * A mask has ties almost everywhere, and scores of another input decide. So an input of which most
 * first values have many ties counts only in two cases: the oracle takes the first or the last of
 * equal values, or all values are equal. Other inputs of the shape must have the same values too,
 * unless the first index is at each row's largest or least value. False without memory. */
bool kf_indices_agree(const kf_problem_argument *output, const void *got, const void *expected,
                      const kf_indexed *inputs, int count);

/* The rule for one element, for a device that compares the elements itself. An element fails unless
 * |got - expected| <= min(DBL_MAX, slope |expected| + base), after kf_comparable
 * (compare_formula.h). */
typedef struct kf_element_rule {
    double slope, base;
    /* of the output's type */
    double largest, roundoff;
    /* the count of failed elements decides; otherwise only the sums */
    bool counts;
    /* expected is first rounded to the output's type */
    bool rounded;
} kf_element_rule;
/* Makes the rule. False for comparisons that need more than one pass over the elements (8-bit
 * floats, KF_ANY_ORDER): use kf_compare_output. */
bool kf_compare_rule(const kf_problem_argument *argument, kf_element_rule *how);
/* Decides by a device's sums and its count of failed elements. False: kf_compare_output must
 * compare again, and describe the mismatch. */
bool kf_compare_sums(const kf_problem_argument *argument, const kf_error_sums *own, int64_t failed,
                     const kf_error_sums *baseline, kf_error_figures *figures);

#endif
