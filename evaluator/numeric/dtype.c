/* Element types: the table, and conversion to and from double.
 *
 * Narrow floats (f16, bf16, the two 8-bit formats) share one rounding function. It works on the
 * value, not on the bits of a wider format, so a double is rounded once. Formats: IEEE 754-2019
 * (binary16), bfloat16 (8 exponent bits, 7 mantissa bits), OCP 8-bit Floating Point
 * Specification 1.0 (E4M3: no infinities, one NaN code for each sign, largest 448; E5M2: like IEEE
 * 754).
 */
#include "kforge/dtype.h"

#include <math.h>
#include <string.h>

#include "dtype_formula.h"

typedef struct type_row {
    const char *name, *ctype;
    size_t size;
    bool is_float;
    /* significant bits p; roundoff is 2^-p; 0 for integers */
    int precision;
} type_row;

static const type_row types[KF_DTYPE_COUNT] = {
    [KF_F64] = {"f64", "double", 8, true, 53},
    [KF_F32] = {"f32", "float", 4, true, 24},
    [KF_TF32] = {"tf32", "float", 4, true, 11},
    [KF_F16] = {"f16", "__half", 2, true, 11},
    [KF_BF16] = {"bf16", "__nv_bfloat16", 2, true, 8},
    [KF_F8E4M3] = {"f8e4m3", "__nv_fp8_e4m3", 1, true, 4},
    [KF_F8E5M2] = {"f8e5m2", "__nv_fp8_e5m2", 1, true, 3},
    [KF_I64] = {"i64", "int64_t", 8, false, 0},
    [KF_I32] = {"i32", "int32_t", 4, false, 0},
    [KF_I16] = {"i16", "int16_t", 2, false, 0},
    [KF_I8] = {"i8", "int8_t", 1, false, 0},
    [KF_U8] = {"u8", "uint8_t", 1, false, 0},
    [KF_BOOL] = {"bool", "bool", 1, false, 0},
};

/* Sign, exponent and mantissa widths of the formats that C has no type for. */
typedef struct narrow_format {
    int exponent_bits, mantissa_bits;
    /* false: the all-ones exponent holds numbers, and only all ones is NaN */
    bool has_infinity;
} narrow_format;

static const narrow_format half_format = {5, 10, true};
static const narrow_format bfloat_format = {8, 7, true};
static const narrow_format e4m3_format = {4, 3, false};
static const narrow_format e5m2_format = {5, 2, true};

size_t kf_dtype_size(kf_dtype dtype)
{
    return types[dtype].size;
}
const char *kf_dtype_name(kf_dtype dtype)
{
    return types[dtype].name;
}
const char *kf_dtype_ctype(kf_dtype dtype)
{
    return types[dtype].ctype;
}
bool kf_dtype_is_float(kf_dtype dtype)
{
    return types[dtype].is_float;
}

double kf_dtype_roundoff(kf_dtype dtype)
{
    return types[dtype].is_float ? ldexp(1.0, -types[dtype].precision) : 0.0;
}

bool kf_dtype_parse(const char *name, kf_dtype *dtype)
{
    for (int i = 0; i < KF_DTYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) != 0) continue;
        *dtype = (kf_dtype)i;
        return true;
    }
    return false;
}

/* ---- narrow floats --------------------------------------------------------------------------- */

static uint32_t narrow_encode(double value, narrow_format format)
{
    return kf_narrow_encode(value, format.exponent_bits, format.mantissa_bits, format.has_infinity);
}

static double narrow_decode(uint32_t bits, narrow_format format)
{
    int bias = (1 << (format.exponent_bits - 1)) - 1;
    int width = format.exponent_bits + format.mantissa_bits;
    uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
    int exponent = (int)(bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1));
    double sign = bits >> width & 1 ? -1.0 : 1.0;
    bool top = exponent == (1 << format.exponent_bits) - 1;
    if (top && format.has_infinity) return mantissa ? (double)NAN : sign * (double)INFINITY;
    if (top && mantissa == (1u << format.mantissa_bits) - 1) return (double)NAN;
    if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - format.mantissa_bits);
    return sign *
           ldexp(mantissa + (1u << format.mantissa_bits), exponent - bias - format.mantissa_bits);
}

/* ---- one element ----------------------------------------------------------------------------- */

double kf_dtype_load(kf_dtype dtype, const void *element)
{
    union {
        double f64;
        float f32;
        int64_t i64;
        int32_t i32;
        int16_t i16;
        int8_t i8;
        uint8_t u8;
        uint16_t u16;
    } value;
    memcpy(&value, element, types[dtype].size);
    switch (dtype) {
    case KF_F64: return value.f64;
    case KF_F32:
    case KF_TF32: return value.f32;
    case KF_F16: return narrow_decode(value.u16, half_format);
    case KF_BF16: return narrow_decode(value.u16, bfloat_format);
    case KF_F8E4M3: return narrow_decode(value.u8, e4m3_format);
    case KF_F8E5M2: return narrow_decode(value.u8, e5m2_format);
    case KF_I64: return (double)value.i64;
    case KF_I32: return value.i32;
    case KF_I16: return value.i16;
    case KF_I8: return value.i8;
    case KF_U8:
    /* a byte that is neither 0 nor 1 must not look like true */
    case KF_BOOL: return value.u8;
    case KF_DTYPE_COUNT: break;
    }
    return (double)NAN;
}

/* Returns the nearest integer within [low, high], 0 for NaN. `high` + 1 must be exact as a double.
 */
static int64_t to_integer(double value, int64_t low, int64_t high)
{
    if (isnan(value)) return 0;
    double rounded = rint(value);
    if (rounded <= (double)low) return low;
    if (rounded >= (double)high) return high; /* (double)INT64_MAX is 2^63 */
    return (int64_t)rounded;
}

void kf_dtype_store(kf_dtype dtype, void *element, double value)
{
    switch (dtype) {
    case KF_F64: memcpy(element, &value, 8); return;
    case KF_F32:
    case KF_TF32: {
        float narrow = (float)value;
        memcpy(element, &narrow, 4);
        return;
    }
    case KF_F16:
    case KF_BF16: {
        uint16_t bits =
            (uint16_t)narrow_encode(value, dtype == KF_F16 ? half_format : bfloat_format);
        memcpy(element, &bits, 2);
        return;
    }
    case KF_F8E4M3: *(uint8_t *)element = (uint8_t)narrow_encode(value, e4m3_format); return;
    case KF_F8E5M2: *(uint8_t *)element = (uint8_t)narrow_encode(value, e5m2_format); return;
    case KF_I64: {
        int64_t integer = to_integer(value, INT64_MIN, INT64_MAX);
        memcpy(element, &integer, 8);
        return;
    }
    case KF_I32: {
        int32_t integer = (int32_t)to_integer(value, INT32_MIN, INT32_MAX);
        memcpy(element, &integer, 4);
        return;
    }
    case KF_I16: {
        int16_t integer = (int16_t)to_integer(value, INT16_MIN, INT16_MAX);
        memcpy(element, &integer, 2);
        return;
    }
    case KF_I8: *(int8_t *)element = (int8_t)to_integer(value, INT8_MIN, INT8_MAX); return;
    case KF_U8: *(uint8_t *)element = (uint8_t)to_integer(value, 0, UINT8_MAX); return;
    case KF_BOOL: *(uint8_t *)element = value != 0; return;
    case KF_DTYPE_COUNT: return;
    }
}
