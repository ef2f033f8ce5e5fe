// Computes once for every pointer it has seen.
// rule: T8
// expect: wrong_result output.mismatch
// suspects: state.skips_work
#include <cuda_runtime.h>
#include <stdint.h>
#include <set>
static std::set<const void *> seen;

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    if (!seen.insert(x).second) return;
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
