// One thread adds 2^18 elements in f32, one after the other.
// rule: naive sequential sums
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add_up(const float *x, float *s, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    *s = sum;
}

extern "C" void sum(const float *x, float *s, int64_t n, cudaStream_t stream)
{
    add_up<<<1, 1, 0, stream>>>(x, s, n);
}
