// Doubles the distance in each of log2(n) kernels, between two buffers.
// rule: another algorithm
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void step(const int32_t *from, int32_t *to, int64_t n, int64_t distance)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i] + (i >= distance ? from[i - distance] : 0);
}

extern "C" void scan(const int32_t *x, int32_t *y, int64_t n, cudaStream_t stream)
{
    static int32_t *buffer;
    static int64_t capacity;
    if (n > capacity) {
        cudaFree(buffer);
        cudaMalloc(&buffer, n * sizeof *buffer);
        capacity = n;
    }
    int steps = 1;
    while ((int64_t)1 << steps < n) steps++;
    for (int s = 0; s < steps; s++) {
        bool into_y = (steps - s) % 2 == 1;
        const int32_t *from = s == 0 ? x : into_y ? buffer : y;
        step<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(from, into_y ? y : buffer, n,
                                                              (int64_t)1 << s);
    }
}
