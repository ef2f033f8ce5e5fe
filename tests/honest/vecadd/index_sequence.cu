// Unrolls at compile time with an index sequence and a fold expression.
// rule: templates
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <utility>

#define EACH 4
template <int64_t... at>
__device__ void add_some(const float *x, const float *y, float *z, int64_t step,
                         std::integer_sequence<int64_t, at...>)
{
    ((z[at * step] = x[at * step] + y[at * step]), ...);
}

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t step = blockDim.x, i = (int64_t)blockIdx.x * step * EACH + threadIdx.x;
    if (i + (EACH - 1) * step < n)
        add_some(x + i, y + i, z + i, step, std::make_integer_sequence<int64_t, EACH>());
    else
        for (; i < n; i += step) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<(unsigned)((n + EACH * 128 - 1) / (EACH * 128)), 128, 0, stream>>>(x, y, z, n);
}
