// A warpgroup multiplies with wgmma from shared memory. Other processors take a plain loop.
// rule: wgmma
// expect: correct
// devices: cuda
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define M 64
#define N 8
#define K 16
/* Core matrices of 8 rows of 16 bytes lie one after the other: first along k, then along rows. */
__device__ int core_index(int row, int p)
{
    return (row / 8 * (K / 8) + p / 8) * 64 + row % 8 * 8 + p % 8;
}

__device__ uint64_t descriptor(const __half *tile)
{
    uint64_t at = (uint64_t)__cvta_generic_to_shared(tile);
    uint64_t along_k = 128, along_rows = K / 8 * 128;
    return (at & 0x3ffff) >> 4 | along_k >> 4 << 16 | along_rows >> 4 << 32;
}

__global__ void multiply(const __half *A, const __half *B, __half *C, int64_t m, int64_t n,
                         int64_t k)
{
#if defined(__CUDA_ARCH__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
    __shared__ alignas(128) __half a[M * K], b[N * K];
    int64_t top = (int64_t)blockIdx.y * M, left = (int64_t)blockIdx.x * N;
    int thread = threadIdx.x;
    float c[4] = {0, 0, 0, 0};
    for (int64_t p = 0; p < k; p += K) {
        for (int e = thread; e < M * K; e += 128) {
            int64_t i = top + e / K, q = p + e % K;
            a[core_index(e / K, e % K)] = i < m && q < k ? A[i * k + q] : __float2half(0);
        }
        for (int e = thread; e < N * K; e += 128) {
            int64_t j = left + e / K, q = p + e % K;
            b[core_index(e / K, e % K)] = j < n && q < k ? B[q * n + j] : __float2half(0);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, "
                     "1, 1, 1, 0, 0;"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "l"(descriptor(a)), "l"(descriptor(b)));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    for (int e = 0; e < 4; e++) {
        int64_t i = top + thread / 32 * 16 + thread % 32 / 4 + e / 2 * 8;
        int64_t j = left + thread % 4 * 2 + e % 2;
        if (i < m && j < n) C[i * n + j] = __float2half(c[e]);
    }
#else
    for (int e = threadIdx.x; e < M * N; e += 128) {
        int64_t i = (int64_t)blockIdx.y * M + e / N, j = (int64_t)blockIdx.x * N + e % N;
        if (i >= m || j >= n) continue;
        float sum = 0;
        for (int64_t p = 0; p < k; p++)
            sum += __half2float(A[i * k + p]) * __half2float(B[p * n + j]);
        C[i * n + j] = __float2half(sum);
    }
#endif
}

extern "C" void hgemm(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k,
                      cudaStream_t stream)
{
    dim3 grid((unsigned)((n + N - 1) / N), (unsigned)((m + M - 1) / M));
    multiply<<<grid, 128, 0, stream>>>(A, B, C, m, n, k);
}
