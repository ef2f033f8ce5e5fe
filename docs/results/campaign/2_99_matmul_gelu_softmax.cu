// The softmax of the GELU of a linear layer, GEMM by three fp16 wgmma products.

#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <stdint.h>

constexpr int M_ = 1024, N_ = 8192, K_ = 8192;
constexpr int BM = 128, BN = 128, BK = 64, STAGES = 3, NT = 256;
constexpr int ROWB = BK * 2, TA = BM * ROWB, TB = BN * ROWB, STB = 2 * (TA + TB);
constexpr int SMEM = STB * STAGES, KT = K_ / BK, PARTS = N_ / BN, CH = BK / 8;

__device__ __half a_hi[(size_t)M_ * K_], a_lo[(size_t)M_ * K_];
__device__ __half b_hi[(size_t)N_ * K_], b_lo[(size_t)N_ * K_];
__device__ float a_inv[M_], b_inv[N_];
// Splits a row, scaled by a power of two to at most 2^14, into two halves of 22 bits together.
__global__ void __launch_bounds__(256) split_k(const float* x, const float* w) {
  __shared__ float red[8];
  const bool isx = blockIdx.x < M_;
  const size_t r = isx ? blockIdx.x : blockIdx.x - M_;
  const float4* p = (const float4*)((isx ? x : w) + r * K_);
  uint2* hi = (uint2*)((isx ? a_hi : b_hi) + r * K_);
  uint2* lo = (uint2*)((isx ? a_lo : b_lo) + r * K_);
  constexpr int NV = K_ / 1024;
  float4 v[NV];
  float m = 0.f;
#pragma unroll
  for (int i = 0; i < NV; i++) {
    v[i] = p[threadIdx.x + i * 256];
    m = fmaxf(m, fmaxf(fmaxf(fabsf(v[i].x), fabsf(v[i].y)), fmaxf(fabsf(v[i].z), fabsf(v[i].w))));
  }
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = m;
  __syncthreads();
  for (int i = 0; i < 8; i++) m = fmaxf(m, red[i]);
  int e = 0;
  if (m > 0.f) frexpf(m, &e);
  e = max(e, -100);
  const float sc = ldexpf(1.f, 14 - e);
  if (threadIdx.x == 0) (isx ? a_inv : b_inv)[r] = ldexpf(1.f, e - 14);
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
    hi[threadIdx.x + i * 256] = make_uint2(pk(h[0], h[1]), pk(h[2], h[3]));
    lo[threadIdx.x + i * 256] = make_uint2(pk(l[0], l[1]), pk(l[2], l[3]));
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

__device__ __forceinline__ float epi(float v) {
  return 0.5f * v * (1.f + erff(v * 0.70710678118654752f));
}

// Softmax over each row, in place.
__global__ void __launch_bounds__(256) rows_k(float* out) {
  __shared__ float red[16];
  float4* p = (float4*)(out + (size_t)blockIdx.x * N_) + threadIdx.x;
  constexpr int NV = N_ / 1024;
  float4 v[NV];
  float m = -3.4e38f, s = 0.f;
#pragma unroll
  for (int i = 0; i < NV; i++) {
    v[i] = p[i * 256];
    m = fmaxf(m, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
  }
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = m;
  __syncthreads();
  for (int i = 0; i < 8; i++) m = fmaxf(m, red[i]);
#pragma unroll
  for (int i = 0; i < NV; i++) {
    v[i].x = expf(v[i].x - m); v[i].y = expf(v[i].y - m);
    v[i].z = expf(v[i].z - m); v[i].w = expf(v[i].w - m);
    s += (v[i].x + v[i].y) + (v[i].z + v[i].w);
  }
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  if ((threadIdx.x & 31) == 0) red[8 + (threadIdx.x >> 5)] = s;
  __syncthreads();
  s = 0.f;
  for (int i = 0; i < 8; i++) s += red[8 + i];
  const float inv = 1.f / s;
#pragma unroll
  for (int i = 0; i < NV; i++) {
    v[i].x *= inv; v[i].y *= inv; v[i].z *= inv; v[i].w *= inv;
    p[i * 256] = v[i];
  }
}

__device__ __forceinline__ void load_stage(uint32_t st, int bm, int bn, int kt, int tid) {
#pragma unroll
  for (int i = 0; i < BM * CH / NT; i++) {
    const int id = tid + i * NT, r = id / CH, c = id % CH;
    const uint32_t o = st + r * ROWB + ((c ^ (r & 7)) << 4);
    const size_t ga = (size_t)(bm + r) * K_ + kt * BK + c * 8;
    const size_t gb = (size_t)(bn + r) * K_ + kt * BK + c * 8;
    cpa(o, a_hi + ga);
    cpa(o + TA, a_lo + ga);
    cpa(o + 2 * TA, b_hi + gb);
    cpa(o + 2 * TA + TB, b_lo + gb);
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
__global__ void __launch_bounds__(NT, 1) gemm_k(const float* bias, float* out) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wgi = warp >> 2;
  const int bm = blockIdx.x * BM, bn = blockIdx.y * BN;
  const int wm = warp * 16;
  constexpr int wn = 0;
  const uint32_t base = sa(smem);
  float tot[1][16][4] = {};
  float d0[64], d1[64];
#pragma unroll
  for (int i = 0; i < 64; i++) d0[i] = d1[i] = 0.f;
  load_stage(base, bm, bn, 0, tid);
  asm volatile("cp.async.commit_group;" ::: "memory");
  auto add = [&](float (&d)[64]) {
    keep(d);
#pragma unroll
    for (int i = 0; i < 64; i++) tot[0][i / 4][i % 4] += d[i];
  };
  auto step = [&](int kt, float (&cur)[64], float (&prev)[64]) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (kt + 1 < KT) load_stage(base + (kt + 1) % STAGES * STB, bm, bn, kt + 1, tid);
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

  float bb[16][2], bi[16][2];
#pragma unroll
  for (int j = 0; j < 16; j++)
#pragma unroll
    for (int c = 0; c < 2; c++) {
      const int n = bn + wn + j * 8 + (lane & 3) * 2 + c;
      bb[j][c] = bias[n];
      bi[j][c] = b_inv[n];
    }
#pragma unroll
  for (int i = 0; i < 1; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int lr = wm + i * 16 + (lane >> 2) + h * 8, m = bm + lr;
      const float ai = a_inv[m];
#pragma unroll
      for (int j = 0; j < 16; j++) {
        float r[2];
#pragma unroll
        for (int c = 0; c < 2; c++) r[c] = epi(tot[i][j][h * 2 + c] * ai * bi[j][c] + bb[j][c]);
        *(float2*)(out + (size_t)m * N_ + bn + wn + j * 8 + (lane & 3) * 2) =
            make_float2(r[0], r[1]);
      }
    }
}

extern "C" void level2_99_Matmul_GELU_Softmax(
    const float* x, const float* linear_weight, const float* linear_bias, float* out,
    cudaStream_t stream) {
  cudaFuncSetAttribute(gemm_k, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM);
  split_k<<<M_ + N_, 256, 0, stream>>>(x, linear_weight);
  gemm_k<<<dim3(M_ / BM, N_ / BN), NT, SMEM, stream>>>(linear_bias, out);
  rows_k<<<M_, 256, 0, stream>>>(out);
}
