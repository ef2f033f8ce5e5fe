// Adds the upper half to the lower half in a workspace, until one element is left.
// rule: tree sums to one number
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add_halves(const float *from, float *to, int64_t n, int64_t half)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < half) to[i] = from[i] + (i + half < n ? from[i + half] : 0);
}

extern "C" void sum(const float *x, float *s, int64_t n, cudaStream_t stream)
{
    static float *workspace;
    static int64_t capacity;
    if (n > capacity) {
        cudaFree(workspace);
        cudaMalloc(&workspace, (n + 1) / 2 * sizeof *workspace);
        capacity = n;
    }
    const float *from = x;
    do {
        int64_t half = (n + 1) / 2;
        float *to = half == 1 ? s : workspace;
        add_halves<<<(unsigned)((half + 255) / 256), 256, 0, stream>>>(from, to, n, half);
        from = to, n = half;
    } while (n > 1);
}
