/* One argument of a kernel, made concrete for a workload: type, shape, the distribution of an
 * input, the tolerance of an output. kf_task_resolve (task.h) makes it from task.json. inputs.h
 * fills inputs by it, compare.h compares outputs by it.
 *
 * Plain data; names are borrowed. docs/reference/task-format.md has the formula of each
 * distribution and each tolerance. */
#ifndef KFORGE_ARGUMENT_H
#define KFORGE_ARGUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "kforge/dtype.h"

#define KF_MAX_DIMS 8
/* elements of one argument */
#define KF_MAX_ELEMENTS ((int64_t)1 << 40)

/* A number of task.json, or the result of an expression. */
typedef struct kf_value {
    bool is_integer;
    /* valid if is_integer */
    int64_t integer;
    /* always set */
    double number;
} kf_value;

typedef enum kf_argument_kind {
    KF_INPUT,
    KF_OUTPUT,
    KF_INOUT,
    KF_SCALAR,
    KF_WORKSPACE
} kf_argument_kind;

/* How the judge fills an input. a and b are the parameters, with their defaults in parentheses. */
typedef enum kf_distribution_kind {
    /* a: mean (0), b: std (1) */
    KF_NORMAL,
    /* a: low (0), b: high (1); floats in [low, high) */
    KF_UNIFORM,
    /* a: low (0), b: high, exclusive */
    KF_INTEGERS,
    /* of 0 … n-1 over the whole array */
    KF_PERMUTATION,
    /* ascending along the last axis, in [a: low, b: high) */
    KF_SORTED,
    /* CSR row pointers: n ascending entries, first 0, last a: total; b: skew (1) */
    KF_OFFSETS,
    /* standard normals with probability a: density (0.1), zeros elsewhere */
    KF_SPARSE,
    /* a: value (0) */
    KF_CONSTANT,
    /* rows along the last axis with a single 1 */
    KF_ONE_HOT,
    /* symmetric, diagonally dominant n×n matrices over the last two axes; a: dominance (1) */
    KF_POSITIVE_DEFINITE,
    /* symmetric n×n matrices over the last two axes, uniform in [a: low, b: high) */
    KF_SYMMETRIC,
    /* the same with zeros below the diagonal */
    KF_UPPER_TRIANGULAR,
    /* the same with zeros above the diagonal */
    KF_LOWER_TRIANGULAR,
    /* -1 or 1 */
    KF_SIGNS,
    KF_DISTRIBUTION_COUNT
} kf_distribution_kind;

typedef struct kf_distribution {
    kf_distribution_kind kind;
    double a, b;
    /* the judge may vary the data within what the distribution promises */
    bool vary;
    /* ±inf and NaN are legal in this input */
    bool nonfinite;
    /* the problem file's own get_inputs makes it; a, b and `kind` mean nothing */
    bool generated;
    /* Integers [stray_low, stray_high) are legal in any place, because another workload that
     * differs only in this argument's distribution draws them there. Without any: equal numbers. */
    double stray_low, stray_high;
} kf_distribution;

#define KF_ERROR_RATIO_DEFAULT 8.0

typedef enum kf_compare_kind {
    KF_ERROR_RATIO,
    KF_ALLCLOSE,
    KF_EXACT,
    KF_ANY_ORDER
} kf_compare_kind;

typedef struct kf_tolerance {
    kf_compare_kind kind;
    /* KF_ERROR_RATIO: allowed multiple of the baseline's error (compare.h has the formula) */
    double ratio;
    /* KF_ALLCLOSE: |got - expected| <= atol + rtol * |expected| */
    double rtol, atol;
} kf_tolerance;

typedef struct kf_problem_argument {
    /* borrowed from the task */
    const char *name;
    kf_argument_kind kind;
    kf_dtype dtype;
    int dims;
    /* row-major */
    int64_t shape[KF_MAX_DIMS];
    /* product of shape, at least 1; 1 for scalars */
    int64_t elements;
    /* elements times the size of dtype */
    uint64_t bytes;
    /* of a scalar */
    kf_value value;
    /* of an input or inout */
    kf_distribution distribution;
    /* of an output or inout */
    kf_tolerance tolerance;
    /* an f32 output for which KF_ERROR_RATIO also allows the error of tf32 operands (compare.h) */
    bool tf32;
} kf_problem_argument;

#endif
