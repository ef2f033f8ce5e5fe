// Multiplies in tf32 with mma.sync in PTX where the compiler makes it, and in C elsewhere.
// rule: mma.sync in inline PTX
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__device__ uint32_t as_tf32(float v)
{
    return (__float_as_uint(v) + 0x1000u) & 0xffffe000u;
}

/* One warp computes 16 x 8 elements. Rows and columns outside are taken as 0. */
__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t top = (int64_t)blockIdx.y * 16, left = (int64_t)blockIdx.x * 8;
    int row = threadIdx.x / 4, column = threadIdx.x % 4;
    auto a_at = [&](int64_t i, int64_t p) {
        return as_tf32(top + i < m && p < k ? A[(top + i) * k + p] : 0.0f);
    };
    auto b_at = [&](int64_t p, int64_t j) {
        return as_tf32(p < k && left + j < n ? B[p * n + left + j] : 0.0f);
    };
    float c[4] = {0, 0, 0, 0};
    for (int64_t p = 0; p < k; p += 8) {
#ifdef __CUDA_ARCH__
        uint32_t a[4] = {a_at(row, p + column), a_at(row + 8, p + column),
                         a_at(row, p + column + 4), a_at(row + 8, p + column + 4)};
        uint32_t b[2] = {b_at(p + column, row), b_at(p + column + 4, row)};
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
        for (int e = 0; e < 4; e++)
            for (int q = 0; q < 8; q++)
                c[e] += __uint_as_float(a_at(row + e / 2 * 8, p + q)) *
                        __uint_as_float(b_at(p + q, 2 * column + e % 2));
#endif
    }
    for (int e = 0; e < 4; e++) {
        int64_t i = top + row + e / 2 * 8, j = left + 2 * column + e % 2;
        if (i < m && j < n) C[i * n + j] = c[e];
    }
}

extern "C" void tgemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                      cudaStream_t stream)
{
    dim3 grid((unsigned)((n + 7) / 8), (unsigned)((m + 15) / 16));
    multiply<<<grid, 32, 0, stream>>>(A, B, C, m, n, k);
}
