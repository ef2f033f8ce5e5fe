/* Conversions of many elements, without branches and with bit operations of one width, so that
 * compilers vectorise them. */
#include "dtype_bulk.h"

#include <float.h>
#include <string.h>

#include "dtype_formula.h"
#include "multiversion.h"

double kf_dtype_largest(kf_dtype dtype)
{
    static const double largest[KF_DTYPE_COUNT] = {
        [KF_F64] = DBL_MAX,     [KF_F32] = FLT_MAX,   [KF_TF32] = FLT_MAX, [KF_F16] = 65504,
        [KF_BF16] = 0x1.fep127, [KF_F8E4M3] = 448,    [KF_F8E5M2] = 57344, [KF_I64] = 0x1p63,
        [KF_I32] = INT32_MAX,   [KF_I16] = INT16_MAX, [KF_I8] = INT8_MAX,  [KF_U8] = UINT8_MAX,
        [KF_BOOL] = 1,
    };
    return largest[dtype];
}

/* ---- narrowing ------------------------------------------------------------------------------- */

KF_BODY store_f16_body(const float *restrict values, size_t count, uint16_t *restrict out)
{
    for (size_t i = 0; i < count; i++) out[i] = kf_f16_of_float(values[i]);
}
KF_MULTIVERSION(store_f16, (const float *restrict values, size_t count, uint16_t *restrict out),
                (values, count, out))

KF_BODY store_bf16_body(const float *restrict values, size_t count, uint16_t *restrict out)
{
    for (size_t i = 0; i < count; i++) out[i] = kf_bf16_of_float(values[i]);
}
KF_MULTIVERSION(store_bf16, (const float *restrict values, size_t count, uint16_t *restrict out),
                (values, count, out))

KF_BODY store_f8_body(const float *restrict values, size_t count, uint8_t *restrict out,
                      int mantissa)
{
    for (size_t i = 0; i < count; i++) out[i] = kf_f8_of_float(values[i], mantissa);
}
KF_MULTIVERSION(store_f8,
                (const float *restrict values, size_t count, uint8_t *restrict out, int mantissa),
                (values, count, out, mantissa))

KF_BODY store_f32_body(const float *restrict values, size_t count, float *restrict out)
{
    for (size_t i = 0; i < count; i++) {
        float value = values[i] < FLT_MAX ? values[i] : FLT_MAX;
        out[i] = value > -FLT_MAX ? value : -FLT_MAX;
    }
}
KF_MULTIVERSION(store_f32, (const float *restrict values, size_t count, float *restrict out),
                (values, count, out))

void kf_store_floats(kf_dtype dtype, const float *values, size_t count, void *elements)
{
    switch (dtype) {
    case KF_F16: store_f16(values, count, elements); return;
    case KF_BF16: store_bf16(values, count, elements); return;
    case KF_F8E4M3: store_f8(values, count, elements, 3); return;
    case KF_F8E5M2: store_f8(values, count, elements, 2); return;
    default: store_f32(values, count, elements); return;
    }
}

/* ---- widening -------------------------------------------------------------------------------- */

KF_BODY load_16_body(const uint16_t *restrict in, size_t count, double *restrict values,
                     int is_half)
{
    if (is_half)
        for (size_t i = 0; i < count; i++) values[i] = (double)kf_float_of_f16(in[i]);
    else
        for (size_t i = 0; i < count; i++)
            values[i] = (double)kf_float_of_bits((uint32_t)in[i] << 16);
}
KF_MULTIVERSION(load_16,
                (const uint16_t *restrict in, size_t count, double *restrict values, int is_half),
                (in, count, values, is_half))

KF_BODY load_f8_body(const uint8_t *restrict in, size_t count, double *restrict values,
                     int mantissa)
{
    if (mantissa == 3)
        for (size_t i = 0; i < count; i++) values[i] = (double)kf_float_of_f8(in[i], 3);
    else
        for (size_t i = 0; i < count; i++) values[i] = (double)kf_float_of_f8(in[i], 2);
}
KF_MULTIVERSION(load_f8,
                (const uint8_t *restrict in, size_t count, double *restrict values, int mantissa),
                (in, count, values, mantissa))

KF_BODY load_f32_body(const float *restrict in, size_t count, double *restrict values)
{
    for (size_t i = 0; i < count; i++) values[i] = (double)in[i];
}
KF_MULTIVERSION(load_f32, (const float *restrict in, size_t count, double *restrict values),
                (in, count, values))

KF_BODY load_i32_body(const int32_t *restrict in, size_t count, double *restrict values)
{
    for (size_t i = 0; i < count; i++) values[i] = (double)in[i];
}
KF_MULTIVERSION(load_i32, (const int32_t *restrict in, size_t count, double *restrict values),
                (in, count, values))

void kf_load_doubles(kf_dtype dtype, const void *elements, size_t count, double *values)
{
    switch (dtype) {
    case KF_F64: memcpy(values, elements, count * sizeof *values); return;
    case KF_F32:
    case KF_TF32: load_f32(elements, count, values); return;
    case KF_F16:
    case KF_BF16: load_16(elements, count, values, dtype == KF_F16); return;
    case KF_F8E4M3: load_f8(elements, count, values, 3); return;
    case KF_F8E5M2: load_f8(elements, count, values, 2); return;
    case KF_I32: load_i32(elements, count, values); return;
    default: break;
    }
    size_t size = kf_dtype_size(dtype);
    for (size_t i = 0; i < count; i++)
        values[i] = kf_dtype_load(dtype, (const char *)elements + i * size);
}
