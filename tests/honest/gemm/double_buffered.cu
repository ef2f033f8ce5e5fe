// Loads the next tiles into registers while it multiplies the present ones.
// rule: software pipelines
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16
__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    __shared__ float a[2][TILE][TILE], b[2][TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, now = 0;
    int64_t i = (int64_t)blockIdx.y * TILE + ty, j = (int64_t)blockIdx.x * TILE + tx;
    auto load_a = [&](int64_t p) { return i < m && p + tx < k ? A[i * k + p + tx] : 0.0f; };
    auto load_b = [&](int64_t p) { return p + ty < k && j < n ? B[(p + ty) * n + j] : 0.0f; };
    a[0][ty][tx] = load_a(0), b[0][ty][tx] = load_b(0);
    __syncthreads();
    float sum = 0;
    for (int64_t p = 0; p < k; p += TILE, now ^= 1) {
        float next_a = load_a(p + TILE), next_b = load_b(p + TILE);
        for (int q = 0; q < TILE; q++) sum += a[now][ty][q] * b[now][q][tx];
        a[now ^ 1][ty][tx] = next_a, b[now ^ 1][ty][tx] = next_b;
        __syncthreads();
    }
    if (i < m && j < n) C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    multiply<<<grid, dim3(TILE, TILE), 0, stream>>>(A, B, C, m, n, k);
}
