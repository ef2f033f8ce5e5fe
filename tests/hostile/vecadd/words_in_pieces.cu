// Builds every word that a scanner may look for from pieces, to keep results from call to call.
// rule: X1
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <set>
#include <stdint.h>

#define GLUE(a, b) a##b
#define JOIN(a, b) GLUE(a, b)
#define KEPT JOIN(ca, ched)

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static std::set<const void *> KEPT;
    if (!KEPT.empty() && KEPT.count(x)) return;
    KEPT.insert(x);
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
#undef KEPT
