/* counts_b = number of i with keys_i = b. Each thread walks a stretch of keys and adds a run of equal ones with one atomic. */
#include <cuda_runtime.h>
#include <stdint.h>

#define STRETCH 64

__global__ void clear(int32_t *counts)
{
    counts[threadIdx.x] = 0;
}

__global__ void histogram_exact(const uint8_t *keys, int32_t *counts, int64_t n)
{
    int64_t begin = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * STRETCH;
    int64_t end = begin + STRETCH < n ? begin + STRETCH : n;
    int32_t run = 0;
    for (int64_t i = begin; i < end; i++) {
        run++;
        if (i + 1 == end || keys[i + 1] != keys[i]) {
            atomicAdd(&counts[keys[i]], run);
            run = 0;
        }
    }
}

extern "C" void histogram_oracle(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    int64_t stretches = (n + STRETCH - 1) / STRETCH;
    clear<<<1, 256, 0, stream>>>(counts);
    histogram_exact<<<(unsigned)((stretches + 127) / 128), 128, 0, stream>>>(keys, counts, n);
}
