/* Comparing outputs with the oracle's, every element, NaN-safe. Pure and thread-safe.
 *
 * For KF_ERROR_RATIO the candidate's error may be at most `ratio` times the baseline's own error on the same inputs plus one unit of
 * rounding of the output's dtype at the output's scale, for the RMS and for the maximum separately. Expected values are float64 for
 * floating outputs and of the output's own type for integers. Where expected is NaN the output must be NaN, where it is infinite the
 * output must be the same infinity; anywhere else a NaN or infinity is a mismatch.
 */
#ifndef KFORGE_COMPARE_H
#define KFORGE_COMPARE_H

#include "kforge/error.h"
#include "kforge/task.h"
#include "kforge/verdict.h"

/* Errors of one buffer against the truth, mergeable over sets and batches. */
typedef struct kf_error_sums {
    double sum_square, max; /* of absolute error over elements finite in both */
    double scale_square, scale_max; /* of expected */
    int64_t count;
    int64_t nonfinite; /* elements where exactly one of them is finite, or they differ in kind */
    int64_t first_nonfinite;
} kf_error_sums;

/* Accumulates errors of `data` (argument's dtype) against `expected` (double, or the dtype for integers). */
void kf_error_accumulate(const kf_problem_argument *argument, const void *data, const void *expected, kf_error_sums *sums);
void kf_error_merge(kf_error_sums *into, const kf_error_sums *from);

/* Judges one buffer; `baseline` holds the baseline's errors for the same workload. Fills figures (element counts, first mismatch, pattern of
 * the mismatches in words) and returns true when it passes. Any-order comparison sorts copies: KF_ERROR_MEMORY is possible. */
bool kf_compare_output(const kf_problem_argument *argument, const void *data, const void *expected, const kf_error_sums *baseline,
                       kf_error_figures *figures, kf_error *error);

#endif
