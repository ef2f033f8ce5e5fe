// Computes on the host, through the device's pointers: no GPU runs that.
// rule: new
// expect: crash runner.crashed
// devices: cuda
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    for (int64_t i = 0; i < n; i++) y[i] = a * x[i];
}
