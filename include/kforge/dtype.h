/* Element types of arguments: size, name in task.json, C type in the candidate's signature,
 * conversion. evaluator/numeric/dtype.c has a table row for each type. Pure and thread-safe.
 *
 * Formats: IEEE 754-2019 (f64, f32, f16), bfloat16 (8 exponent bits, 7 mantissa bits), OCP 8-bit
 * Floating Point Specification 1.0 (f8e4m3, f8e5m2). */
#ifndef KFORGE_DTYPE_H
#define KFORGE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kf_dtype {
    KF_F64,
    KF_F32,
    /* stored as f32; its tolerance is that of 10 mantissa bits */
    KF_TF32,
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

/* Returns the bytes of one element. */
size_t kf_dtype_size(kf_dtype dtype);
/* Returns "f32". */
const char *kf_dtype_name(kf_dtype dtype);
/* Returns "float", "__half", "__nv_bfloat16", "__nv_fp8_e4m3", "int64_t", … */
const char *kf_dtype_ctype(kf_dtype dtype);
bool kf_dtype_is_float(kf_dtype dtype);
/* Returns the unit roundoff u = 2^-p for p significant bits: half the distance from 1 to the next
 * number (f32: 2^-24, tf32: 2^-11). 0 for integers. */
double kf_dtype_roundoff(kf_dtype dtype);
/* Finds a type by name. False if there is no type of that name. */
bool kf_dtype_parse(const char *name, kf_dtype *dtype);

/* Converts one element to double. 64-bit integers beyond ±2^53 lose low bits. A bool gives its
 * byte, so a byte that is neither 0 nor 1 does not look like true. */
double kf_dtype_load(kf_dtype dtype, const void *element);
/* Converts a double to one element. Floating types round to nearest even. Values beyond the range
 * become infinity, and NaN in f8e4m3, which has no infinities. Integers round, saturate and turn
 * NaN into 0. A bool becomes value != 0. */
void kf_dtype_store(kf_dtype dtype, void *element, double value);

#endif
