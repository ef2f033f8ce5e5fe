// Causal self-attention: split-fp16 projections, fused split-tf32 attention, f32 accuracy.

#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include <math.h>

constexpr int BB = 128, TT = 512, C_ = 768, HN = 8, HD = 96, M_ = BB * TT, K_ = C_;
constexpr int BM = 128, BN = 128, BK = 64, STAGES = 3, NT = 256;
constexpr int ROWB = BK * 2, TA = BM * ROWB, TB = BN * ROWB, STB = 2 * (TA + TB);
constexpr int SMEM = STB * STAGES, KT = K_ / BK, CH = BK / 8;
__device__ __align__(16) float qkv[(size_t)M_ * 3 * C_];
__device__ __align__(16) __half a_hi[(size_t)M_ * K_], a_lo[(size_t)M_ * K_];
__device__ __align__(16) __half b_hi[4 * C_ * K_], b_lo[4 * C_ * K_];
__device__ float a_inv[M_], b_inv[4 * C_];
// Splits rows (a warp each), scaled by a power of two, into two halves of 22 bits together.
__global__ void __launch_bounds__(256) split_k(const float* x, int rows, int to_b, int row0) {
  const int r = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
  if (r >= rows) return;
  const float4* p = (const float4*)(x + (size_t)r * K_);
  uint2* hi = (uint2*)((to_b ? b_hi : a_hi) + (size_t)(row0 + r) * K_);
  uint2* lo = (uint2*)((to_b ? b_lo : a_lo) + (size_t)(row0 + r) * K_);
  constexpr int NV = K_ / 128;
  float4 v[NV];
  float m = 0.f;
#pragma unroll
  for (int i = 0; i < NV; i++) {
    v[i] = p[lane + i * 32];
    m = fmaxf(m, fmaxf(fmaxf(fabsf(v[i].x), fabsf(v[i].y)), fmaxf(fabsf(v[i].z), fabsf(v[i].w))));
  }
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  int e = 0;
  if (m > 0.f) frexpf(m, &e);
  e = max(e, -100);
  const float sc = ldexpf(1.f, 14 - e);
  if (lane == 0) (to_b ? b_inv : a_inv)[row0 + r] = ldexpf(1.f, e - 14);
#pragma unroll
  for (int i = 0; i < NV; i++) {
    float f[4] = {v[i].x * sc, v[i].y * sc, v[i].z * sc, v[i].w * sc};
    __half h[4], l[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      h[j] = __float2half_rn(f[j]);
      l[j] = __float2half_rn(f[j] - __half2float(h[j]));
    }
    auto pk = [](__half a, __half b) {
      return (uint32_t)__half_as_ushort(a) | ((uint32_t)__half_as_ushort(b) << 16);
    };
    hi[lane + i * 32] = make_uint2(pk(h[0], h[1]), pk(h[2], h[3]));
    lo[lane + i * 32] = make_uint2(pk(l[0], l[1]), pk(l[2], l[3]));
  }
}

__device__ __forceinline__ uint32_t sa(const void* p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void cpa(uint32_t d, const void* s) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(d), "l"(s) : "memory");
}

__device__ __forceinline__ void wg(float (&d)[64], uint64_t da, uint64_t db, int sc) {
  asm volatile(
      "{ .reg .pred p;\n setp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
      "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
      "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, p, 1, 1, 0, 0; }\n"
      :
        "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]),
        "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
        "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
        "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
        "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]),
        "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
        "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]),
        "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
        "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(da), "l"(db), "r"(sc));
}
__device__ __forceinline__ uint64_t mk(uint32_t a) {  // 128-byte swizzle, K-major
  return (uint64_t)((a & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
__device__ __forceinline__ void keep(float (&d)[64]) {
#pragma unroll
  for (int i = 0; i < 64; i++) asm volatile("" : "+f"(d[i])::"memory");
}

__device__ __forceinline__ uint32_t off(int r, int c) {
  return r * ROWB + ((c ^ (r & 7)) << 4);
}
__device__ __forceinline__ void load_stage(uint32_t st, int bm, int brow, int kt, int tid) {
#pragma unroll
  for (int i = 0; i < BM * CH / NT; i++) {
    const int id = tid + i * NT, r = id / CH, c = id % CH;
    const size_t g = (size_t)(bm + r) * K_ + kt * BK + c * 8;
    const size_t gb = (size_t)(brow + r) * K_ + kt * BK + c * 8;
    cpa(st + off(r, c), a_hi + g);
    cpa(st + TA + off(r, c), a_lo + g);
    cpa(st + 2 * TA + off(r, c), b_hi + gb);
    cpa(st + 2 * TA + TB + off(r, c), b_lo + gb);
  }
}
// Twelve products of one stage into d, started and committed.
__device__ __forceinline__ void issue(float (&d)[64], uint32_t st, int wgi) {
  const uint64_t ah = mk(st + wgi * 64 * ROWB), al = mk(st + TA + wgi * 64 * ROWB);
  const uint64_t bh = mk(st + 2 * TA), bl = mk(st + 2 * TA + TB);
  keep(d);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < BK / 16; k++) {
    wg(d, al + 2 * k, bh + 2 * k, k != 0);
    wg(d, ah + 2 * k, bl + 2 * k, 1);
    wg(d, ah + 2 * k, bh + 2 * k, 1);
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// out[M_][ldn] = split A times split B rows from row0, plus bias; out == nullptr means qkv.
__global__ void __launch_bounds__(NT, 1) gemm_k(const float* bias, float* out, int ldn, int row0) {
  extern __shared__ __align__(1024) uint8_t smem[];
  if (out == nullptr) out = qkv;
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wgi = warp >> 2;
  const int bn = blockIdx.x * BN, bm = blockIdx.y * BM;
  const uint32_t base = sa(smem);
  float tot[64] = {};
  float d0[64], d1[64];
#pragma unroll
  for (int i = 0; i < 64; i++) d0[i] = d1[i] = 0.f;
  load_stage(base, bm, row0 + bn, 0, tid);
  asm volatile("cp.async.commit_group;" ::: "memory");
  auto add = [&](float (&d)[64]) {
    keep(d);
#pragma unroll
    for (int i = 0; i < 64; i++) tot[i] += d[i];
  };
  auto step = [&](int kt, float (&cur)[64], float (&prev)[64]) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (kt + 1 < KT) load_stage(base + (kt + 1) % STAGES * STB, bm, row0 + bn, kt + 1, tid);
    asm volatile("cp.async.commit_group;" ::: "memory");
    issue(cur, base + kt % STAGES * STB, wgi);
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    if (kt > 0) add(prev);
  };
  for (int kt = 0; kt < KT; kt += 2) {
    step(kt, d0, d1);
    step(kt + 1, d1, d0);
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  add(d1);
  const int m = bm + warp * 16 + (lane >> 2);
  const float s0 = a_inv[m], s1 = a_inv[m + 8];
#pragma unroll
  for (int j = 0; j < 16; j++) {
    const int n = bn + j * 8 + (lane & 3) * 2;
    const float u0 = b_inv[row0 + n], u1 = b_inv[row0 + n + 1], c0 = bias[n], c1 = bias[n + 1];
    *(float2*)(out + (size_t)m * ldn + n) =
        make_float2(tot[j * 4] * s0 * u0 + c0, tot[j * 4 + 1] * s0 * u1 + c1);
    *(float2*)(out + (size_t)(m + 8) * ldn + n) =
        make_float2(tot[j * 4 + 2] * s1 * u0 + c0, tot[j * 4 + 3] * s1 * u1 + c1);
  }
}

constexpr int QT = 64, KB = 32, KS = 104, VS = 100, ASMEM = 2 * KB * (KS + VS) * 4;
__device__ __forceinline__ void split(float x, uint32_t& h, uint32_t& l) {
  h = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
  l = __float_as_uint(x - __uint_as_float(h));
}
__device__ __forceinline__ void mma8(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                     uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void load_kv(float* s, const float* kp, int tid) {
#pragma unroll
  for (int i = 0; i < KB * 24 / 128; i++) {
    const int id = tid + i * 128, r = id / 24, c = (id % 24) * 4;
    const float* g = kp + (size_t)r * 3 * C_ + c;
    cpa(sa(s + r * KS + c), g);
    cpa(sa(s + KB * KS + r * VS + c), g + C_);
  }
}
// Causal attention of 64 queries of one head, split tf32 products, online softmax.
__global__ void __launch_bounds__(128, 3) att_k(float* y) {
  extern __shared__ __align__(1024) uint8_t smem[];
  float* buf = (float*)smem;
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, t = lane & 3, g = lane >> 2;
  const int qt = TT / QT - 1 - blockIdx.x, h = blockIdx.y, b = blockIdx.z;
  const float* base = qkv + (size_t)b * TT * 3 * C_ + h * HD;
  const int q0 = qt * QT + warp * 16;
  float q[12][4];
#pragma unroll
  for (int k = 0; k < 12; k++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const float2 u = *(const float2*)(base + (size_t)(q0 + g + i * 8) * 3 * C_ + k * 8 + 2 * t);
      q[k][i] = u.x;
      q[k][i + 2] = u.y;
    }
  float o[12][4] = {}, mx[2] = {-1e30f, -1e30f}, sum[2] = {0.f, 0.f};
  const float sc = 1.4426950408889634f * 0.10206207261596577f;
  const int tiles = (qt + 1) * (QT / KB);
  load_kv(buf, base + C_, tid);
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (int it = 0; it < tiles; it++) {
    float* cur = buf + (it & 1) * KB * (KS + VS);
    if (it + 1 < tiles)
      load_kv(buf + ((it + 1) & 1) * KB * (KS + VS),
              base + C_ + (size_t)(it + 1) * KB * 3 * C_, tid);
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    if (it * KB <= q0 + 15) {
      float s[KB / 8][4] = {};
#pragma unroll
      for (int k = 0; k < 12; k++) {
        uint32_t ah[4], al[4];
#pragma unroll
        for (int i = 0; i < 4; i++) split(q[k][i], ah[i], al[i]);
#pragma unroll
        for (int j = 0; j < KB / 8; j++) {
          const float2 u = *(const float2*)(cur + (j * 8 + g) * KS + k * 8 + 2 * t);
          uint32_t h0, l0, h1, l1;
          split(u.x, h0, l0);
          split(u.y, h1, l1);
          mma8(s[j], al, h0, h1);
          mma8(s[j], ah, l0, l1);
          mma8(s[j], ah, h0, h1);
        }
      }
      if (it * KB + KB - 1 > q0) {
#pragma unroll
        for (int j = 0; j < KB / 8; j++)
#pragma unroll
          for (int c = 0; c < 4; c++)
            if (it * KB + j * 8 + 2 * t + (c & 1) > q0 + g + (c >> 1) * 8) s[j][c] = -INFINITY;
      }
      float al2[2];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        float m = mx[i];
#pragma unroll
        for (int j = 0; j < KB / 8; j++) m = fmaxf(m, fmaxf(s[j][2 * i], s[j][2 * i + 1]));
        m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
        m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
        al2[i] = exp2f((mx[i] - m) * sc);
        mx[i] = m;
        float a = 0.f;
#pragma unroll
        for (int j = 0; j < KB / 8; j++)
#pragma unroll
          for (int c = 0; c < 2; c++) {
            s[j][2 * i + c] = exp2f((s[j][2 * i + c] - m) * sc);
            a += s[j][2 * i + c];
          }
        sum[i] = sum[i] * al2[i] + a;
      }
      uint32_t ph[KB / 8][4], pl[KB / 8][4];
#pragma unroll
      for (int j = 0; j < KB / 8; j++) {
        split(s[j][0], ph[j][0], pl[j][0]);
        split(s[j][2], ph[j][1], pl[j][1]);
        split(s[j][1], ph[j][2], pl[j][2]);
        split(s[j][3], ph[j][3], pl[j][3]);
      }
      const float* vs = cur + KB * KS + 2 * t * VS + g;
#pragma unroll
      for (int n0 = 0; n0 < 12; n0 += 4) {
        float acc[4][4] = {};
#pragma unroll
        for (int k = 0; k < KB / 8; k++)
#pragma unroll
          for (int n = 0; n < 4; n++) {
            uint32_t h0, l0, h1, l1;
            split(vs[k * 8 * VS + (n0 + n) * 8], h0, l0);
            split(vs[k * 8 * VS + VS + (n0 + n) * 8], h1, l1);
            mma8(acc[n], pl[k], h0, h1);
            mma8(acc[n], ph[k], l0, l1);
            mma8(acc[n], ph[k], h0, h1);
          }
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
          for (int c = 0; c < 4; c++)
            o[n0 + n][c] = o[n0 + n][c] * al2[c >> 1] + acc[n][c];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    sum[i] += __shfl_xor_sync(~0u, sum[i], 1);
    sum[i] += __shfl_xor_sync(~0u, sum[i], 2);
    const float inv = 1.f / sum[i];
    float* p = y + ((size_t)b * TT + q0 + g + i * 8) * C_ + h * HD + 2 * t;
#pragma unroll
    for (int n = 0; n < 12; n++)
      *(float2*)(p + n * 8) = make_float2(o[n][2 * i] * inv, o[n][2 * i + 1] * inv);
  }
}

extern "C" void level3_43_MinGPTCausalAttention(
    const float* x, const float* c_attn_weight, const float* c_attn_bias,
    const float* c_proj_weight, const float* c_proj_bias, float* out, cudaStream_t stream) {
  cudaFuncSetAttribute(gemm_k, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM);
  cudaFuncSetAttribute(att_k, cudaFuncAttributeMaxDynamicSharedMemorySize, ASMEM);
  split_k<<<M_ / 8, 256, 0, stream>>>(x, M_, 0, 0);
  split_k<<<3 * C_ / 8, 256, 0, stream>>>(c_attn_weight, 3 * C_, 1, 0);
  split_k<<<C_ / 8, 256, 0, stream>>>(c_proj_weight, C_, 1, 3 * C_);
  gemm_k<<<dim3(3 * C_ / BN, M_ / BM), NT, SMEM, stream>>>(c_attn_bias, nullptr, 3 * C_, 0);
  att_k<<<dim3(TT / QT, HN, BB), 128, ASMEM, stream>>>(out);
  split_k<<<M_ / 8, 256, 0, stream>>>(out, M_, 0, 0);
  gemm_k<<<dim3(C_ / BN, M_ / BM), NT, SMEM, stream>>>(c_proj_bias, out, C_, 3 * C_);
}
