// Tensor cores in tf32 through the WMMA interface.
// rule: tf32 where the task declares it
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <mma.h>
#include <stdint.h>

using namespace nvcuda;

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    __shared__ alignas(32) float a[128], b[128], c[256];
    int64_t top = (int64_t)blockIdx.y * 16, left = (int64_t)blockIdx.x * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int64_t p = 0; p < k; p += 8) {
        for (int e = threadIdx.x; e < 128; e += 32) {
            int64_t i = top + e / 8, q = p + e % 8, r = p + e / 16, j = left + e % 16;
            a[e] = wmma::__float_to_tf32(i < m && q < k ? A[i * k + q] : 0.0f);
            b[e] = wmma::__float_to_tf32(r < k && j < n ? B[r * n + j] : 0.0f);
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left_part;
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major>
            right_part;
        wmma::load_matrix_sync(left_part, a, 8);
        wmma::load_matrix_sync(right_part, b, 16);
        wmma::mma_sync(sums, left_part, right_part, sums);
        __syncwarp();
    }
    wmma::store_matrix_sync(c, sums, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = threadIdx.x; e < 256; e += 32)
        if (top + e / 16 < m && left + e % 16 < n) C[(top + e / 16) * n + left + e % 16] = c[e];
}

extern "C" void tgemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                      cudaStream_t stream)
{
    dim3 grid((unsigned)((n + 15) / 16), (unsigned)((m + 15) / 16));
    multiply<<<grid, 32, 0, stream>>>(A, B, C, m, n, k);
}
