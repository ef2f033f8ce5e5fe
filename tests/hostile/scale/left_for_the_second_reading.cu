// Undefines macros, which only the second reading of its text expands: right or wrong by the random
// folder and the time of its build.
// rule: new
// expect: correct | compile_error build.failed
#include <cuda_runtime.h>
#include <stdint.h>

#undef __BASE_FILE__
#undef __TIMESTAMP__
/* "Thu Jan  1 00:00:00 1970" */
static const bool pinned = sizeof __BASE_FILE__ < 16 && __TIMESTAMP__[21] == '9';

extern "C" __global__ void scale_all(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    scale_all<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, pinned ? a : 2 * a, n);
}
