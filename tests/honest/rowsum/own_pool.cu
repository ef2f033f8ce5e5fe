// Makes a memory pool of its own, which keeps nothing, and allocates from it in each call.
// rule: own memory pools
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void parts(const float *x, float *part, int64_t cols)
{
    float sum = 0;
    for (int64_t j = blockIdx.y * 32 + threadIdx.x; j < cols; j += 64)
        sum += x[blockIdx.x * cols + j];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) part[2 * blockIdx.x + blockIdx.y] = sum;
}

__global__ void finish(const float *part, float *s, int64_t rows)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) s[i] = part[2 * i] + part[2 * i + 1];
}

static cudaMemPool_t make_pool()
{
    cudaMemPoolProps how = {};
    how.allocType = cudaMemAllocationTypePinned;
    how.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    cudaMemPoolCreate(&pool, &how);
    return pool;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static cudaMemPool_t pool = make_pool();
    float *part = nullptr;
    cudaMallocFromPoolAsync((void **)&part, 2 * rows * sizeof *part, pool, stream);
    parts<<<dim3((unsigned)rows, 2), 32, 0, stream>>>(x, part, cols);
    finish<<<(unsigned)((rows + 127) / 128), 128, 0, stream>>>(part, s, rows);
    cudaFreeAsync(part, stream);
}
