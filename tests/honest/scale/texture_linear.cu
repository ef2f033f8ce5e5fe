// Reads the input through a texture object over linear memory, made in each call.
// rule: textures
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(cudaTextureObject_t x, float *y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * tex1Dfetch<float>(x, i);
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    cudaResourceDesc memory = {};
    memory.resType = cudaResourceTypeLinear;
    memory.res.linear.devPtr = (void *)x;
    memory.res.linear.desc = cudaCreateChannelDesc<float>();
    memory.res.linear.sizeInBytes = n * sizeof(float);
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture = 0;
    cudaCreateTextureObject(&texture, &memory, &how, nullptr);
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(texture, y, a, (int)n);
    cudaStreamSynchronize(stream);
    cudaDestroyTextureObject(texture);
}
