/* y = max(x, 0), four elements a thread. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void relu_kernel(const float *x, float *y, int64_t n)
{
    int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 4 <= n) {
        float4 v = *(const float4 *)(x + i);
        *(float4 *)(y + i) = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
        return;
    }
    for (; i < n; i++) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void relu(const float *x, float *y, int64_t n, cudaStream_t stream)
{
    relu_kernel<<<(unsigned)((n + 1023) / 1024), 256, 0, stream>>>(x, y, n);
}
