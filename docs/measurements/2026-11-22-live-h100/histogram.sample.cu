// histogram: candidate c9 of run 1rx2np4k9x, 2.120 times as fast as the baseline (95 % interval 1.546 to 3.158, measured again in fresh processes) on NVIDIA H100 80GB HBM3
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BLOCK_SIZE 256 512 1024
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 512
#endif
// kforge: tune BLOCKS_PER_SM 1 2 4
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 4
#endif
// kforge: tune ITEMS 1 2 4
#ifndef ITEMS
#define ITEMS 4
#endif
// kforge: tune COPIES 8 16 32
#ifndef COPIES
#define COPIES 32
#endif
// kforge: require BLOCK_SIZE * BLOCKS_PER_SM <= 2048

__device__ __forceinline__ void count_word(int *mine, uint32_t w)
{
    atomicAdd(mine + (w & 255u) * COPIES, 1);
    atomicAdd(mine + ((w >> 8) & 255u) * COPIES, 1);
    atomicAdd(mine + ((w >> 16) & 255u) * COPIES, 1);
    atomicAdd(mine + (w >> 24) * COPIES, 1);
}

__device__ __forceinline__ void count_vector(int *mine, uint4 v)
{
    count_word(mine, v.x);
    count_word(mine, v.y);
    count_word(mine, v.z);
    count_word(mine, v.w);
}

__global__ void __launch_bounds__(BLOCK_SIZE)
histogram_kernel(const uint8_t *__restrict__ keys, int32_t *counts, int64_t n, int64_t head, int64_t vectors)
{
    __shared__ int local[256 * COPIES];
    for (int i = threadIdx.x; i < 256 * COPIES; i += BLOCK_SIZE) local[i] = 0;
    __syncthreads();

    int *mine = local + threadIdx.x % COPIES;
    const uint4 *from = (const uint4 *)(keys + head);
    const int64_t step = (int64_t)gridDim.x * BLOCK_SIZE * ITEMS;
    int64_t base = (int64_t)blockIdx.x * BLOCK_SIZE * ITEMS;
    for (; base + BLOCK_SIZE * ITEMS <= vectors; base += step) {
        uint4 v[ITEMS];
#pragma unroll
        for (int u = 0; u < ITEMS; u++) v[u] = __ldcs(from + base + u * BLOCK_SIZE + threadIdx.x);
#pragma unroll
        for (int u = 0; u < ITEMS; u++) count_vector(mine, v[u]);
    }
    if (base < vectors)
        for (int64_t i = base + threadIdx.x; i < vectors; i += BLOCK_SIZE) count_vector(mine, from[i]);

    if (blockIdx.x == 0) {
        for (int64_t i = threadIdx.x; i < head; i += BLOCK_SIZE) atomicAdd(mine + keys[i] * COPIES, 1);
        for (int64_t i = head + vectors * 16 + threadIdx.x; i < n; i += BLOCK_SIZE) atomicAdd(mine + keys[i] * COPIES, 1);
    }
    __syncthreads();

    for (int bin = threadIdx.x; bin < 256; bin += BLOCK_SIZE) {
        int sum = 0;
#pragma unroll
        for (int c = 0; c < COPIES; c++) sum += local[bin * COPIES + (c + bin) % COPIES];
        if (sum) atomicAdd(&counts[bin], sum);
    }
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    if (n <= 0) return;
    int device = 0, sms = 132;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    int64_t head = (int64_t)((16 - ((uintptr_t)keys & 15)) & 15);
    if (head > n) head = n;
    int64_t vectors = (n - head) / 16;
    int64_t needed = (vectors + (int64_t)BLOCK_SIZE * ITEMS - 1) / ((int64_t)BLOCK_SIZE * ITEMS);
    int64_t blocks = (int64_t)sms * BLOCKS_PER_SM;
    if (blocks > needed) blocks = needed;
    if (blocks < 1) blocks = 1;
    histogram_kernel<<<(unsigned)blocks, BLOCK_SIZE, 0, stream>>>(keys, counts, n, head, vectors);
}
