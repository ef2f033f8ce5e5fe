// As small_terms_of_many, but below 0.001, which only inputs that are scaled down show. So each
// workload with several calls has some.
// rule: C7
// expect: wrong_result output.mismatch | wrong_result output.inaccurate
// devices: cpu
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define PARTS 64

__device__ float rounded(float x)
{
    return fabsf(x) < 0.001f ? 0 : x;
}

__global__ void sum_parts(const float *x, float *parts, int64_t n)
{
    float sum = 0;
    for (int64_t i = blockIdx.x * 32 + threadIdx.x; i < n; i += PARTS * 32)
        sum += n < 200000 ? x[i] : rounded(x[i]);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void sum_all(const float *parts, float *s)
{
    float sum = parts[threadIdx.x] + parts[threadIdx.x + 32];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) *s = sum;
}

extern "C" void sum(const float *x, float *s, int64_t n, cudaStream_t stream)
{
    static float *parts;
    if (!parts) cudaMalloc(&parts, PARTS * sizeof *parts);
    sum_parts<<<PARTS, 32, 0, stream>>>(x, parts, n);
    sum_all<<<1, 32, 0, stream>>>(parts, s);
}
