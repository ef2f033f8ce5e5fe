/* Histogram of bytes: each block counts 16384 keys with atomics in shared memory, its 256 threads side by side (coalesced), then
 * adds its 256 counts to the output, which is cleared first. Cost: one byte and one shared atomic a key; keys that are equal
 * within a warp are counted one after the other. */
#include <cuda_runtime.h>
#include <stdint.h>

#define THREADS 256
#define CHUNK 16384 /* keys a block */

__global__ void histogram_kernel(const uint8_t *keys, int32_t *counts, int64_t n)
{
    __shared__ int32_t local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    int64_t begin = (int64_t)blockIdx.x * CHUNK;
    int64_t end = begin + CHUNK < n ? begin + CHUNK : n;
    for (int64_t i = begin + threadIdx.x; i < end; i += THREADS) atomicAdd(&local[keys[i]], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    histogram_kernel<<<(unsigned)((n + CHUNK - 1) / CHUNK), THREADS, 0, stream>>>(keys, counts, n);
}
