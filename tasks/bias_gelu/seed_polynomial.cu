/* y = gelu(x + bias) without branches and with more work a thread.
 *
 * gelu(z) = max(z, 0) - a Phi(-a) with a = |z|, which has no cancellation on either side. log2 Phi(-a) is smooth, so Phi(-a) =
 * 2^P(a) with a polynomial P of degree 9, a weighted minimax fit on [0, 7] with P(0) = -1 exactly: at most 4e-9 off, less than the
 * rounding of f32. Beyond 7, a Phi(-a) < 1e-11 and a is clamped.
 *
 * LAYOUT 0: 16-byte accesses, ITEMS / 4 vectors a thread, a block's span apart (GPU). LAYOUT 1: each thread owns ITEMS consecutive
 * floats of a row, a plain loop that a CPU's compiler turns into SIMD code. Rows that are not a multiple of 4 long take the scalar
 * path. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune THREADS 16 32 64 128 256 512 1024
// kforge: tune ITEMS 4 8 16 32 64 128 256
// kforge: tune LAYOUT 0 1
// kforge: tune EXP2 0 1
// kforge: require LAYOUT == 1 || ITEMS <= 32
#ifndef THREADS
#define THREADS 256
#endif
#ifndef ITEMS
#define ITEMS 8
#endif
#ifndef LAYOUT
#define LAYOUT 0
#endif
/* 0: exp2f (one instruction of the GPU's special function unit), 1: a polynomial (SIMD on a CPU) */
#ifndef EXP2
#define EXP2 0
#endif

/* 2^t for -64 <= t <= 0, relative error below 1e-7. */
__device__ __forceinline__ float power_of_two(float t)
{
#if EXP2 == 0
    return exp2f(t);
#else
    float whole = rintf(t);
    float f = t - whole;
    float p = 1.53458081e-4f;
    p = fmaf(p, f, 1.33999309e-3f);
    p = fmaf(p, f, 9.61848907e-3f);
    p = fmaf(p, f, 5.55032864e-2f);
    p = fmaf(p, f, 2.40226462e-1f);
    p = fmaf(p, f, 6.93147182e-1f);
    p = fmaf(p, f, 1.0f);
    return p * __int_as_float(((int)whole + 127) << 23);
#endif
}

__device__ __forceinline__ float gelu(float z)
{
    float a = fabsf(z);
    a = a > 7.0f ? 7.0f : a;
    float p = 4.47176205e-7f;
    p = fmaf(p, a, -8.65620314e-6f);
    p = fmaf(p, a, 6.99449156e-5f);
    p = fmaf(p, a, -2.69760581e-4f);
    p = fmaf(p, a, -8.74649322e-6f);
    p = fmaf(p, a, 6.95281196e-3f);
    p = fmaf(p, a, -5.24452887e-2f);
    p = fmaf(p, a, -4.59219098e-1f);
    p = fmaf(p, a, -1.15110445f);
    p = fmaf(p, a, -1.0f);
    float positive = z < 0.0f ? 0.0f : z;
    return positive - a * power_of_two(p);
}

#if LAYOUT == 0
/* One block: THREADS * ITEMS / 4 vectors of the matrix taken as one long array; vectors_per_row tells the place in bias. */
__global__ void __launch_bounds__(THREADS) gelu_vectors(const float4 *__restrict__ x, const float4 *__restrict__ bias,
                                                        float4 *__restrict__ y, int64_t vectors, unsigned vectors_per_row)
{
    int64_t first = (int64_t)blockIdx.x * (THREADS * ITEMS / 4) + threadIdx.x;
    unsigned place = (unsigned)(first % vectors_per_row);
    float4 z[ITEMS / 4];
#pragma unroll
    for (int k = 0; k < ITEMS / 4; k++)
        if (first + k * THREADS < vectors) z[k] = x[first + k * THREADS];
#pragma unroll
    for (int k = 0; k < ITEMS / 4; k++) {
        if (first + k * THREADS < vectors) {
            float4 b = bias[place];
            y[first + k * THREADS] = make_float4(gelu(z[k].x + b.x), gelu(z[k].y + b.y), gelu(z[k].z + b.z), gelu(z[k].w + b.w));
        }
        place += THREADS;
        if (place >= vectors_per_row) place %= vectors_per_row;
    }
}
#endif

/* One thread: up to ITEMS consecutive columns of one row. */
__global__ void gelu_rows(const float *__restrict__ x, const float *__restrict__ bias, float *__restrict__ y, int64_t cols,
                          int64_t pieces, int64_t total)
{
    int64_t piece = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (piece >= total) return;
    int64_t row = piece / pieces, begin = (piece % pieces) * ITEMS;
    const float *xs = x + row * cols + begin;
    const float *bs = bias + begin;
    float *ys = y + row * cols + begin;
    if (begin + ITEMS <= cols) {
        for (int k = 0; k < ITEMS; k++) ys[k] = gelu(xs[k] + bs[k]);
    } else {
        for (int k = 0; begin + k < cols; k++) ys[k] = gelu(xs[k] + bs[k]);
    }
}

extern "C" void bias_gelu(const float *x, const float *bias, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
#if LAYOUT == 0
    if (cols % 4 == 0) {
        int64_t vectors = rows * cols / 4, span = THREADS * ITEMS / 4;
        gelu_vectors<<<(unsigned)((vectors + span - 1) / span), THREADS, 0, stream>>>((const float4 *)x, (const float4 *)bias,
                                                                                      (float4 *)y, vectors, (unsigned)(cols / 4));
        return;
    }
#endif
    int64_t pieces = (cols + ITEMS - 1) / ITEMS, total = rows * pieces;
    gelu_rows<<<(unsigned)((total + THREADS - 1) / THREADS), THREADS, 0, stream>>>(x, bias, y, cols, pieces, total);
}
