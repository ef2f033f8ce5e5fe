// Adds neighbours in a tree: pairs, pairs of pairs, and so on, in shared memory and then again.
// rule: tree sums to one number
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

#define WIDTH 512
__global__ void add_neighbours(const float *from, float *to, int64_t n)
{
    __shared__ float values[WIDTH];
    int64_t i = (int64_t)blockIdx.x * WIDTH + threadIdx.x;
    values[threadIdx.x] = i < n ? from[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < WIDTH; distance *= 2) {
        if (threadIdx.x % (2 * distance) == 0)
            values[threadIdx.x] += values[threadIdx.x + distance];
        __syncthreads();
    }
    if (threadIdx.x == 0) to[blockIdx.x] = values[0];
}

extern "C" void sum(const float *x, float *s, int64_t n, cudaStream_t stream)
{
    int64_t most = (n + WIDTH - 1) / WIDTH;
    float *parts = nullptr;
    cudaMallocAsync((void **)&parts, 2 * most * sizeof *parts, stream);
    int turn = 0;
    do {
        int64_t blocks = (n + WIDTH - 1) / WIDTH;
        float *to = blocks == 1 ? s : parts + turn * most;
        add_neighbours<<<(unsigned)blocks, WIDTH, 0, stream>>>(x, to, n);
        x = to, n = blocks, turn ^= 1;
    } while (n > 1);
    cudaFreeAsync(parts, stream);
}
