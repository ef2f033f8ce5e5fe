// Linear layer by three fp16 products of scaled hi/lo splits on wgmma, with exact GELU.
// kforge: tune PIPE_STAGES 2
// kforge: tune PACK_THREADS 128 256 512
#ifndef PIPE_STAGES
#define PIPE_STAGES 2
#endif
#ifndef PACK_THREADS
#define PACK_THREADS 256
#endif

#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
constexpr int NS = 2, HB = 2, BN = 128 * HB, ST = PIPE_STAGES, PT = PACK_THREADS;
constexpr uint32_t TILE = 16384, ASZ = NS * TILE, BSZ = NS * HB * TILE, STG = ASZ + BSZ;

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
__device__ __forceinline__ uint64_t mdesc(uint32_t a) {
  return (uint64_t)((a & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
__device__ __forceinline__ void wg_fence() {
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
__device__ __forceinline__ void wg_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
template <int NW>
__device__ __forceinline__ void wg_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(NW) : "memory");
}
template <int NR>
__device__ __forceinline__ void hold(float (&r)[NR]) {
#pragma unroll
  for (int i = 0; i < NR; i++) asm volatile("" : "+f"(r[i])::"memory");
}
__device__ __forceinline__ void wg_mma(float (&d)[64], uint64_t da, uint64_t db, int sc) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
      "%64, %65, p, 1, 1, 0, 0;\n}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]),
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

// Powers of two that bring a row with maximum magnitude mx to about 2^10, and back.
__device__ __forceinline__ int exp_of(uint32_t mx) { return max(min((int)(mx >> 23), 254), 27); }
__device__ __forceinline__ float up_of(uint32_t mx) {
  return __uint_as_float((uint32_t)(264 - exp_of(mx)) << 23);
}
__device__ __forceinline__ float down_of(uint32_t mx) {
  return __uint_as_float((uint32_t)(exp_of(mx) - 10) << 23);
}
__global__ void __launch_bounds__(256) rowmax_k(const float* __restrict__ s, uint32_t* mx, int K) {
  const size_t row = (size_t)blockIdx.x * 8 + (threadIdx.x >> 5);
  const float4* p = (const float4*)(s + row * K);
  float m = 0.f;
#pragma unroll 8
  for (int i = threadIdx.x & 31; i < K / 4; i += 32) {
    const float4 v = p[i];
    m = fmaxf(m, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
  }
#pragma unroll
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if ((threadIdx.x & 31) == 0) mx[row] = __float_as_uint(m);
}

// Splits eight values into two half-precision parts (22 bits) and stores them swizzled.
__device__ __forceinline__ void put8(uint8_t* d, const float (&v)[8], float up) {
  __half2 p[2][4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const float a = v[2 * i] * up, b = v[2 * i + 1] * up;
    const __half2 h = __floats2half2_rn(a, b);
    const float2 f = __half22float2(h);
    p[0][i] = h;
    p[1][i] = __floats2half2_rn(a - f.x, b - f.y);
  }
#pragma unroll
  for (int q = 0; q < 2; q++)
    *(uint4*)(d + q * TILE) = make_uint4(*(uint32_t*)&p[q][0], *(uint32_t*)&p[q][1],
                                         *(uint32_t*)&p[q][2], *(uint32_t*)&p[q][3]);
}

// Rows contiguous in K: one 128 x 64 tile a block.
__global__ void __launch_bounds__(PT) pack_k(const float* __restrict__ s, uint8_t* d, int K,
    const uint32_t* mx) {
  const int kb = blockIdx.x;
  uint8_t* tile = d + ((size_t)blockIdx.y * gridDim.x + kb) * ASZ;
#pragma unroll
  for (int id = threadIdx.x; id < 1024; id += PT) {
    const int r = id >> 3, c = id & 7;
    const size_t row = (size_t)blockIdx.y * 128 + r;
    const float4* p = (const float4*)(s + row * K + kb * 64 + c * 8);
    const float4 a = p[0], b = p[1];
    const float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    put8(tile + r * 128 + ((c ^ (r & 7)) << 4), v,
         up_of(mx[row]));
  }
}

template <int EPI>
__global__ void __launch_bounds__(384, 1) gemm_k(const uint8_t* __restrict__ A,
    const uint8_t* __restrict__ B, float* __restrict__ C, int N, int KB,
    const uint32_t* ma, const uint32_t* mc,
    const float* __restrict__ bias) {
  extern __shared__ uint8_t raw[];
  __shared__ __align__(8) uint64_t bars[2 * ST];
  const uint32_t base = (sptr(raw) + 1023) & ~1023u, full = sptr(bars), empty = full + 8 * ST;
  const int wg = threadIdx.x >> 7, MB = gridDim.x, mb = blockIdx.x, nb = blockIdx.y;
  if (threadIdx.x == 0) {
    for (int i = 0; i < ST; i++) bar_init(full + 8 * i, 1), bar_init(empty + 8 * i, 8);
    asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    asm volatile("fence.proxy.async;\n" ::: "memory");
  }
  __syncthreads();
  if (wg == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;\n");
    if (threadIdx.x == 256) {
      const uint8_t* a = A + ((size_t)blockIdx.z * MB + mb) * KB * ASZ;
      const uint8_t* b = B + ((size_t)blockIdx.z * (N / 128) + nb * HB) * KB * ASZ;
      for (int kb = 0; kb < KB; kb++) {
        const int s = kb % ST;
        if (kb >= ST) bar_wait(empty + 8 * s, ((kb / ST) & 1) ^ 1);
        bar_expect(full + 8 * s, STG);
        const uint32_t dst = base + s * STG;
        bulk(dst, a + (size_t)kb * ASZ, ASZ, full + 8 * s);
#pragma unroll
        for (int h = 0; h < HB; h++)
          bulk(dst + ASZ * (h + 1), b + ((size_t)h * KB + kb) * ASZ, ASZ, full + 8 * s);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;\n");
  const int lane = threadIdx.x & 31;
  float acc[HB][64], tmp[64];
#pragma unroll
  for (int i = 0; i < 64; i++) {
    tmp[i] = 0.f;
#pragma unroll
    for (int h = 0; h < HB; h++) acc[h][i] = 0.f;
  }
  constexpr int NP = 3;
  constexpr int pa[NP] = {1, 0, 0}, pb[NP] = {0, 1, 0};
  for (int kb = 0; kb < KB; kb++) {
    const int s = kb % ST;
    bar_wait(full + 8 * s, (kb / ST) & 1);
    const uint32_t a = base + s * STG + wg * 8192, b = base + s * STG + ASZ;
#pragma unroll
    for (int h = 0; h < HB; h++) {
      hold(tmp);
      wg_fence();
#pragma unroll
      for (int q = 0; q < NP; q++)
#pragma unroll
        for (int k = 0; k < 4; k++)
          wg_mma(tmp, mdesc(a + pa[q] * TILE + k * 32),
                 mdesc(b + h * ASZ + pb[q] * TILE + k * 32), q + k != 0);
      wg_commit();
      wg_wait<0>();
      hold(tmp);
      if (h == HB - 1 && lane == 0) bar_arrive(empty + 8 * s);
#pragma unroll
      for (int i = 0; i < 64; i++) acc[h][i] += tmp[i];
    }
  }
  const int m0 = mb * 128 + wg * 64 + ((threadIdx.x >> 5) & 3) * 16 + (lane >> 2);
  const int c0 = nb * BN + (lane & 3) * 2;
  C += (size_t)blockIdx.z * MB * 128 * N;
  ma += (size_t)blockIdx.z * MB * 128;
  mc += (size_t)blockIdx.z * N;
  const float ra = down_of(ma[m0]), rb = down_of(ma[m0 + 8]);
#pragma unroll
  for (int h = 0; h < HB; h++)
#pragma unroll
    for (int j = 0; j < 16; j++) {
      const int n = c0 + h * 128 + j * 8;
      const float ca = down_of(mc[n]), cb = down_of(mc[n + 1]);
      acc[h][j * 4] = acc[h][j * 4] * ra * ca;
      acc[h][j * 4 + 1] = acc[h][j * 4 + 1] * ra * cb;
      acc[h][j * 4 + 2] = acc[h][j * 4 + 2] * rb * ca;
      acc[h][j * 4 + 3] = acc[h][j * 4 + 3] * rb * cb;
    }
#pragma unroll
  for (int h = 0; h < HB; h++)
#pragma unroll
    for (int j = 0; j < 16; j++) {
      const int n = c0 + h * 128 + j * 8;
      const float2 bb = *(const float2*)(bias + n);
#pragma unroll
      for (int r = 0; r < 2; r++) {
        float v0 = acc[h][j * 4 + 2 * r], v1 = acc[h][j * 4 + 2 * r + 1];
        v0 = (v0 + bb.x) / 10.f;
        v1 = (v1 + bb.y) / 10.f;
        v0 = 0.5f * v0 * (1.f + erff(v0 * 0.70710678118654752f));
        v1 = 0.5f * v1 * (1.f + erff(v1 * 0.70710678118654752f));
        *(float2*)(C + (size_t)(m0 + 8 * r) * N + n) = make_float2(v0, v1);
      }
    }
}

static void keep_pool() {
  int dev;
  cudaMemPool_t pool;
  unsigned long long lim = ~0ull;
  cudaGetDevice(&dev);
  cudaDeviceGetDefaultMemPool(&pool, dev);
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &lim);
}

extern "C" void level2_86_Matmul_Divide_GELU(const float* x, const float* linear_weight,
                                             const float* linear_bias, float* out,
                                             cudaStream_t stream) {
  keep_pool();
  uint8_t* pa = nullptr;
  const size_t na = (size_t)33554432ull, nb = (size_t)268435456ull;
  const size_t nm = 1024, nn = 8192;
  cudaMallocAsync((void**)&pa, na + nb + (nm + nn) * 4, stream);
  uint8_t* pb = pa + na;
  uint32_t *ma = (uint32_t*)(pb + nb), *mc = ma + nm;
  rowmax_k<<<(unsigned)(nm / 8), 256, 0, stream>>>(x, ma, 8192);
  rowmax_k<<<(unsigned)(nn / 8), 256, 0, stream>>>(linear_weight, mc, 8192);
  pack_k<<<dim3(128, 8), PT, 0, stream>>>(x, pa, 8192, ma);
  pack_k<<<dim3(128, 64), PT, 0, stream>>>(linear_weight, pb, 8192, mc);
  const int smem = ST * STG + 1024;
  cudaFuncSetAttribute(gemm_k<0>, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  gemm_k<0><<<dim3(8, 8192 / BN, 1), 384, smem, stream>>>(pa, pb, out, 8192, 128,
      ma, mc, linear_bias);
  cudaFreeAsync(pa, stream);
}
