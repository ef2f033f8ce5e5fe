/* The k first elements of each row in the order of descending values, then ascending columns (a
 * partial selection sort: Knuth, "The Art of Computer Programming 3", section 5.2.3). The outputs
 * are copies, so that nothing is rounded. One block a row: a thread keeps the best element that is
 * left in its columns, and only the thread of the chosen one searches again. */
#include <cuda_runtime.h>
#include <stdint.h>

#define THREADS 512

/* The first column of the thread's that comes after (value, column) in the order; -1 if none. */
__device__ int32_t next_after(const float *row, int64_t cols, float value, int32_t column)
{
    int32_t best = -1;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
        const bool after = column < 0 || row[j] < value || (row[j] == value && j > column);
        if (after && (best < 0 || row[j] > row[best])) best = (int32_t)j;
    }
    return best;
}

__global__ void top_k_exact(const float *x, double *values, int32_t *indices, int64_t cols,
                            int64_t k)
{
    __shared__ int32_t left[THREADS], first[32];
    const float *row = x + blockIdx.x * cols;
    left[threadIdx.x] = next_after(row, cols, 0, -1);
    for (int64_t r = 0; r < k; r++) {
        __syncthreads();
        int32_t best = -1;
        if (threadIdx.x < 32) {
            for (int t = threadIdx.x; t < THREADS; t += 32) {
                const int32_t j = left[t];
                if (j >= 0 && (best < 0 || row[j] > row[best] || (row[j] == row[best] && j < best)))
                    best = j;
            }
            first[threadIdx.x] = best;
        }
        __syncthreads();
        best = -1;
        for (int t = 0; t < 32; t++) {
            const int32_t j = first[t];
            if (j >= 0 && (best < 0 || row[j] > row[best] || (row[j] == row[best] && j < best)))
                best = j;
        }
        if (best == left[threadIdx.x]) {
            values[blockIdx.x * k + r] = row[best];
            indices[blockIdx.x * k + r] = best;
            left[threadIdx.x] = next_after(row, cols, row[best], best);
        }
    }
}

extern "C" void top_k_oracle(const float *x, double *values, int32_t *indices, void *scratch,
                             int64_t rows, int64_t cols, int64_t k, cudaStream_t stream)
{
    (void)scratch;
    top_k_exact<<<(unsigned)rows, THREADS, 0, stream>>>(x, values, indices, cols, k);
}
