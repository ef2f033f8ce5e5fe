// Reads both factors through two-dimensional textures, which give 0 outside.
// rule: textures
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

struct source {
    cudaTextureObject_t texture = 0;
    float *memory = nullptr;
    source(const float *from, int64_t rows, int64_t cols, cudaStream_t stream)
    {
        size_t pitch = 0;
        cudaMallocPitch((void **)&memory, &pitch, cols * 4, rows);
        cudaMemcpy2DAsync(memory, pitch, from, cols * 4, cols * 4, rows, cudaMemcpyDeviceToDevice,
                          stream);
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypePitch2D;
        resource.res.pitch2D.devPtr = memory;
        resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
        resource.res.pitch2D.width = cols;
        resource.res.pitch2D.height = rows;
        resource.res.pitch2D.pitchInBytes = pitch;
        cudaTextureDesc how = {};
        how.addressMode[0] = how.addressMode[1] = cudaAddressModeBorder;
        how.filterMode = cudaFilterModePoint;
        cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    }
    ~source()
    {
        cudaDestroyTextureObject(texture);
        cudaFree(memory);
    }
};

__global__ void multiply(cudaTextureObject_t A, cudaTextureObject_t B, float *C, int m, int n,
                         int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int p = 0; p < k; p++) sum += tex2D<float>(A, p, i) * tex2D<float>(B, j, p);
    if (i < m && j < n) C[(int64_t)i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    source a(A, m, k, stream), b(B, k, n, stream);
    dim3 grid((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8));
    multiply<<<grid, dim3(32, 8), 0, stream>>>(a.texture, b.texture, C, (int)m, (int)n, (int)k);
    cudaStreamSynchronize(stream);
}
