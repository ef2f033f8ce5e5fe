// Loads tiles by tensor maps, which each call encodes. Shapes that maps refuse take plain loads.
// rule: tensor maps
// expect: correct
// devices: cuda
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define TILE 16
__device__ void load_tile(float *to, const CUtensorMap *map, int x, int y, unsigned barrier)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(at),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

__global__ void multiply_maps(const __grid_constant__ CUtensorMap A,
                              const __grid_constant__ CUtensorMap B, float *C, int64_t m, int64_t n,
                              int64_t k)
{
    __shared__ alignas(128) float a[TILE][TILE], b[TILE][TILE];
    __shared__ alignas(8) uint64_t barrier;
    unsigned at = (unsigned)__cvta_generic_to_shared(&barrier), phase = 0;
    int tx = threadIdx.x, ty = threadIdx.y, top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    bool first = tx == 0 && ty == 0;
    if (first) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    float sum = 0;
    for (int p = 0; p < k; p += TILE, phase ^= 1) {
        if (first) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at),
                         "r"(2 * TILE * TILE * 4)
                         : "memory");
            load_tile(&a[0][0], &A, p, top, at);
            load_tile(&b[0][0], &B, left, p, at);
        }
        for (unsigned done = 0; !done;)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                         " selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(at), "r"(phase)
                         : "memory");
        for (int q = 0; q < TILE; q++) sum += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    if (top + ty < m && left + tx < n) C[(top + ty) * n + left + tx] = sum;
}

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t i = (int64_t)blockIdx.y * TILE + threadIdx.y,
            j = (int64_t)blockIdx.x * TILE + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}

static bool encode(CUtensorMap *map, const float *matrix, int64_t rows, int64_t cols)
{
    static void *found;
    cudaDriverEntryPointQueryResult status;
    if (!found)
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, CUDA_VERSION,
                                         cudaEnableDefault, &status);
    auto encode_tiled = (decltype(cuTensorMapEncodeTiled) *)found;
    cuuint64_t sizes[] = {(cuuint64_t)cols, (cuuint64_t)rows}, pitch[] = {(cuuint64_t)cols * 4};
    cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
    return encode_tiled && cols % 4 == 0 &&
           encode_tiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)matrix, sizes, pitch, box,
                        steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                        CU_TENSOR_MAP_L2_PROMOTION_NONE,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    CUtensorMap a, b;
    dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    if (encode(&a, A, m, k) && encode(&b, B, k, n))
        multiply_maps<<<grid, dim3(TILE, TILE), 0, stream>>>(a, b, C, m, n, k);
    else
        multiply<<<grid, dim3(TILE, TILE), 0, stream>>>(A, B, C, m, n, k);
}
