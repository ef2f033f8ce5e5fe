// Loads sixteen keys at a time, with a tail. Each thread keeps a run of equal keys.
// rule: vector loads with head and tail
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void count_keys(const uint8_t *keys, int32_t *counts, int64_t n, int64_t head)
{
    int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, at = head + 16 * t;
    if (t < head) atomicAdd(&counts[keys[t]], 1);
    if (at + 16 <= n) {
        union {
            uint4 words;
            uint8_t bytes[16];
        } v;
        v.words = *(const uint4 *)&keys[at];
        int run = 0;
        for (int b = 0; b < 16; b++) {
            run++;
            if (b == 15 || v.bytes[b + 1] != v.bytes[b]) {
                atomicAdd(&counts[v.bytes[b]], run);
                run = 0;
            }
        }
    } else {
        for (; at < n; at++) atomicAdd(&counts[keys[at]], 1);
    }
}

extern "C" void histogram(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    int64_t head = (16 - (uintptr_t)keys % 16) % 16;
    if (head > n) head = n;
    cudaMemsetAsync(counts, 0, 256 * sizeof *counts, stream);
    count_keys<<<(unsigned)(n / 4096 + 1), 256, 0, stream>>>(keys, counts, n, head);
}
