// Reads the input through a texture object over linear memory, made in each call. A texture begins
// at a multiple of 512 bytes.
// rule: textures
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(cudaTextureObject_t x, int first, float *y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * tex1Dfetch<float>(x, first + i);
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    cudaResourceDesc memory = {};
    memory.resType = cudaResourceTypeLinear;
    uintptr_t begin = (uintptr_t)x / 512 * 512;
    int first = (int)(((uintptr_t)x - begin) / sizeof(float));
    memory.res.linear.devPtr = (void *)begin;
    memory.res.linear.desc = cudaCreateChannelDesc<float>();
    memory.res.linear.sizeInBytes = (first + n) * sizeof(float);
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture = 0;
    cudaCreateTextureObject(&texture, &memory, &how, nullptr);
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(texture, first, y, a, (int)n);
    cudaStreamSynchronize(stream);
    cudaDestroyTextureObject(texture);
}
