// A device function reads a table in the host's memory.
// rule: new
// expect: compile_error build.failed
// says-cpu: factor_of uses "factors", which is a variable of the host
#include <cuda_runtime.h>
#include <stdint.h>

namespace
{
static float factors[256];

__device__ float factor_of(unsigned i) { return factors[i]; }
} // namespace

__global__ void scale_all(const float *x, float *y, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = factor_of(threadIdx.x) * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    for (float &factor : factors) factor = a;
    scale_all<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}
