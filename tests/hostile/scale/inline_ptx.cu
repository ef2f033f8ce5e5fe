// Not the candidate's fault: inline PTX needs a GPU.
// rule: none of the cheats, a kernel for another device
// expect: unsupported_device build.failed
// expect-cuda: correct
#include <cuda_runtime.h>
#include <stdint.h>
__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    float r;
    if (i >= n) return;
    asm("mul.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(x[i]));
    y[i] = r;
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
