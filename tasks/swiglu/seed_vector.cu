/* The chain with VECTOR elements of y a thread, read and written as vectors, and ROWS rows a
 * thread, for which the bias is loaded once. Rows that are no multiple of VECTOR long go element by
 * element. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune THREADS 64 128 256 512
// kforge: tune VECTOR 1 2 4
// kforge: tune ROWS 1 2 4 8
// kforge: flags | --use_fast_math
#ifndef THREADS
#define THREADS 128
#endif
#ifndef VECTOR
#define VECTOR 4
#endif
#ifndef ROWS
#define ROWS 4
#endif

template <int N> struct __align__(2 * N) pack
{
    __nv_bfloat16 e[N];
};

template <int N>
__global__ void __launch_bounds__(THREADS)
    swiglu_kernel(const pack<2 * N> *__restrict__ gate_up, const pack<2 * N> *__restrict__ bias,
                  const float *__restrict__ row_scale, pack<N> *__restrict__ y, float alpha,
                  float limit, int64_t rows, int64_t cols)
{
    const int64_t count = cols / N, j = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (j >= count) return;
    const pack<2 *N> add = bias[j];
    /* The y extent of a grid has a limit, so that a block may have several groups of rows. */
    for (int64_t first = (int64_t)blockIdx.y * ROWS; first < rows;
         first += (int64_t)gridDim.y * ROWS)
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int64_t i = first + r;
            if (i >= rows) break;
            const pack<2 *N> in = gate_up[i * count + j];
            const float scale = row_scale[i];
            pack<N> out;
#pragma unroll
            for (int e = 0; e < N; e++) {
                const float g = __bfloat162float(in.e[2 * e]) + __bfloat162float(add.e[2 * e]);
                const float u =
                    __bfloat162float(in.e[2 * e + 1]) + __bfloat162float(add.e[2 * e + 1]);
                const float a = fminf(g, limit), b = fmaxf(fminf(u, limit), -limit);
                out.e[e] = __float2bfloat16(a / (1.0f + expf(-alpha * a)) * (b + 1.0f) * scale);
            }
            y[i * count + j] = out;
        }
}

template <int N>
static void launch(const __nv_bfloat16 *gate_up, const __nv_bfloat16 *bias, const float *row_scale,
                   __nv_bfloat16 *y, float alpha, float limit, int64_t rows, int64_t cols,
                   cudaStream_t stream)
{
    const int64_t groups = (rows + ROWS - 1) / ROWS;
    const dim3 grid((unsigned)((cols / N + THREADS - 1) / THREADS),
                    (unsigned)(groups < 65535 ? groups : 65535));
    swiglu_kernel<N><<<grid, THREADS, 0, stream>>>((const pack<2 * N> *)gate_up,
                                                   (const pack<2 * N> *)bias, row_scale,
                                                   (pack<N> *)y, alpha, limit, rows, cols);
}

extern "C" void swiglu(const __nv_bfloat16 *gate_up, const __nv_bfloat16 *bias,
                       const float *row_scale, __nv_bfloat16 *y, float alpha, float limit,
                       int64_t rows, int64_t cols, cudaStream_t stream)
{
    if (cols % VECTOR == 0)
        launch<VECTOR>(gate_up, bias, row_scale, y, alpha, limit, rows, cols, stream);
    else
        launch<1>(gate_up, bias, row_scale, y, alpha, limit, rows, cols, stream);
}
