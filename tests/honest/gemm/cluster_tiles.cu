// Two blocks of a cluster load one tile of B between them and read the other's half remotely.
// rule: clusters with distributed shared memory
// expect: correct
// devices: cuda
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <stdint.h>

namespace cg = cooperative_groups;
#define TILE 16
__global__ void __cluster_dims__(1, 2, 1)
    multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    __shared__ float a[TILE][TILE], half[TILE / 2][TILE];
    cg::cluster_group cluster = cg::this_cluster();
    int tx = threadIdx.x, ty = threadIdx.y, rank = (int)cluster.block_rank();
    int64_t i = (int64_t)blockIdx.y * TILE + ty, j = (int64_t)blockIdx.x * TILE + tx;
    const float *low = cluster.map_shared_rank(&half[0][0], 0);
    const float *high = cluster.map_shared_rank(&half[0][0], 1);
    float sum = 0;
    for (int64_t p = 0; p < k; p += TILE) {
        a[ty][tx] = i < m && p + tx < k ? A[i * k + p + tx] : 0;
        if (ty < TILE / 2) {
            int64_t q = p + rank * TILE / 2 + ty;
            half[ty][tx] = q < k && j < n ? B[q * n + j] : 0;
        }
        cluster.sync();
        for (int q = 0; q < TILE / 2; q++)
            sum += a[ty][q] * low[q * TILE + tx] + a[ty][TILE / 2 + q] * high[q * TILE + tx];
        cluster.sync();
    }
    if (i < m && j < n) C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    unsigned down = (unsigned)((m + TILE - 1) / TILE);
    dim3 grid((unsigned)((n + TILE - 1) / TILE), (down + 1) / 2 * 2);
    multiply<<<grid, dim3(TILE, TILE), 0, stream>>>(A, B, C, m, n, k);
}
