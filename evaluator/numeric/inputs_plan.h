/* What all elements of one input buffer share, settled once on the CPU and used by the loops there
 * (inputs.c) and by the judge's own kernels (inputs_element.h). Plain data of fixed widths: it is
 * copied to devices as it lies in memory. */
#ifndef KFORGE_INPUTS_PLAN_H
#define KFORGE_INPUTS_PLAN_H

#include <stdint.h>

/* elements computed at a time on the CPU; outliers and nonfinite elements are drawn by the run */
#define KF_RUN 1024

/* Streams of one key that never overlap: 16 bits of the counter. */
typedef enum kf_purpose {
    KF_FOR_VALUES,
    KF_FOR_POISON,
    KF_FOR_VALUES_TOO,  /* a second number per element: what the non-zeros of KF_SPARSE are */
    KF_FOR_OUTLIERS,    /* where the outliers of a run of elements are */
    KF_FOR_NONFINITE,   /* which elements become infinite or NaN */
    KF_FOR_PERMUTATION, /* round keys */
    KF_FOR_CHOICE,      /* which variation a set gets */
} kf_purpose;

/* The type in which an element is computed before it is rounded to its own. */
typedef enum kf_carrier { KF_CARRY_FLOATS, KF_CARRY_DOUBLES, KF_CARRY_INTEGERS } kf_carrier;

typedef struct kf_input_plan {
    uint64_t secret; /* the key */
    uint32_t set, argument;
    /* kf_distribution_kind, kf_dtype, kf_variation, kf_carrier */
    int32_t kind, dtype, variation, carrier;
    int32_t is_float, half_bits; /* of dtype; of a permutation */
    uint64_t elements;
    uint64_t last, rows; /* lengths of the last axis and of the one before, at least 1 */
    double a, b;         /* varied */
    double scale;        /* of values, for the kinds whose a and b are not scales */
    double bottom, top;  /* of uniform and sorted values, representable in dtype */
    double most;         /* largest finite value of dtype */
    uint64_t threshold;  /* sparse: words below this are non-zeros */
    int64_t low;         /* integers: least value and number of values */
    uint64_t range;
    uint32_t round_keys[8];
} kf_input_plan;

#endif
