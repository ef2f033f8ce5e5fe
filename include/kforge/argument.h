/* One argument of a kernel, made concrete: type, shape, the distribution of an input and the
 * tolerance of an output. Inputs are filled from it (inputs.h), outputs are compared by it
 * (compare.h), and kf_task_resolve (task.h) makes it from task.json.
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

/* How the judge fills an input (docs/reference/task-format.md gives the formula of each). */
typedef enum kf_distribution_kind {
    KF_NORMAL,      /* a: mean (0), b: std (1) */
    KF_UNIFORM,     /* a: low (0), b: high (1); floats in [low, high) */
    KF_INTEGERS,    /* a: low (0), b: high (exclusive) */
    KF_PERMUTATION, /* of 0 … n-1 over the whole array */
    /* ascending floats or integers over [a: low, b: high) along the last axis */
    KF_SORTED,
    /* n entries, first 0, last a: total, non-decreasing: CSR row pointers; b: skew (1) */
    KF_OFFSETS,
    KF_SPARSE,   /* a: density (0.1) of standard normals, zeros elsewhere */
    KF_CONSTANT, /* a: value (0) */
    KF_ONE_HOT,  /* rows along the last axis with a single 1 */
    /* symmetric, diagonally dominant n×n matrices over the last two axes; a: dominance (1) */
    KF_POSITIVE_DEFINITE,
    KF_SYMMETRIC,        /* n×n matrices over the last two axes, uniform in [a: low, b: high) */
    KF_UPPER_TRIANGULAR, /* the same with zeros below the diagonal, … */
    KF_LOWER_TRIANGULAR, /* … above it */
    KF_SIGNS,            /* -1 or 1 */
    KF_DISTRIBUTION_COUNT
} kf_distribution_kind;

typedef struct kf_distribution {
    kf_distribution_kind kind;
    double a, b;
    /* the judge may vary scale, offset and structure on its own (default true for normal and
     * uniform) */
    bool vary;
    bool nonfinite; /* the task declares ±inf and NaN legal in this input */
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
    /* KF_ERROR_RATIO: times the baseline's own error, plus one unit roundoff at the output's scale
     */
    double ratio;
    double rtol, atol; /* KF_ALLCLOSE: |got - expected| <= atol + rtol * |expected| */
} kf_tolerance;

/* One argument of the candidate's signature, made concrete for a workload. */
typedef struct kf_problem_argument {
    const char *name; /* borrowed from the task */
    kf_argument_kind kind;
    kf_dtype dtype;
    int dims;
    int64_t shape[KF_MAX_DIMS];
    int64_t elements;             /* product of shape, at least 1; 1 for scalars */
    uint64_t bytes;               /* elements * size of dtype */
    kf_value value;               /* scalars */
    kf_distribution distribution; /* inputs and inouts */
    kf_tolerance tolerance;       /* outputs and inouts */
    /* of an f32 output: what operands in tf32 cost is allowed, too, by KF_ERROR_RATIO (compare.h)
     */
    bool tf32;
} kf_problem_argument;

#endif
