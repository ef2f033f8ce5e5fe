/* The k largest of a row by one thread, which keeps them sorted in the outputs: LANES elements are
 * skipped at once if the largest of them is not above the last that is kept, which is nearly always
 * so behind the beginning of a row. Suits CPUs; a GPU needs more threads than rows. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune LANES 1 8 16 32 64
// kforge: tune THREADS 1 2 4 32
#ifndef LANES
#define LANES 32
#endif
#ifndef THREADS
#define THREADS 1
#endif

/* Keeps element v of column j, above the last one kept, behind those that are not below it. */
__device__ __forceinline__ void keep(float *values, int32_t *indices, int64_t k, float v, int64_t j)
{
    int64_t r = k - 1;
    for (; r > 0 && values[r - 1] < v; r--) {
        values[r] = values[r - 1];
        indices[r] = indices[r - 1];
    }
    values[r] = v;
    indices[r] = (int32_t)j;
}

__global__ void top_k_kernel(const float *__restrict__ x, float *__restrict__ values,
                             int32_t *__restrict__ indices, int64_t rows, int64_t cols, int64_t k)
{
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;
    const float *from = x + row * cols;
    float *to = values + row * k;
    int32_t *places = indices + row * k;
    for (int64_t r = 0; r < k; r++) to[r] = -INFINITY;
    int64_t j = 0;
    for (; j + LANES <= cols; j += LANES) {
        int above = 0;
        for (int l = 0; l < LANES; l++) above |= from[j + l] > to[k - 1];
        if (!above) continue;
        for (int l = 0; l < LANES; l++)
            if (from[j + l] > to[k - 1]) keep(to, places, k, from[j + l], j + l);
    }
    for (; j < cols; j++)
        if (from[j] > to[k - 1]) keep(to, places, k, from[j], j);
}

extern "C" void top_k(const float *x, float *values, int32_t *indices, void *scratch, int64_t rows,
                      int64_t cols, int64_t k, cudaStream_t stream)
{
    (void)scratch;
    top_k_kernel<<<(unsigned)((rows + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
        x, values, indices, rows, cols, k);
}
