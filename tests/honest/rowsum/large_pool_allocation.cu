// Allocates 32 MiB from the device's pool in each call, and frees them in the stream's order.
// rule: cudaMallocAsync in each call
// expect: correct
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void parts(const float *x, float *part, int64_t cols)
{
    float sum = 0;
    for (int64_t j = blockIdx.y * 32 + threadIdx.x; j < cols; j += 128)
        sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) part[blockIdx.x * 4 + blockIdx.y] = sum;
}

__global__ void add(const float *part, float *s, int64_t rows)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) s[i] = (part[4 * i] + part[4 * i + 1]) + (part[4 * i + 2] + part[4 * i + 3]);
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    float *part;
    if (cudaMallocAsync((void **)&part, 32 << 20, stream) != cudaSuccess) return;
    parts<<<dim3((unsigned)rows, 4), 32, 0, stream>>>(x, part, cols);
    add<<<(unsigned)((rows + 127) / 128), 128, 0, stream>>>(part, s, rows);
    cudaFreeAsync(part, stream);
}
