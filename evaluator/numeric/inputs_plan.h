/* The values that all elements of one input buffer share. The CPU computes them once. Its own loops
 * (inputs.c) and the judge's CUDA kernels (inputs_element.h) use them. Plain data of fixed widths,
 * because it is copied to devices byte by byte. */
#ifndef KFORGE_INPUTS_PLAN_H
#define KFORGE_INPUTS_PLAN_H

#include <stdint.h>

/* Elements of a run: computed at a time on the CPU. Each run has at most one outlier or nonfinite
 * element. */
#define KF_RUN 1024

#define KF_ALL_RUNS 0xffffffffffffffffu

/* Streams of one key that never overlap: 16 bits of the counter hold the purpose. */
typedef enum kf_purpose {
    KF_FOR_VALUES,
    KF_FOR_POISON,
    /* a second number for each element: the non-zeros of KF_SPARSE */
    KF_FOR_VALUES_TOO,
    /* places of the outliers and strays */
    KF_FOR_OUTLIERS,
    /* places of infinities and NaN */
    KF_FOR_NONFINITE,
    /* round keys */
    KF_FOR_PERMUTATION,
    /* the variation of a set */
    KF_FOR_CHOICE,
    /* what a variation makes of a buffer, or of a run */
    KF_FOR_STRUCTURE,
} kf_purpose;

/* The type in which an element is computed before it is rounded to its own. */
typedef enum kf_carrier { KF_CARRY_FLOATS, KF_CARRY_DOUBLES, KF_CARRY_INTEGERS } kf_carrier;

typedef struct kf_input_plan {
    /* the key */
    uint64_t secret;
    uint32_t set, argument;
    /* kf_distribution_kind, kf_dtype, kf_variation, kf_carrier */
    int32_t kind, dtype, variation, carrier;
    /* is_float: of dtype; half_bits: of a permutation; levels: of ascending numbers, 2^levels >=
     * last */
    int32_t is_float, half_bits, levels;
    uint64_t elements;
    /* lengths of the last axis (offsets: of the whole array) and of the one before, at least 1 */
    uint64_t last, rows;
    /* after the variation */
    double a, b;
    /* of values, for distributions without a scale among a and b */
    double scale;
    /* limits of uniform and sorted values, representable in dtype */
    double bottom, top;
    /* largest finite value of dtype */
    double most;
    /* sparse: words below this are non-zeros; signs: they are 1; strays: the only run with one, or
     * KF_ALL_RUNS */
    uint64_t threshold;
    /* integers: least value, and number of values; all of a permutation's total is added to, and
     * all of an offsets' total lies before, if a variation says so: the number for it */
    int64_t low;
    uint64_t range;
    /* the same for strays */
    int64_t stray_low;
    uint64_t stray_range;
    uint32_t round_keys[8];
} kf_input_plan;

#endif
