/* The pattern of an output's wrong elements, in words, and what causes such a pattern. */
#ifndef KFORGE_MISMATCHES_H
#define KFORGE_MISMATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/argument.h"

/* Counts of wrong elements. */
typedef struct kf_mismatch_signs {
    int64_t expected_negative, expected_positive;
    /* smaller or larger than expected */
    int64_t smaller, larger;
    /* the wrong elements are expected with one sign, and most of the others with another */
    bool one;
} kf_mismatch_signs;

typedef struct kf_mismatches {
    /* of the output; columns: length of the last axis */
    int64_t elements, columns;
    /* magnitudes that data of this scale may have; most random bits are outside */
    double least_sane, most_sane;
    /* of the wrong elements; stride: greatest common divisor of their distances; middle: index of
     * one between the first and the last */
    int64_t count, first, middle, last, stride;
    /* row of the last wrong element, and the first index of that row */
    int64_t row, row_first;
    int64_t least_row, most_row, least_column, most_column;
    double first_expected, first_got;
    /* all wrong elements have the same value */
    bool same_value;
    /* counts of NaN, and of values outside the sane magnitudes (or NaN) */
    int64_t nan, absurd;
    /* NaN or infinite where a finite value is expected */
    int64_t overflowed;
    kf_mismatch_signs signs;
} kf_mismatches;

kf_mismatches kf_mismatches_begin(const kf_problem_argument *argument, double scale);
/* Adds a wrong element. Indices must ascend. */
void kf_mismatch_add(kf_mismatches *m, int64_t index, double expected, double got);
/* Writes "tail from 4096, zeros", at most `size` bytes with the NUL. */
void kf_mismatches_describe(const kf_mismatches *m, char *text, size_t size);

/* Additions to a pattern by the judge, which knows more than the elements. */
#define KF_PATTERN_UNWRITTEN ", not written"
#define KF_PATTERN_ADDED ", added to old values"
#define KF_PATTERN_THREADS ", depends on the order of threads"
#define KF_PATTERN_CALLS ", differs from call to call"

/* Appends one of them. Leaves out the last parts if both do not fit in `size` bytes. */
void kf_pattern_append(char *pattern, size_t size, const char *words);

/* Returns one sentence with the cause and what to do, for the finding and for the next step. NULL
 * if the pattern shows no cause. `inexact`: the output fails by little, so only a pattern that
 * rounding cannot have counts. */
const char *kf_mismatch_cause(const char *pattern, bool inexact);

#endif
