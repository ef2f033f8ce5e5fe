// GEMM by wgmma on operands split beforehand into bf16 high/low pairs, f32 promotion, fused tail.
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <stdint.h>
// kforge: tune RING_STAGES 2 3
// kforge: tune PROMOTE_STEPS 1 2 4
#ifndef RING_STAGES
#define RING_STAGES 3
#endif
#ifndef PROMOTE_STEPS
#define PROMOTE_STEPS 2
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
__device__ __forceinline__ void split2(float a, float b, uint32_t &hi, uint32_t &lo) {
    __nv_bfloat162 h = __floats2bfloat162_rn(a, b);
    const float2 f = __bfloat1622float2(h);
    __nv_bfloat162 l = __floats2bfloat162_rn(a - f.x, b - f.y);
    hi = *reinterpret_cast<uint32_t *>(&h);
    lo = *reinterpret_cast<uint32_t *>(&l);
}
__global__ void split_kernel(const float4 *__restrict__ x, uint2 *__restrict__ hi,
                             uint2 *__restrict__ lo, size_t n4) {
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n4;
         i += (size_t)gridDim.x * blockDim.x) {
        const float4 v = __ldcs(x + i);
        uint2 h, l;
        split2(v.x, v.y, h.x, l.x);
        split2(v.z, v.w, h.y, l.y);
        hi[i] = h;
        lo[i] = l;
    }
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
__device__ __forceinline__ float finish(float v) { return fmaxf(v, 0.f); }
__device__ __forceinline__ void store2(float v0, float v1, float2 bs, size_t at, float *out) {
    *(float2 *)(out + at) = make_float2(finish(v0 + bs.x), finish(v1 + bs.y));
}
constexpr int BM = 128, BN = 128, BK = 64, ST = RING_STAGES, ROWB = BK * 2, PLANE = 128 * ROWB;
constexpr int SMEM = 1024 + ST * 4 * PLANE;
// Ring stage: A high, A low, B high, B low, rows swizzled in 16-byte chunks.
__device__ __forceinline__ uint32_t place(int r, int c) {
    return r * ROWB + (ROWB == 128 ? (c ^ (r & 7)) << 4 : (c ^ ((r >> 1) & 3)) << 4);
}
__global__ void __launch_bounds__(256, 1)
gemm_kernel(const bf16 *__restrict__ ah, const bf16 *__restrict__ al, const bf16 *__restrict__ wh,
            const bf16 *__restrict__ wl, const float *__restrict__ bias, float *__restrict__ out,
            int N, int K) {
    extern __shared__ unsigned char smem_raw[];
    const uint32_t base = (smem_addr(smem_raw) + 1023) & ~1023u;
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int bm = blockIdx.x * BM, bn = blockIdx.y * BN, KT = K / BK;
    auto load = [&](int kt) {
        const uint32_t s = base + (kt % ST) * 4 * PLANE;
#pragma unroll
        for (int i = 0; i < PLANE / 4096; i++) {
            const int q = tid + i * 256, r = q / (ROWB / 16), c = q % (ROWB / 16);
            const uint32_t d = s + place(r, c);
            const size_t k = (size_t)kt * BK + c * 8;
            const size_t ga = (size_t)(bm + r) * K + k, gb = (size_t)(bn + r) * K + k;
            cp16(d, ah + ga);
            cp16(d + PLANE, al + ga);
            cp16(d + 2 * PLANE, wh + gb);
            cp16(d + 3 * PLANE, wl + gb);
        }
    };
#pragma unroll
    for (int s = 0; s < ST - 1; s++) {
        load(s);
        cp_commit();
    }
    const int wgi = warp >> 2;
    float tot[BN / 2], acc[BN / 2];
#pragma unroll
    for (int i = 0; i < BN / 2; i++) tot[i] = acc[i] = 0.f;
    for (int kt = 0; kt < KT; kt++) {
        cp_wait<ST - 2>();
        proxy_fence();
        __syncthreads();
        const uint32_t s = base + (kt % ST) * 4 * PLANE;
        const uint64_t dah = make_desc(s + wgi * (PLANE / 2));
        const uint64_t dal = make_desc(s + PLANE + wgi * (PLANE / 2));
        const uint64_t dbh = make_desc(s + 2 * PLANE), dbl = make_desc(s + 3 * PLANE);
        wg_fence();
#pragma unroll
        for (int k = 0; k < BK / 16; k++)
            wgmma128(acc, dal + k * 2, dbh + k * 2, k > 0 || kt % PROMOTE_STEPS != 0);
#pragma unroll
        for (int k = 0; k < BK / 16; k++) wgmma128(acc, dah + k * 2, dbl + k * 2, 1);
#pragma unroll
        for (int k = 0; k < BK / 16; k++) wgmma128(acc, dah + k * 2, dbh + k * 2, 1);
        wg_commit();
        if (kt + ST - 1 < KT) load(kt + ST - 1);
        cp_commit();
        wg_wait<0>();
#pragma unroll
        for (int i = 0; i < BN / 2; i++) asm volatile("" : "+f"(acc[i])::"memory");
        if (kt % PROMOTE_STEPS == PROMOTE_STEPS - 1 || kt == KT - 1) {
#pragma unroll
            for (int i = 0; i < BN / 2; i++) tot[i] += acc[i];
        }
    }
#pragma unroll
    for (int j = 0; j < BN / 8; j++) {
        const int col = bn + j * 8 + (lane & 3) * 2;
        const float2 bs = *(const float2 *)(bias + col);
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const size_t row = bm + warp * 16 + h * 8 + (lane >> 2);
            store2(tot[j * 4 + h * 2], tot[j * 4 + h * 2 + 1], bs, row * N + col, out);
        }
    }
}
extern "C" void level2_76_Gemm_Add_ReLU(const float *x, const float *bias,
                                        const float *gemm_weight, float *out,
                                        cudaStream_t stream) {
    const float *weight = gemm_weight;
    constexpr int M = 1024, N = 8192, K = 8192;
    bf16 *s = nullptr;
    const size_t pa = (size_t)M * K, pb = (size_t)N * K;
    cudaMallocAsync((void **)&s, (pa + pb) * 2 * sizeof(bf16), stream);
    bf16 *ah = s, *al = s + pa, *wh = s + 2 * pa, *wl = s + 2 * pa + pb;
    split_kernel<<<1024, 256, 0, stream>>>((const float4 *)x, (uint2 *)ah, (uint2 *)al, pa / 4);
    split_kernel<<<4096, 256, 0, stream>>>((const float4 *)weight, (uint2 *)wh, (uint2 *)wl,
            pb / 4);
    cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM);
    gemm_kernel<<<dim3(M / BM, N / BN), 256, SMEM, stream>>>(ah, al, wh, wl, bias, out, N, K);
    cudaFreeAsync(s, stream);
}
