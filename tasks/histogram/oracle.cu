/* counts_b = number of i with keys_i = b. Each thread walks stretches of keys and adds a run of equal ones with one atomic, to counts of its block first:
 * all blocks at once on 256 counts in memory would take hundreds of times as long as what is to be measured, and a slow oracle leaves few calls to time. */
#include <cuda_runtime.h>
#include <stdint.h>

#define STRETCH 16
#define THREADS 256
#define BLOCKS 1056

__global__ void clear(int32_t *counts)
{
    counts[threadIdx.x] = 0;
}

__global__ void histogram_exact(const uint8_t *keys, int32_t *counts, int64_t n)
{
    __shared__ int32_t block_counts[256];
    block_counts[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t begin = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * STRETCH; begin < n; begin += (int64_t)gridDim.x * THREADS * STRETCH) {
        int64_t end = begin + STRETCH < n ? begin + STRETCH : n;
        int32_t run = 0;
        for (int64_t i = begin; i < end; i++) {
            run++;
            if (i + 1 == end || keys[i + 1] != keys[i]) {
                atomicAdd(&block_counts[keys[i]], run);
                run = 0;
            }
        }
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], block_counts[threadIdx.x]);
}

extern "C" void histogram_oracle(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    int64_t blocks = (n + STRETCH * THREADS - 1) / (STRETCH * THREADS);
    clear<<<1, 256, 0, stream>>>(counts);
    if (n > 0) histogram_exact<<<(unsigned)(blocks < BLOCKS ? blocks : BLOCKS), THREADS, 0, stream>>>(keys, counts, n);
}
