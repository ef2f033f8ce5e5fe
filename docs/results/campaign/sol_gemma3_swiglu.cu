// Gate and up GEMMs side by side on wgmma with GELU-tanh times up fused in the epilogue.
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <stdint.h>
// kforge: tune WIDE_STAGES 3 4
#ifndef WIDE_STAGES
#define WIDE_STAGES 4
#endif

typedef __nv_bfloat16 bf16;
__device__ __forceinline__ uint32_t smem_addr(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void cp16(uint32_t dst, const void *src) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(dst), "l"(src) : "memory");
}
__device__ __forceinline__ void cp_commit() {
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}
template <int P> __device__ __forceinline__ void cp_wait() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(P) : "memory");
}

#define ACC4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define ACC8(i) ACC4(i), ACC4(i + 4)
__device__ __forceinline__ void proxy_fence() {
    asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}
__device__ __forceinline__ void wg_fence() {
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
__device__ __forceinline__ void wg_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
template <int P> __device__ __forceinline__ void wg_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(P) : "memory");
}

// K-major operand, rows of 128 bytes in the 128-byte swizzle, groups of 8 rows 1024 bytes apart.
__device__ __forceinline__ uint64_t make_desc(uint32_t a) {
    return (uint64_t)((a & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
__device__ __forceinline__ void wgmma64(float (&d)[32], uint64_t da, uint64_t db, int sd) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, p, 1, 1, 0, 0;\n}\n"
        : ACC8(0), ACC8(8), ACC8(16), ACC8(24)
        : "l"(da), "l"(db), "r"(sd));
}
__device__ __forceinline__ void wgmma128(float (&d)[64], uint64_t da, uint64_t db, int sd) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, p, 1, 1, 0, 0;\n}\n"
        : ACC8(0), ACC8(8), ACC8(16), ACC8(24),
          ACC8(32), ACC8(40), ACC8(48), ACC8(56)
        : "l"(da), "l"(db), "r"(sd));
}

__device__ __forceinline__ void cp16z(uint32_t dst, const void *src, bool ok) {
    const int n = ok ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(dst), "l"(src), "r"(n)
                 : "memory");
}
__device__ __forceinline__ float gelu_tanh(float g) {
    const float u = 0.7978845608028654f * (g + 0.044715f * g * g * g);
    return g / (1.f + __expf(-2.f * u));
}

constexpr int HID = 3072, INTER = 24576, BK = 64, BM = 128, KT = HID / BK, NTHREADS = 256;
__device__ __forceinline__ void product(float (&d)[32], uint64_t a, uint64_t b, int s) {
    wgmma64(d, a, b, s);
}
__device__ __forceinline__ void product(float (&d)[64], uint64_t a, uint64_t b, int s) {
    wgmma128(d, a, b, s);
}
constexpr size_t ring_bytes(int nh, int st) {
    return 1024 + (size_t)st * (BM + 2 * nh) * 128;
}
// NH gate columns and the same NH up columns a block; ST ring stages.
template <int NH, int ST, int MINB>
__global__ void __launch_bounds__(NTHREADS, MINB)
gate_up_kernel(const bf16 *__restrict__ x, const bf16 *__restrict__ gw, const bf16 *__restrict__ uw,
               bf16 *__restrict__ out, int M) {
    constexpr int STAGE = (BM + 2 * NH) * 128, ROWS = 1;
    extern __shared__ unsigned char smem_raw[];
    const uint32_t base = (smem_addr(smem_raw) + 1023) & ~1023u;
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wgi = warp >> 2;
    const int bm = blockIdx.x * BM, bn = blockIdx.y * NH;
    auto load = [&](int kt) {
        const uint32_t s = base + (kt % ST) * STAGE;
#pragma unroll
        for (int i = 0; i < BM * 8 / NTHREADS; i++) {
            const int q = tid + i * NTHREADS, r = q >> 3, c = q & 7;
            const bool ok = bm + r < M;
            cp16z(s + r * 128 + ((c ^ (r & 7)) << 4),
                  x + (size_t)(ok ? bm + r : 0) * HID + kt * BK + c * 8, ok);
        }
#pragma unroll
        for (int i = 0; i < NH * 8 / NTHREADS; i++) {
            const int q = tid + i * NTHREADS, r = q >> 3, c = q & 7;
            const uint32_t d = s + BM * 128 + r * 128 + ((c ^ (r & 7)) << 4);
            const size_t g = (size_t)(bn + r) * HID + kt * BK + c * 8;
            cp16(d, gw + g);
            cp16(d + NH * 128, uw + g);
        }
    };
#pragma unroll
    for (int s = 0; s < ST - 2; s++) {
        load(s);
        cp_commit();
    }
    float g[ROWS][NH / 2], u[ROWS][NH / 2];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < NH / 2; i++) g[r][i] = u[r][i] = 0.f;
    for (int kt = 0; kt < KT; kt++) {
        cp_wait<ST - 3>();
        proxy_fence();
        __syncthreads();
        const uint32_t s = base + (kt % ST) * STAGE;
        const uint64_t da = make_desc(s + wgi * ROWS * 8192);
        const uint64_t dg = make_desc(s + BM * 128), du = make_desc(s + (BM + NH) * 128);
        wg_fence();
#pragma unroll
        for (int k = 0; k < 4; k++) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                product(g[r], da + r * 512 + k * 2, dg + k * 2, 1);
                product(u[r], da + r * 512 + k * 2, du + k * 2, 1);
            }
        }
        wg_commit();
        if (kt + ST - 2 < KT) load(kt + ST - 2);
        cp_commit();
        wg_wait<1>();
    }
    wg_wait<0>();
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < NH / 2; i++) asm volatile("" : "+f"(g[r][i]), "+f"(u[r][i])::"memory");
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int row = bm + (wgi * ROWS + r) * 64 + (warp & 3) * 16 + h * 8 + (lane >> 2);
            if (row >= M) continue;
            bf16 *o = out + (size_t)row * INTER + bn + (lane & 3) * 2;
#pragma unroll
            for (int j = 0; j < NH / 8; j++) {
                const int e = j * 4 + h * 2;
                *(__nv_bfloat162 *)(o + j * 8) = __floats2bfloat162_rn(
                    gelu_tanh(g[r][e]) * u[r][e], gelu_tanh(g[r][e + 1]) * u[r][e + 1]);
            }
        }
}
template <int NH, int ST, int MINB>
static void launch(const bf16 *x, const bf16 *gw, const bf16 *uw, bf16 *out, int M,
                   cudaStream_t stream) {
    cudaFuncSetAttribute(gate_up_kernel<NH, ST, MINB>,
                         cudaFuncAttributeMaxDynamicSharedMemorySize, (int)ring_bytes(NH, ST));
    gate_up_kernel<NH, ST, MINB><<<dim3((M + BM - 1) / BM, INTER / NH), NTHREADS,
                                   ring_bytes(NH, ST), stream>>>(x, gw, uw, out, M);
}
extern "C" void google_gemma_3_12b_it_gemma3_fused_gate_up_projection_wi(
    const __nv_bfloat16 *x, const __nv_bfloat16 *gate_proj, const __nv_bfloat16 *up_proj,
    __nv_bfloat16 *output, int64_t batch_size, int64_t seq_len, cudaStream_t stream) {
    const int M = (int)(batch_size * seq_len);
    if (M <= 0) return;
    if (M <= 128) launch<64, 3, 2>(x, gate_proj, up_proj, output, M, stream);
    else launch<128, WIDE_STAGES, 1>(x, gate_proj, up_proj, output, M, stream);
}
