#include <cuda_runtime.h>
#include <stdint.h>

#define PARTS 64

/* A warp a part. */
__global__ void sum_parts(const float *x, double *parts, int64_t n)
{
    double sum = 0;
    for (int64_t i = blockIdx.x * 32 + threadIdx.x; i < n; i += PARTS * 32) sum += x[i];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void sum_all(const double *parts, double *s)
{
    double sum = parts[threadIdx.x] + parts[threadIdx.x + 32];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) *s = sum;
}

extern "C" void sum_oracle(const float *x, double *s, int64_t n, cudaStream_t stream)
{
    static double *parts;
    if (!parts) cudaMalloc(&parts, PARTS * sizeof *parts);
    sum_parts<<<PARTS, 32, 0, stream>>>(x, parts, n);
    sum_all<<<1, 32, 0, stream>>>(parts, s);
}
