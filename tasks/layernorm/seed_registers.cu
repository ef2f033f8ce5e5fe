/* Layer normalisation that reads each element once: a group of T threads holds a whole row in registers, VECTORS 16-byte vectors a
 * thread, so that mean, squared deviations and output need no second read and the variance is still that of deviations from the
 * true mean. T is chosen per shape, the smallest that holds the row. Groups up to a warp need only shuffles; larger ones one
 * barrier a sum. Rows that do not fit in registers, or are not a multiple of 4 long, take one block each and three passes, the
 * later ones from cache. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune VECTORS 1 2 4 8
// kforge: tune MIN_THREADS 64 128 256 512
// kforge: tune LONG_THREADS 256 512 1024
// kforge: flags | --use_fast_math
#ifndef VECTORS
#define VECTORS 4
#endif
/* Threads a block at least: small groups share a block. */
#ifndef MIN_THREADS
#define MIN_THREADS 128
#endif
/* Threads a block for rows that are not held in registers. */
#ifndef LONG_THREADS
#define LONG_THREADS 512
#endif

/* The sum over the T threads of a group, in all of them. `shared` has a slot a warp and is used once. */
template <int T> __device__ __forceinline__ float group_sum(float value, float *shared)
{
#pragma unroll
    for (int offset = (T < 32 ? T : 32) / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (T > 32) {
        if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
        __syncthreads();
        int first = threadIdx.x / T * (T / 32);
        value = shared[first];
#pragma unroll
        for (int k = 1; k < T / 32; k++) value += shared[first + k];
    }
    return value;
}

template <int T> struct group {
    enum { THREADS = T > MIN_THREADS ? T : MIN_THREADS, ROWS = THREADS / T };
};

template <int T>
__global__ void __launch_bounds__(group<T>::THREADS)
    layernorm_registers(const float4 *__restrict__ x, const float4 *__restrict__ gamma, const float4 *__restrict__ beta,
                        float4 *__restrict__ y, float epsilon, int64_t rows, int count)
{
    __shared__ float shared[2][32];
    int64_t row = (int64_t)blockIdx.x * group<T>::ROWS + threadIdx.x / T;
    int lane = threadIdx.x % T;
    bool used = row < rows; /* idle threads of the last block still take part in shuffles */
    const float4 *from = x + (used ? row : 0) * count;
    const float share = 1.0f / (4 * count);

    float4 v[VECTORS];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        int j = lane + k * T;
        v[k] = j < count ? from[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
#pragma unroll
    for (int k = 0; k < VECTORS; k++) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    float mean = group_sum<T>(sum, shared[0]) * share;

    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        v[k] = make_float4(v[k].x - mean, v[k].y - mean, v[k].z - mean, v[k].w - mean);
        if (lane + k * T < count) squares += (v[k].x * v[k].x + v[k].y * v[k].y) + (v[k].z * v[k].z + v[k].w * v[k].w);
    }
    float scale = 1.0f / sqrtf(group_sum<T>(squares, shared[1]) * share + epsilon);
    if (!used) return;
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        int j = lane + k * T;
        if (j < count) {
            float4 g = gamma[j], b = beta[j];
            y[row * count + j] = make_float4(fmaf(v[k].x * scale, g.x, b.x), fmaf(v[k].y * scale, g.y, b.y),
                                             fmaf(v[k].z * scale, g.z, b.z), fmaf(v[k].w * scale, g.w, b.w));
        }
    }
}

__global__ void __launch_bounds__(LONG_THREADS)
    layernorm_long(const float *__restrict__ x, const float *__restrict__ gamma, const float *__restrict__ beta,
                   float *__restrict__ y, float epsilon, int64_t cols)
{
    __shared__ float shared[2][32];
    const float *from = x + blockIdx.x * cols;
    float *to = y + blockIdx.x * cols;
    float sum = 0.0f, squares = 0.0f;
#pragma unroll 4
    for (int64_t j = threadIdx.x; j < cols; j += LONG_THREADS) sum += from[j];
    float mean = group_sum<LONG_THREADS>(sum, shared[0]) / cols;
#pragma unroll 4
    for (int64_t j = threadIdx.x; j < cols; j += LONG_THREADS) squares += (from[j] - mean) * (from[j] - mean);
    float scale = 1.0f / sqrtf(group_sum<LONG_THREADS>(squares, shared[1]) / cols + epsilon);
#pragma unroll 4
    for (int64_t j = threadIdx.x; j < cols; j += LONG_THREADS) to[j] = fmaf((from[j] - mean) * scale, gamma[j], beta[j]);
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, float epsilon, int64_t rows,
                          int64_t cols, cudaStream_t stream)
{
    const int held = 4 * VECTORS; /* floats a thread */
#define LAUNCH(T)                                                                                                       \
    layernorm_registers<T><<<(unsigned)((rows + group<T>::ROWS - 1) / group<T>::ROWS), group<T>::THREADS, 0, stream>>>( \
        (const float4 *)x, (const float4 *)gamma, (const float4 *)beta, (float4 *)y, epsilon, rows, (int)(cols / 4))
    if (cols % 4 != 0 || cols > 1024 * held)
        layernorm_long<<<(unsigned)rows, LONG_THREADS, 0, stream>>>(x, gamma, beta, y, epsilon, cols);
    else if (cols <= 16 * held)
        LAUNCH(16);
    else if (cols <= 32 * held)
        LAUNCH(32);
    else if (cols <= 128 * held)
        LAUNCH(128);
    else if (cols <= 256 * held)
        LAUNCH(256);
    else if (cols <= 512 * held)
        LAUNCH(512);
    else
        LAUNCH(1024);
#undef LAUNCH
}
