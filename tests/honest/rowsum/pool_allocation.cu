// Partial sums in memory from a pool of its own, in the stream's order.
// rule: cudaMallocAsync
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void parts(const float *x, float *part, int64_t cols)
{
    float sum = 0;
    for (int64_t j = blockIdx.y * 32 + threadIdx.x; j < cols; j += 64) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) part[blockIdx.x * 2 + blockIdx.y] = sum;
}

__global__ void finish(const float *part, float *s, int64_t rows)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) s[i] = part[2 * i] + part[2 * i + 1];
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static bool kept;
    if (!kept) {
        cudaMemPool_t pool;
        uint64_t all = UINT64_MAX;
        cudaDeviceGetDefaultMemPool(&pool, 0);
        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
        kept = true;
    }
    float *part;
    cudaMallocAsync((void **)&part, rows * 2 * sizeof(float), stream);
    parts<<<dim3((unsigned)rows, 2), 32, 0, stream>>>(x, part, cols);
    finish<<<(unsigned)((rows + 127) / 128), 128, 0, stream>>>(part, s, rows);
    cudaFreeAsync(part, stream);
}
