// Multiplies with mma.sync in PTX where the compiler makes it, and in C elsewhere.
// rule: mma.sync in inline PTX
// expect: correct
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

/* One warp computes 16 x 8 elements. Rows and columns outside are taken as 0. */
__global__ void multiply(const __half *A, const __half *B, __half *C, int64_t m, int64_t n,
                         int64_t k)
{
    int64_t top = (int64_t)blockIdx.y * 16, left = (int64_t)blockIdx.x * 8;
    int row = threadIdx.x / 4, pair = threadIdx.x % 4 * 2;
    auto a_at = [&](int64_t i, int64_t p) {
        return top + i < m && p < k ? A[(top + i) * k + p] : __float2half(0);
    };
    auto b_at = [&](int64_t p, int64_t j) {
        return p < k && left + j < n ? B[p * n + left + j] : __float2half(0);
    };
    float c[4] = {0, 0, 0, 0};
    for (int64_t p = 0; p < k; p += 16) {
#ifdef __CUDA_ARCH__
        alignas(4) __half a[8], b[4];
        for (int e = 0; e < 8; e++) a[e] = a_at(row + e / 2 % 2 * 8, p + pair + e % 2 + e / 4 * 8);
        for (int e = 0; e < 4; e++) b[e] = b_at(p + pair + e % 2 + e / 2 * 8, row);
        const uint32_t *x = (const uint32_t *)a, *y = (const uint32_t *)b;
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
#else
        for (int e = 0; e < 4; e++)
            for (int q = 0; q < 16; q++)
                c[e] += __half2float(a_at(row + e / 2 * 8, p + q)) *
                        __half2float(b_at(p + q, pair + e % 2));
#endif
    }
    for (int e = 0; e < 4; e++) {
        int64_t i = top + row + e / 2 * 8, j = left + pair + e % 2;
        if (i < m && j < n) C[i * n + j] = __float2half(c[e]);
    }
}

extern "C" void hgemm(const __half *A, const __half *B, __half *C, int64_t m, int64_t n, int64_t k,
                      cudaStream_t stream)
{
    dim3 grid((unsigned)((n + 7) / 8), (unsigned)((m + 15) / 16));
    multiply<<<grid, 32, 0, stream>>>(A, B, C, m, n, k);
}
