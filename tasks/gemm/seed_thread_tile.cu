/* C = A B without shared memory or barriers: each thread computes a tile of ROWS x COLUMNS elements of C straight from global
 * memory, STEPS products deep at a time. The inner loops run over consecutive columns, which a CPU's compiler turns into SIMD
 * FMAs; on a GPU small tiles let the first-level cache do what shared memory does elsewhere. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune ROWS 1 2 4 8
// kforge: tune COLUMNS 1 4 16 32 64 128
// kforge: tune STEPS 1 2 4 8
// kforge: tune THREADS_X 1 2 4 32
// kforge: tune THREADS_Y 1 4 8
// kforge: require ROWS * COLUMNS <= 512
// kforge: require STEPS * ROWS <= 32
#ifndef ROWS
#define ROWS 4
#endif
#ifndef COLUMNS
#define COLUMNS 32
#endif
#ifndef STEPS
#define STEPS 4
#endif
#ifndef THREADS_X
#define THREADS_X 1
#endif
#ifndef THREADS_Y
#define THREADS_Y 4
#endif

/* sum[r][c] += products p … p + STEPS - 1 */
__device__ __forceinline__ void add_products(float sum[ROWS][COLUMNS], const float *__restrict__ a, const float *__restrict__ b,
                                             int64_t k, int64_t n)
{
    for (int r = 0; r < ROWS; r++) {
        float factor[STEPS];
#pragma unroll
        for (int s = 0; s < STEPS; s++) factor[s] = a[r * k + s];
        for (int c = 0; c < COLUMNS; c++) {
            float total = sum[r][c];
#pragma unroll
            for (int s = 0; s < STEPS; s++) total = fmaf(factor[s], b[s * n + c], total);
            sum[r][c] = total;
        }
    }
}

__global__ void gemm_kernel(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int64_t m, int64_t n,
                            int64_t k)
{
    int64_t i = ((int64_t)blockIdx.y * THREADS_Y + threadIdx.y) * ROWS,
            j = ((int64_t)blockIdx.x * THREADS_X + threadIdx.x) * COLUMNS;
    if (i >= m || j >= n) return;
    if (i + ROWS > m || j + COLUMNS > n) { /* the rim of C, where the tile does not fit */
        for (int64_t r = i; r < i + ROWS && r < m; r++) {
            int64_t width = n - j < COLUMNS ? n - j : COLUMNS;
            float sum[COLUMNS];
            for (int c = 0; c < width; c++) sum[c] = 0.0f;
            for (int64_t p = 0; p < k; p++)
                for (int c = 0; c < width; c++) sum[c] = fmaf(A[r * k + p], B[p * n + j + c], sum[c]);
            for (int c = 0; c < width; c++) C[r * n + j + c] = sum[c];
        }
        return;
    }
    float sum[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) sum[r][c] = 0.0f;
    int64_t p = 0;
    for (; p + STEPS <= k; p += STEPS) add_products(sum, A + i * k + p, B + p * n + j, k, n);
    for (; p < k; p++)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++) sum[r][c] = fmaf(A[(i + r) * k + p], B[p * n + j + c], sum[r][c]);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) C[(i + r) * n + j + c] = sum[r][c];
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    const int width = THREADS_X * COLUMNS, height = THREADS_Y * ROWS;
    dim3 grid((unsigned)((n + width - 1) / width), (unsigned)((m + height - 1) / height));
    gemm_kernel<<<grid, dim3(THREADS_X, THREADS_Y), 0, stream>>>(A, B, C, m, n, k);
}
