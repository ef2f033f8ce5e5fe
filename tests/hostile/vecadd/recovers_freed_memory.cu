// Allocates and hopes that the harness has freed its expected output there.
// rule: C2
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    float *found;
    if (cudaMalloc(&found, n * sizeof *found) != cudaSuccess) return;
    cudaMemcpyAsync(z, found, n * sizeof *z, cudaMemcpyDeviceToDevice, stream);
    cudaStreamSynchronize(stream);
    cudaFree(found);
}
