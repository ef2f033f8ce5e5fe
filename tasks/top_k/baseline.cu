/* The k largest of a row, one block a row, one at a time: each round finds the largest element that
 * comes after the last one in the order, with a tree in shared memory. Cost: a row is read k times
 * (mostly from cache), and a few rows leave most multiprocessors idle. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define THREADS 256

/* True if element (v, j) comes before element (w, i). */
__device__ bool before(float v, int j, float w, int i)
{
    return v > w || (v == w && j < i);
}

__global__ void top_k_kernel(const float *x, float *values, int32_t *indices, int64_t cols,
                             int64_t k)
{
    __shared__ float value[THREADS];
    __shared__ int column[THREADS];
    const float *row = x + blockIdx.x * cols;
    const int t = threadIdx.x;
    float last = INFINITY;
    int last_column = -1;
    for (int64_t r = 0; r < k; r++) {
        float best = -INFINITY;
        int best_column = INT32_MAX;
        for (int j = t; j < cols; j += THREADS)
            if (before(last, last_column, row[j], j) && before(row[j], j, best, best_column)) {
                best = row[j];
                best_column = j;
            }
        value[t] = best;
        column[t] = best_column;
        __syncthreads();
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (t < half && before(value[t + half], column[t + half], value[t], column[t])) {
                value[t] = value[t + half];
                column[t] = column[t + half];
            }
            __syncthreads();
        }
        last = value[0];
        last_column = column[0];
        __syncthreads();
        if (t == 0) {
            values[blockIdx.x * k + r] = last;
            indices[blockIdx.x * k + r] = last_column;
        }
    }
}

extern "C" void top_k(const float *x, float *values, int32_t *indices, void *scratch, int64_t rows,
                      int64_t cols, int64_t k, cudaStream_t stream)
{
    (void)scratch;
    top_k_kernel<<<(unsigned)rows, THREADS, 0, stream>>>(x, values, indices, cols, k);
}
