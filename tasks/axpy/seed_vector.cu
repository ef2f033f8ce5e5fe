/* y = a x + y with more work a thread.
 *
 * LAYOUT 0: 16-byte accesses; each thread owns ITEMS / 4 vectors, THREADS vectors apart, all loads issued before the first use, so
 * that more bytes are in flight (a GPU's way to bandwidth). LAYOUT 1: each thread owns ITEMS consecutive floats, a plain loop that
 * a CPU's compiler turns into SIMD code. The end that does not fill a whole block takes the scalar loop. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS 32 64 128 256 512 1024
// kforge: tune ITEMS 4 8 16 32 64 256 1024
// kforge: tune LAYOUT 0 1
// kforge: require LAYOUT == 1 || ITEMS <= 32
// kforge: require THREADS * ITEMS <= 65536
#ifndef THREADS
#define THREADS 256
#endif
#ifndef ITEMS
#define ITEMS 8
#endif
#ifndef LAYOUT
#define LAYOUT 0
#endif

__device__ __forceinline__ float4 axpy4(float a, float4 x, float4 y)
{
    return make_float4(fmaf(a, x.x, y.x), fmaf(a, x.y, y.y), fmaf(a, x.z, y.z), fmaf(a, x.w, y.w));
}

/* Every block but the last owns THREADS * ITEMS floats. */
__global__ void axpy_kernel(const float *__restrict__ x, float *__restrict__ y, float a, int64_t n)
{
    const int64_t span = (int64_t)THREADS * ITEMS;
    const int64_t begin = (int64_t)blockIdx.x * span;
    if (begin + span > n) {
        for (int64_t i = begin + threadIdx.x; i < n; i += THREADS) y[i] = fmaf(a, x[i], y[i]);
        return;
    }
#if LAYOUT == 0
    const float4 *xv = (const float4 *)(x + begin) + threadIdx.x;
    float4 *yv = (float4 *)(y + begin) + threadIdx.x;
    float4 xs[ITEMS / 4], ys[ITEMS / 4];
#pragma unroll
    for (int k = 0; k < ITEMS / 4; k++) {
        xs[k] = xv[k * THREADS];
        ys[k] = yv[k * THREADS];
    }
#pragma unroll
    for (int k = 0; k < ITEMS / 4; k++) yv[k * THREADS] = axpy4(a, xs[k], ys[k]);
#else
    const float *xs = x + begin + (int64_t)threadIdx.x * ITEMS;
    float *ys = y + begin + (int64_t)threadIdx.x * ITEMS;
    for (int k = 0; k < ITEMS; k++) ys[k] = fmaf(a, xs[k], ys[k]);
#endif
}

extern "C" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    const int64_t span = (int64_t)THREADS * ITEMS;
    axpy_kernel<<<(unsigned)((n + span - 1) / span), THREADS, 0, stream>>>(x, y, a, n);
}
