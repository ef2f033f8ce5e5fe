// Tensor cores through the WMMA interface, with tiles padded in shared memory.
// rule: f32 accumulators of f16 products
// expect: correct
// devices: cuda
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdint.h>

using namespace nvcuda;

__global__ void multiply(const __half *A, const __half *B, __half *C, int64_t m, int64_t n,
                         int64_t k)
{
    __shared__ alignas(32) __half a[256], b[256];
    __shared__ alignas(32) float c[256];
    int64_t top = (int64_t)blockIdx.y * 16, left = (int64_t)blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int64_t p = 0; p < k; p += 16) {
        for (int e = threadIdx.x; e < 256; e += 32) {
            int64_t r = e / 16, q = e % 16;
            a[e] = top + r < m && p + q < k ? A[(top + r) * k + p + q] : __float2half(0);
            b[e] = p + r < k && left + q < n ? B[(p + r) * n + left + q] : __float2half(0);
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left_part;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right_part;
        wmma::load_matrix_sync(left_part, a, 16);
        wmma::load_matrix_sync(right_part, b, 16);
        wmma::mma_sync(sums, left_part, right_part, sums);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, sums, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = threadIdx.x; e < 256; e += 32)
        if (top + e / 16 < m && left + e % 16 < n)
            C[(top + e / 16) * n + left + e % 16] = __float2half(c[e]);
}

extern "C" void hgemm(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k,
                      cudaStream_t stream)
{
    dim3 grid((unsigned)((n + 15) / 16), (unsigned)((m + 15) / 16));
    multiply<<<grid, 32, 0, stream>>>(A, B, C, m, n, k);
}
