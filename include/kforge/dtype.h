/* Element types of task arguments. One table row a type (evaluator/numeric/dtype.c); storage size
 * in bytes, name in task.json, C type of the candidate's signature. */
#ifndef KFORGE_DTYPE_H
#define KFORGE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kf_dtype {
    KF_F64,
    KF_F32,
    KF_TF32, /* stored as f32; tolerance is that of 10 mantissa bits */
    KF_F16,
    KF_BF16,
    KF_F8E4M3,
    KF_F8E5M2,
    KF_I64,
    KF_I32,
    KF_I16,
    KF_I8,
    KF_U8,
    KF_BOOL,
    KF_DTYPE_COUNT
} kf_dtype;

size_t kf_dtype_size(kf_dtype dtype);      /* bytes an element */
const char *kf_dtype_name(kf_dtype dtype); /* "f32" */
/* "float", "__half", "__nv_bfloat16", "__nv_fp8_e4m3", "int64_t", … */
const char *kf_dtype_ctype(kf_dtype dtype);
bool kf_dtype_is_float(kf_dtype dtype);
/* Unit roundoff u = 2^-(p): half the distance from 1 to the next number (f32: 2^-24, tf32: 2^-11).
 * 0 for integers. */
double kf_dtype_roundoff(kf_dtype dtype);
/* Finds a type by name; false when there is none. */
bool kf_dtype_parse(const char *name, kf_dtype *dtype);

/* One element to and from double. Narrowing rounds to nearest even; f8e4m3 saturates to NaN as in
 * the OCP 8-bit format specification (it has no infinities), f8e5m2 and f16 overflow to infinity.
 * 64-bit integers outside ±2^53 lose low bits: use memory comparison for exactness. Storing to
 * integers rounds, saturates and turns NaN into 0; a bool stores value != 0 and loads its byte as
 * it is, so a byte that is neither 0 nor 1 does not pass for true. */
double kf_dtype_load(kf_dtype dtype, const void *element);
void kf_dtype_store(kf_dtype dtype, void *element, double value);

#endif
