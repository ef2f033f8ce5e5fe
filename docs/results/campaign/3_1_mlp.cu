// MLP layers as memory-streaming GEMMs: f32 weights split to bf16 pairs, three mma products.
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <stdint.h>
// kforge: tune RING_STAGES 3 4 5
// kforge: tune PROMOTE_STEPS 2 4 8
#ifndef RING_STAGES
#define RING_STAGES 4
#endif
#ifndef PROMOTE_STEPS
#define PROMOTE_STEPS 4
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

__device__ __forceinline__ void ldsm4(uint32_t (&r)[4], uint32_t a) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a) : "memory");
}
__device__ __forceinline__ void mma_bf16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <int HIDDEN>
__device__ __forceinline__ void store2(float v0, float v1, float2 bs, size_t at, float *out,
                                       bf16 *oh, bf16 *ol) {
    v0 += bs.x;
    v1 += bs.y;
    if (HIDDEN) {
        uint32_t h, l;
        split2(fmaxf(v0, 0.f), fmaxf(v1, 0.f), h, l);
        *(uint32_t *)(oh + at) = h;
        *(uint32_t *)(ol + at) = l;
    } else {
        *(float2 *)(out + at) = make_float2(v0, v1);
    }
}

constexpr int BM = 128, BK = 32, ST = RING_STAGES;
constexpr size_t ring_bytes(int nt) {
    return 1024 + (size_t)ST * (nt * 4096 + 16384) + 2 * nt * 4096;
}
template <int NT, int HIDDEN>
__global__ void __launch_bounds__(256, 1)
gemm_kernel(const bf16 *__restrict__ ah, const bf16 *__restrict__ al, const float *__restrict__ w,
            const float *__restrict__ bias, float *__restrict__ out,
            bf16 *__restrict__ oh, bf16 *__restrict__ ol, int N, int K) {
    constexpr int BN = 32 * NT;
    extern __shared__ unsigned char smem_raw[];
    const uint32_t base = (smem_addr(smem_raw) + 1023) & ~1023u;
    const uint32_t sa = base, sb = sa + ST * 16384, sr = sb + 2 * BN * 128;
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int bm = blockIdx.x * BM, bn = blockIdx.y * BN, KT = K / BK;
    auto load = [&](int kt) {
        const int slot = kt % ST;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int q = tid + i * 256, r = q >> 2, c = q & 3;
            const uint32_t d = sa + slot * 16384 + r * 64 + ((c ^ ((r >> 1) & 3)) << 4);
            const size_t g = (size_t)(bm + r) * K + (size_t)kt * BK + c * 8;
            cp16(d, ah + g);
            cp16(d + 8192, al + g);
        }
#pragma unroll
        for (int i = 0; i < NT; i++) {
            const int q = tid + i * 256, r = q >> 3, c = q & 7;
            cp16(sr + slot * (BN * 128) + q * 16,
                 w + (size_t)(bn + r) * K + (size_t)kt * BK + c * 4);
        }
    };
    auto convert = [&](int kt) {
#pragma unroll
        for (int i = 0; i < NT; i++) {
            const int q = tid + i * 256, r = q >> 3, c = q & 7;
            float4 v;
            asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];\n"
                         : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                         : "r"(sr + (kt % ST) * (BN * 128) + q * 16) : "memory");
            uint32_t h0, h1, l0, l1;
            split2(v.x, v.y, h0, l0);
            split2(v.z, v.w, h1, l1);
            const uint32_t d = sb + (kt & 1) * (BN * 128) + r * 64 +
                               (((c >> 1) ^ ((r >> 1) & 3)) << 4) + (c & 1) * 8;
            asm volatile("st.shared.v2.b32 [%0], {%1,%2};\n" ::"r"(d), "r"(h0), "r"(h1) : "memory");
            asm volatile("st.shared.v2.b32 [%0], {%1,%2};\n" ::"r"(d + BN * 64), "r"(l0), "r"(l1)
                         : "memory");
        }
    };
#pragma unroll
    for (int s = 0; s < ST - 1; s++) {
        load(s);
        cp_commit();
    }
    const int wm = warp & 1, wn = warp >> 1;
    float tot[4][NT][4], acc[4][NT][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) tot[i][j][e] = acc[i][j][e] = 0.f;
    for (int kt = 0; kt < KT; kt++) {
        cp_wait<ST - 2>();
        convert(kt);
        __syncthreads();
        if (kt + ST - 1 < KT) load(kt + ST - 1);
        cp_commit();
        const uint32_t ta = sa + (kt % ST) * 16384, tb = sb + (kt & 1) * (BN * 128);
#pragma unroll
        for (int ks = 0; ks < 2; ks++) {
            uint32_t fh[4][4], fl[4][4], gh[NT / 2][4], gl[NT / 2][4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int r = wm * 64 + i * 16 + (lane & 15), c = ks * 2 + (lane >> 4);
                const uint32_t o = ta + r * 64 + ((c ^ ((r >> 1) & 3)) << 4);
                ldsm4(fh[i], o);
                ldsm4(fl[i], o + 8192);
            }
#pragma unroll
            for (int j = 0; j < NT / 2; j++) {
                const int r = wn * 8 * NT + j * 16 + (lane & 7) + ((lane >> 4) << 3);
                const int c = ks * 2 + ((lane >> 3) & 1);
                const uint32_t o = tb + r * 64 + ((c ^ ((r >> 1) & 3)) << 4);
                ldsm4(gh[j], o);
                ldsm4(gl[j], o + BN * 64);
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < NT; j++)
                    mma_bf16(acc[i][j], fl[i], gh[j / 2][(j & 1) * 2], gh[j / 2][(j & 1) * 2 + 1]);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < NT; j++)
                    mma_bf16(acc[i][j], fh[i], gl[j / 2][(j & 1) * 2], gl[j / 2][(j & 1) * 2 + 1]);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < NT; j++)
                    mma_bf16(acc[i][j], fh[i], gh[j / 2][(j & 1) * 2], gh[j / 2][(j & 1) * 2 + 1]);
        }
        if (kt % PROMOTE_STEPS == PROMOTE_STEPS - 1 || kt == KT - 1) {
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < NT; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        tot[i][j][e] += acc[i][j][e];
                        acc[i][j][e] = 0.f;
                    }
        }
    }
#pragma unroll
    for (int j = 0; j < NT; j++) {
        const int col = bn + wn * 8 * NT + j * 8 + (lane & 3) * 2;
        const float2 bs = *(const float2 *)(bias + col);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const size_t row = bm + wm * 64 + i * 16 + h * 8 + (lane >> 2);
                store2<HIDDEN>(tot[i][j][h * 2], tot[i][j][h * 2 + 1], bs, row * N + col, out,
                               oh, ol);
            }
    }
}
template <int NT, int HIDDEN>
static void layer(const bf16 *ah, const bf16 *al, const float *w, const float *bias, float *out,
                  bf16 *oh, bf16 *ol, int N, int K, cudaStream_t stream) {
    cudaFuncSetAttribute(gemm_kernel<NT, HIDDEN>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         (int)ring_bytes(NT));
    gemm_kernel<NT, HIDDEN><<<dim3(1, N / (32 * NT)), 256, ring_bytes(NT), stream>>>(
        ah, al, w, bias, out, oh, ol, N, K);
}
extern "C" void level3_1_MLP(const float *x, const float *network_0_weight,
                             const float *network_0_bias, const float *network_2_weight,
                             const float *network_2_bias, const float *network_4_weight,
                             const float *network_4_bias, float *out, cudaStream_t stream) {
    constexpr int M = 128, D0 = 16384, D1 = 16384, D2 = 16384, D3 = 8192;
    bf16 *s = nullptr;
    const size_t plane = (size_t)M * D0;
    cudaMallocAsync((void **)&s, plane * 6 * sizeof(bf16), stream);
    bf16 *xh = s, *xl = s + plane, *h1 = s + 2 * plane, *l1 = s + 3 * plane;
    bf16 *h2 = s + 4 * plane, *l2 = s + 5 * plane;
    split_kernel<<<512, 256, 0, stream>>>((const float4 *)x, (uint2 *)xh, (uint2 *)xl, plane / 4);
    layer<4, 1>(xh, xl, network_0_weight, network_0_bias, nullptr, h1, l1, D1, D0, stream);
    layer<4, 1>(h1, l1, network_2_weight, network_2_bias, nullptr, h2, l2, D2, D1, stream);
    layer<2, 0>(h2, l2, network_4_weight, network_4_bias, out, nullptr, nullptr, D3, D2, stream);
    cudaFreeAsync(s, stream);
}
