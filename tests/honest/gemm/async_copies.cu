// Copies tiles to shared memory asynchronously, two stages ahead.
// rule: cp.async pipelines
// expect: correct
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16
#define STAGES 3
__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    __shared__ float a[STAGES][TILE][TILE], b[STAGES][TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int64_t i = (int64_t)blockIdx.y * TILE + ty, j = (int64_t)blockIdx.x * TILE + tx;
    int64_t steps = (k + TILE - 1) / TILE;
    auto load = [&](int64_t step) {
        int64_t p = step * TILE;
        int stage = (int)(step % STAGES);
        bool has_a = i < m && p + tx < k, has_b = p + ty < k && j < n;
        if (step < steps) {
            __pipeline_memcpy_async(&a[stage][ty][tx], has_a ? &A[i * k + p + tx] : A, 4,
                                    has_a ? 0 : 4);
            __pipeline_memcpy_async(&b[stage][ty][tx], has_b ? &B[(p + ty) * n + j] : B, 4,
                                    has_b ? 0 : 4);
        }
        __pipeline_commit();
    };
    for (int step = 0; step < STAGES - 1; step++) load(step);
    float sum = 0;
    for (int64_t step = 0; step < steps; step++) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        load(step + STAGES - 1);
        for (int q = 0; q < TILE; q++) sum += a[step % STAGES][ty][q] * b[step % STAGES][q][tx];
    }
    if (i < m && j < n) C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    multiply<<<grid, dim3(TILE, TILE), 0, stream>>>(A, B, C, m, n, k);
}
