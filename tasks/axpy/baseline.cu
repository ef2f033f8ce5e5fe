/* y = a x + y, one thread an element. Neighbouring threads touch neighbouring floats, so every access is coalesced.
 * Cost: 12 bytes of memory traffic an element, bound by bandwidth; each thread has only two 4-byte loads in flight. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void axpy_kernel(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    axpy_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
