/* Comparing outputs with the oracle's, every element, NaN-safe. Pure and thread-safe.
 *
 * Expected values are float64 for floating outputs and of the output's own type for integers. Where
 * expected is NaN the output must be NaN, where it is infinite the output must be the same infinity
 * (f8e4m3, which has none: NaN or ±448); anywhere else a NaN or infinity is a mismatch. An expected
 * value beyond the type's largest number counts as that number, and so does the infinity that it
 * rounds to.
 *
 * KF_ERROR_RATIO, for the root mean square and for the maximum separately, over all elements of a
 * buffer:
 *
 *     error <= ratio * (baseline's error on the same inputs) + c * u * (scale of the expected
 * values) + tiny
 *
 * u is the type's unit roundoff, scale the expected values' own RMS or maximum, tiny the smallest
 * number that may be flushed to zero. c says what an honest sum in another order may lose against a
 * lucky baseline: a sum of K terms one after the other errs by about 0.2 sqrt(K) u of its scale, a
 * pairwise one by 1 u. f32: c = 32, so orders are free up to K = 30,000 (f32 arithmetic lowered to
 * tf32 errs by 4000 u, 2xbf16 by 128 u). f64: c = 1024, because the oracle has no more digits
 * itself. tf32: c = 3, and 5 for the maximum (operands rounded or cut, which is 4 u of a product
 * and may hit one that is nearly all of an element; bf16 operands err by 4 u RMS). f16, bf16, 8-bit
 * floats: c = 1, because their sums belong into f32. For the RMS of f16 and bf16 only that part of
 * the baseline's error is multiplied by the ratio which goes beyond the one rounding that an output
 * of that type costs anybody: beside a baseline that rounds once 1.4 u are allowed, and over K >=
 * 1024 terms f16 accumulators err by 6 u, those of a tensor core, which adds 8 or 16 products
 * exactly first, by 2.4 and 1.7 u. Outputs of 8 bits are so coarse that the maximum says little:
 * there each element's error is also held to max(4 u (|expected| + scale RMS), 2 * baseline's
 * maximum). The baseline's own output always passes, for any ratio >= 2.
 *
 * With `tf32` of the argument c and u of an f32 output are those of tf32. Which of cuDNN's
 * algorithms a convolution takes depends on its shape, and on whether they are tried first
 * (torch.backends.cudnn.benchmark); by PyTorch's default (torch.backends.cudnn.allow_tf32) some of
 * them round operands to tf32. So that eager has taken another one for a shape does not make those
 * wrong.
 */
#ifndef KFORGE_COMPARE_H
#define KFORGE_COMPARE_H

#include "kforge/argument.h"
#include "kforge/error.h"
#include "kforge/verdict.h"

/* Errors of one buffer against the truth, mergeable over sets and batches. Zero-initialise with
 * first_nonfinite = -1 (KF_NO_ERRORS). */
typedef struct kf_error_sums {
    double sum_square, max;         /* of absolute error over elements finite in both */
    double scale_square, scale_max; /* of expected, as far as finite */
    int64_t count;
    /* elements where exactly one of them is finite, or they differ in kind */
    int64_t nonfinite;
    int64_t first_nonfinite; /* in the last buffer that had any; -1 none */
} kf_error_sums;
#define KF_NO_ERRORS ((kf_error_sums){.first_nonfinite = -1})

/* Accumulates errors of `data` (argument's dtype) against `expected` (double, or the dtype for
 * integers). */
void kf_error_accumulate(const kf_problem_argument *argument, const void *data,
                         const void *expected, kf_error_sums *sums);
/* The same for elements [first, first+count) of the buffers that begin at `data` and `expected`, so
 * that threads can split a buffer; sums merged in another order differ in the last bits. */
void kf_error_accumulate_part(const kf_problem_argument *argument, const void *data,
                              const void *expected, int64_t first, int64_t count,
                              kf_error_sums *sums);
void kf_error_merge(kf_error_sums *into, const kf_error_sums *from);
double kf_error_rms(const kf_error_sums *sums); /* 0 for none */

/* The limits of KF_ERROR_RATIO for an output whose scale is in `own` beside `baseline` (NULL: a
 * baseline without error). */
void kf_error_limits(const kf_problem_argument *argument, const kf_error_sums *own,
                     const kf_error_sums *baseline, double *allowed_rms, double *allowed_max);

/* Judges one buffer; `baseline` holds the baseline's errors for the same workload, NULL where the
 * tolerance does not ask for them. Fills figures (element counts, first mismatch, pattern of the
 * mismatches in words) and returns true when it passes. `mismatched` is never 0 when it does not:
 * where only the RMS is too large, it counts the elements above the allowed RMS. Any-order
 * comparison is over the whole output, sorts copies (first_index is then a rank) and holds rtol and
 * atol: KF_ERROR_MEMORY is possible; it is the only error (error->code stays as it is for a
 * mismatch). */
bool kf_compare_output(const kf_problem_argument *argument, const void *data, const void *expected,
                       const kf_error_sums *baseline, kf_error_figures *figures, kf_error *error);

/* The same in two steps, for a device that reads the elements itself. kf_compare_rule says how one
 * element is judged: false for comparisons that take more than one look at each element (8-bit
 * floats, any order), which kf_compare_output does. An element fails unless |got - expected| <=
 * min(DBL_MAX, slope |expected| + base), both made comparable (compare_formula.h), `expected`
 * rounded to the output's type first where `rounded`. kf_compare_sums then judges by the device's
 * sums and its count of failed elements (only where `counts`); false: kf_compare_output has to
 * look, and to word it. */
typedef struct kf_element_rule {
    double slope, base, largest, roundoff;
    bool counts, rounded;
} kf_element_rule;
bool kf_compare_rule(const kf_problem_argument *argument, kf_element_rule *how);
bool kf_compare_sums(const kf_problem_argument *argument, const kf_error_sums *own, int64_t failed,
                     const kf_error_sums *baseline, kf_error_figures *figures);

#endif
