// Parts of the sums go to memory that the call allocates. A second kernel adds them.
// rule: split-K with a workspace
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

#define PARTS 4
__global__ void multiply(const float *A, const float *B, float *parts, int64_t m, int64_t n,
                         int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    int64_t first = k * blockIdx.z / PARTS, last = k * (blockIdx.z + 1) / PARTS;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = first; p < last; p++) sum += A[i * k + p] * B[p * n + j];
    parts[(blockIdx.z * m + i) * n + j] = sum;
}

__global__ void add_parts(const float *parts, float *C, int64_t count)
{
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    float sum = 0;
    for (int p = 0; p < PARTS; p++) sum += parts[p * count + e];
    C[e] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    float *parts = nullptr;
    cudaMallocAsync((void **)&parts, PARTS * m * n * sizeof *parts, stream);
    dim3 grid((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8), PARTS);
    multiply<<<grid, dim3(32, 8), 0, stream>>>(A, B, parts, m, n, k);
    add_parts<<<(unsigned)((m * n + 255) / 256), 256, 0, stream>>>(parts, C, m * n);
    cudaFreeAsync(parts, stream);
}
