// The leaky ReLU of a doubled linear layer: three fp16 wgmma products of bulk-copied packed tiles.
// kforge: tune PIPE_STAGES 2 3
#ifndef PIPE_STAGES
#define PIPE_STAGES 3
#endif

#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <stdint.h>

constexpr int M_ = 1024, N_ = 8192, K_ = 8192, ST = PIPE_STAGES, KT = K_ / 64;
constexpr uint32_t TILE = 16384, ASZ = 2 * TILE, STG = 2 * ASZ;
// Tiles of 128 rows by 64 columns, high halves before low halves, in the order of the k blocks.
__device__ __align__(1024) uint8_t a_pk[(size_t)M_ * K_ * 4], b_pk[(size_t)N_ * K_ * 4];
__device__ float a_inv[M_], b_inv[N_];
// Splits a row, scaled by a power of two to at most 2^14, into two halves of 22 bits together.
__global__ void __launch_bounds__(256) split_k(const float* x, const float* w) {
  __shared__ float red[8];
  const bool isx = blockIdx.x < M_;
  const size_t r = isx ? blockIdx.x : blockIdx.x - M_;
  const float4* p = (const float4*)((isx ? x : w) + r * K_);
  uint8_t* dst = (isx ? a_pk : b_pk) + (r >> 7) * KT * ASZ + (r & 127) * 128;
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
    const int k = (threadIdx.x + i * 256) * 4, c = (k >> 3) & 7;
    uint8_t* d = dst + (size_t)(k >> 6) * ASZ + ((c ^ (int)(r & 7)) << 4) + ((k >> 2) & 1) * 8;
    *(uint2*)d = make_uint2(pk(h[0], h[1]), pk(h[2], h[3]));
    *(uint2*)(d + TILE) = make_uint2(pk(l[0], l[1]), pk(l[2], l[3]));
  }
}

__device__ __forceinline__ uint32_t sptr(const void* p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void bar_init(uint32_t b, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(n) : "memory");
}
__device__ __forceinline__ void bar_expect(uint32_t b, uint32_t n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(n)
               : "memory");
}
__device__ __forceinline__ void bar_arrive(uint32_t b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(b) : "memory");
}
__device__ __forceinline__ void bar_wait(uint32_t b, uint32_t ph) {
  uint32_t ok;
  do {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}\n"
        : "=r"(ok)
        : "r"(b), "r"(ph)
        : "memory");
  } while (!ok);
}
__device__ __forceinline__ void bulk(uint32_t dst, const void* src, uint32_t n, uint32_t b) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      ::"r"(dst), "l"(src), "r"(n), "r"(b)
      : "memory");
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
  v *= 2.f;
  return v > 0.f ? v : v * 0.1f;
}

// Twelve products of one stage into d, started and committed.
__device__ __forceinline__ void issue(float (&d)[64], uint32_t st, int wgi) {
  const uint64_t ah = mk(st + wgi * 8192), al = mk(st + TILE + wgi * 8192);
  const uint64_t bh = mk(st + ASZ), bl = mk(st + ASZ + TILE);
  keep(d);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int k = 0; k < 4; k++) {
    wg(d, al + 2 * k, bh + 2 * k, k != 0);
    wg(d, ah + 2 * k, bl + 2 * k, 1);
    wg(d, ah + 2 * k, bh + 2 * k, 1);
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__global__ void __launch_bounds__(384, 1) gemm_k(const float* bias, float* out) {
  extern __shared__ uint8_t raw[];
  __shared__ __align__(8) uint64_t bars[2 * ST];
  const uint32_t base = (sptr(raw) + 1023) & ~1023u, full = sptr(bars), empty = full + 8 * ST;
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wgi = warp >> 2;
  const int bm = blockIdx.x * 128, bn = blockIdx.y * 128;
  const int wm = warp * 16;
  constexpr int wn = 0;
  if (tid == 0) {
    for (int i = 0; i < ST; i++) bar_init(full + 8 * i, 1), bar_init(empty + 8 * i, 8);
    asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    asm volatile("fence.proxy.async;\n" ::: "memory");
  }
  __syncthreads();
  if (wgi == 2) {
    if (tid == 256) {
      const uint8_t* a = a_pk + (size_t)blockIdx.x * KT * ASZ;
      const uint8_t* b = b_pk + (size_t)blockIdx.y * KT * ASZ;
      for (int kb = 0; kb < KT; kb++) {
        const int s = kb % ST;
        if (kb >= ST) bar_wait(empty + 8 * s, ((kb / ST) & 1) ^ 1);
        bar_expect(full + 8 * s, STG);
        bulk(base + s * STG, a + (size_t)kb * ASZ, ASZ, full + 8 * s);
        bulk(base + s * STG + ASZ, b + (size_t)kb * ASZ, ASZ, full + 8 * s);
      }
    }
    return;
  }
  float tot[1][16][4] = {};
  float d0[64];
#pragma unroll
  for (int i = 0; i < 64; i++) d0[i] = 0.f;
  for (int kb = 0; kb < KT; kb++) {
    bar_wait(full + 8 * (kb % ST), (kb / ST) & 1);
    issue(d0, base + kb % ST * STG, wgi);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    keep(d0);
    if (lane == 0) bar_arrive(empty + 8 * (kb % ST));
#pragma unroll
    for (int i = 0; i < 64; i++) tot[0][i / 4][i % 4] += d0[i];
  }

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

extern "C" void level2_12_Gemm_Multiply_LeakyReLU(
    const float* x, const float* gemm_weight, const float* gemm_bias, float* out,
    cudaStream_t stream) {
  const int smem = ST * STG + 1024;
  cudaFuncSetAttribute(gemm_k, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  split_k<<<M_ + N_, 256, 0, stream>>>(x, gemm_weight);
  gemm_k<<<dim3(M_ / 128, N_ / 128), 384, smem, stream>>>(gemm_bias, out);
}
