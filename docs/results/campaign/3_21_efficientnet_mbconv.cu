// MBConv block: tf32 1x1 convolutions and a depthwise kernel with batch norms fused in.
// kforge: tune PIPE_STAGES 2 3 4 5
#ifndef PIPE_STAGES
#define PIPE_STAGES 4
#endif
#define TILE_K 16

#include <cuda_runtime.h>
#include <stdint.h>
constexpr int BM = 96, BN = 128, BK = TILE_K, ST = PIPE_STAGES;
constexpr int WGM = 2, WGN = 4, NTHR = WGM * WGN * 32;
constexpr int WM = BM / WGM, WN = BN / WGN, MT = WM / 16, NT = WN / 8;
constexpr int LDA = BK + 4, LDBN = BN + 8;
constexpr int ASZ = BM * LDA;
constexpr int BSZ_NN = BK * LDBN, BSZ_NT = BN * LDA;

__device__ __forceinline__ void cp16(float* dst, const float* src) {
  uint32_t d = (uint32_t)__cvta_generic_to_shared(dst);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(d), "l"(src) : "memory");
}
__device__ __forceinline__ uint32_t tf32r(float x) {
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
__device__ __forceinline__ void mma8(float (&d)[4], const uint32_t* a, const uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <bool TB>
__device__ __forceinline__ void load_stage(float* as, float* bs, const float* A, const float* B,
                                           int K, int N, int m0, int n0, int k0) {
  constexpr int KV = BK / 4, NV = BN / 4;
#pragma unroll
  for (int i = threadIdx.x; i < BM * KV; i += NTHR) {
    int r = i / KV, c = (i % KV) * 4;
    cp16(as + r * LDA + c, A + (size_t)(m0 + r) * K + k0 + c);
  }
  if (TB) {
#pragma unroll
    for (int i = threadIdx.x; i < BN * KV; i += NTHR) {
      int r = i / KV, c = (i % KV) * 4;
      cp16(bs + r * LDA + c, B + (size_t)(n0 + r) * K + k0 + c);
    }
  } else {
#pragma unroll
    for (int i = threadIdx.x; i < BK * NV; i += NTHR) {
      int r = i / NV, c = (i % NV) * 4;
      cp16(bs + r * LDBN + c, B + (size_t)(k0 + r) * N + n0 + c);
    }
  }
}

// C = A (M x K) times B (K x N, or N x K when TB), tensor cores with tf32, plus row sums.
template <bool TB, int EPI>
__global__ void __launch_bounds__(NTHR, 2) gemm_k(const float* __restrict__ A,
    const float* __restrict__ B, float* __restrict__ C, int N, int K, size_t sA, size_t sB,
    size_t sC, float2* __restrict__ part,
    const float2* bss) {
  extern __shared__ __align__(16) float smem[];
  constexpr int BSZ = TB ? BSZ_NT : BSZ_NN;
  const int m0 = blockIdx.x * BM, n0 = blockIdx.y * BN;
  A += sA * blockIdx.z;
  B += sB * blockIdx.z;
  C += sC * blockIdx.z;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int wm = (warp / WGN) * WM, wn = (warp % WGN) * WN, g = lane >> 2, t = lane & 3;
  float acc[MT][NT][4];
#pragma unroll
  for (int i = 0; i < MT; i++)
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
      for (int r = 0; r < 4; r++) acc[i][j][r] = 0.f;
  const int KT = K / BK;
#pragma unroll
  for (int s = 0; s < ST - 1; s++) {
    if (s < KT)
      load_stage<TB>(smem + s * (ASZ + BSZ), smem + s * (ASZ + BSZ) + ASZ, A, B, K, N, m0, n0,
                     s * BK);
    asm volatile("cp.async.commit_group;\n" ::: "memory");
  }
  for (int kt = 0; kt < KT; kt++) {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(ST - 2) : "memory");
    __syncthreads();
    if (kt + ST - 1 < KT) {
      float* p = smem + ((kt + ST - 1) % ST) * (ASZ + BSZ);
      load_stage<TB>(p, p + ASZ, A, B, K, N, m0, n0, (kt + ST - 1) * BK);
    }
    asm volatile("cp.async.commit_group;\n" ::: "memory");
    const float* as = smem + (kt % ST) * (ASZ + BSZ);
    const float* bs = as + ASZ;
#pragma unroll
    for (int kk = 0; kk < BK; kk += 8) {
      uint32_t bh[NT][2];
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int k = kk + t + 4 * h;
        float2 sc = make_float2(1.f, 0.f);
        if (EPI == 1) sc = __ldg(bss + kt * BK + k);
#pragma unroll
        for (int j = 0; j < NT; j++) {
          int n = wn + j * 8 + g;
          float v = TB ? bs[n * LDA + k] : bs[k * LDBN + n];
          if (EPI == 1) v = fminf(fmaxf(fmaf(v, sc.x, sc.y), 0.f), 6.f);
          bh[j][h] = tf32r(v);
        }
      }
#pragma unroll
      for (int i = 0; i < MT; i++) {
        uint32_t ah[4];
#pragma unroll
        for (int r = 0; r < 4; r++)
          ah[r] = tf32r(as[(wm + i * 16 + g + (r & 1) * 8) * LDA + kk + t + (r >> 1) * 4]);
#pragma unroll
        for (int j = 0; j < NT; j++) mma8(acc[i][j], ah, bh[j]);
      }
    }
  }
  asm volatile("cp.async.wait_group 0;\n" ::: "memory");
  __syncthreads();
  float* red = smem;
#pragma unroll
  for (int i = 0; i < MT; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int ml = wm + i * 16 + g + 8 * h;
      float s = 0.f, q = 0.f;
#pragma unroll
      for (int j = 0; j < NT; j++) {
        const float v0 = acc[i][j][2 * h], v1 = acc[i][j][2 * h + 1];
        *(float2*)(C + (size_t)(m0 + ml) * N + n0 + wn + j * 8 + 2 * t) = make_float2(v0, v1);
        s += v0 + v1;
        q += v0 * v0 + v1 * v1;
      }
      s += __shfl_xor_sync(~0u, s, 1);
      s += __shfl_xor_sync(~0u, s, 2);
      q += __shfl_xor_sync(~0u, q, 1);
      q += __shfl_xor_sync(~0u, q, 2);
      if (t == 0) {
        red[((warp % WGN) * BM + ml) * 2] = s;
        red[((warp % WGN) * BM + ml) * 2 + 1] = q;
      }
    }
  __syncthreads();
  for (int m = threadIdx.x; m < BM; m += NTHR) {
    float s = 0.f, q = 0.f;
#pragma unroll
    for (int w = 0; w < WGN; w++) s += red[(w * BM + m) * 2], q += red[(w * BM + m) * 2 + 1];
    part[((size_t)blockIdx.z * gridDim.y + blockIdx.y) * (gridDim.x * BM) + m0 + m] =
        make_float2(s, q);
  }
}
template <bool TB>
constexpr int smem_bytes() { return ST * (ASZ + (TB ? BSZ_NT : BSZ_NN)) * 4; }

// Batch statistics from partial sums, folded with gamma and beta into one scale and shift.
__global__ void __launch_bounds__(1024) stats_k(const float2* __restrict__ part, int rows, int ch,
    double inv, const float* __restrict__ gamma, const float* __restrict__ beta, float2* ss) {
  __shared__ double rs[8][129], rq[8][129];
  const int c = threadIdx.x & 7, r0 = threadIdx.x >> 3, cc = blockIdx.x * 8 + c;
  double s = 0, q = 0;
#pragma unroll 4
  for (int r = r0; r < rows; r += 128) {
    const float2 v = part[(size_t)r * ch + cc];
    s += v.x;
    q += v.y;
  }
  rs[c][r0] = s;
  rq[c][r0] = q;
  for (int o = 64; o; o >>= 1) {
    __syncthreads();
    if (r0 < o) rs[c][r0] += rs[c][r0 + o], rq[c][r0] += rq[c][r0 + o];
  }
  if (r0 == 0) {
    const double mean = rs[c][0] * inv, var = fmax(rq[c][0] * inv - mean * mean, 0.0);
    const double sc = gamma[cc] / sqrt(var + 1e-5);
    ss[cc] = make_float2((float)sc, (float)(beta[cc] - mean * sc));
  }
}
__device__ __forceinline__ float bn6(float v, float2 s) {
  return fminf(fmaxf(fmaf(v, s.x, s.y), 0.f), 6.f);
}
constexpr int DR = 16, DP = 8, YT = DR / DP, IR = 2 * DR + 3, DTH = 112 * YT, IW = 232;
__global__ void __launch_bounds__(DTH) dw_k(const float* __restrict__ h1, const float2* ss,
    const float* __restrict__ w, float* __restrict__ h2, float2* __restrict__ part) {
  __shared__ __align__(16) float sm[IR * IW];
  __shared__ float rs[32], rq[32];
  const int ch = blockIdx.y % 672, img = blockIdx.y / 672, y0 = blockIdx.x * DR;
  const float* p = h1 + (size_t)blockIdx.y * 50176;
  const float2 sc = ss[ch];
  float wr[25];
#pragma unroll
  for (int i = 0; i < 25; i++) wr[i] = w[ch * 25 + i];
  const float4 z = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll 8
  for (int i = threadIdx.x; i < IR * 56; i += DTH) {
    const int r = i / 56, c = (i % 56) * 4, y = 2 * y0 - 2 + r;
    float4 v = z;
    if (y >= 0 && y < 224) {
      v = *(const float4*)(p + y * 224 + c);
      v = make_float4(bn6(v.x, sc), bn6(v.y, sc), bn6(v.z, sc), bn6(v.w, sc));
    }
    *(float4*)(sm + r * IW + c + 4) = v;
  }
  for (int i = threadIdx.x; i < IR; i += DTH) {
    *(float4*)(sm + i * IW) = z;
    *(float4*)(sm + i * IW + 228) = z;
  }
  __syncthreads();
  const int ox = threadIdx.x % 112, ty = threadIdx.x / 112;
  float acc[DP];
#pragma unroll
  for (int i = 0; i < DP; i++) acc[i] = 0.f;
  const float* q = sm + ty * DP * 2 * IW + 2 * ox + 2;
#pragma unroll
  for (int r = 0; r < 2 * DP + 3; r++) {
    const float2 a = *(const float2*)(q + r * IW), b = *(const float2*)(q + r * IW + 2);
    const float e = q[r * IW + 4];
#pragma unroll
    for (int i = 0; i < DP; i++) {
      const int k = r - 2 * i;
      if (k >= 0 && k < 5) {
        acc[i] = fmaf(a.x, wr[k * 5], acc[i]);
        acc[i] = fmaf(a.y, wr[k * 5 + 1], acc[i]);
        acc[i] = fmaf(b.x, wr[k * 5 + 2], acc[i]);
        acc[i] = fmaf(b.y, wr[k * 5 + 3], acc[i]);
        acc[i] = fmaf(e, wr[k * 5 + 4], acc[i]);
      }
    }
  }
  float s = 0.f, t = 0.f;
  float* o = h2 + (size_t)blockIdx.y * 12544 + (y0 + ty * DP) * 112 + ox;
#pragma unroll
  for (int i = 0; i < DP; i++) {
    o[i * 112] = acc[i];
    s += acc[i];
    t += acc[i] * acc[i];
  }
#pragma unroll
  for (int k = 16; k; k >>= 1) {
    s += __shfl_xor_sync(~0u, s, k);
    t += __shfl_xor_sync(~0u, t, k);
  }
  if ((threadIdx.x & 31) == 0) rs[threadIdx.x >> 5] = s, rq[threadIdx.x >> 5] = t;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < DTH / 32; i++) s += rs[i], t += rq[i];
    part[((size_t)img * gridDim.x + blockIdx.x) * 672 + ch] = make_float2(s, t);
  }
}
static_assert(DTH % 32 == 0, "whole warps");
__global__ void __launch_bounds__(256) bn_k(float* out, const float2* ss) {
  const float2 s = ss[blockIdx.y % 192];
  float4* p = (float4*)(out + (size_t)blockIdx.y * 12544);
  for (int i = blockIdx.x * 256 + threadIdx.x; i < 3136; i += gridDim.x * 256) {
    float4 v = p[i];
    p[i] = make_float4(fmaf(v.x, s.x, s.y), fmaf(v.y, s.x, s.y), fmaf(v.z, s.x, s.y),
                       fmaf(v.w, s.x, s.y));
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

extern "C" void level3_21_EfficientNetMBConv(const float* x, const float* expand_conv_0_weight,
    const float* expand_conv_1_weight, const float* expand_conv_1_bias,
    const float* depthwise_conv_0_weight, const float* depthwise_conv_1_weight,
    const float* depthwise_conv_1_bias, const float* project_conv_0_weight,
    const float* project_conv_1_weight, const float* project_conv_1_bias, float* out,
    cudaStream_t stream) {
  keep_pool();
  const size_t n1 = (size_t)6720 * 50176, n2 = (size_t)6720 * 12544;
  const int r1 = 10 * (50176 / BN), r2 = 10 * (112 / DR), r3 = 10 * (12544 / BN);
  const size_t np = (size_t)r1 * 672 + 4096;
  float* buf = nullptr;
  cudaMallocAsync((void**)&buf, (n1 + n2 + 2 * np) * 4, stream);
  float *h1 = buf, *h2 = buf + n1;
  float2 *part = (float2*)(buf + n1 + n2), *ss = part + (size_t)r1 * 672;
  auto k1 = gemm_k<false, 0>;
  auto k2 = gemm_k<false, 1>;
  const int smem = smem_bytes<false>();
  cudaFuncSetAttribute(k1, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  cudaFuncSetAttribute(k2, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  k1<<<dim3(672 / BM, 50176 / BN, 10), NTHR, smem, stream>>>(
      expand_conv_0_weight, x, h1, 50176, 112, 0, (size_t)112 * 50176, (size_t)672 * 50176, part,
      ss);
  stats_k<<<672 / 8, 1024, 0, stream>>>(part, r1, 672, 1.0 / 501760, expand_conv_1_weight,
                                        expand_conv_1_bias, ss);
  dw_k<<<dim3(112 / DR, 6720), DTH, 0, stream>>>(h1, ss, depthwise_conv_0_weight, h2, part);
  stats_k<<<672 / 8, 1024, 0, stream>>>(part, r2, 672, 1.0 / 125440, depthwise_conv_1_weight,
                                        depthwise_conv_1_bias, ss + 672);
  k2<<<dim3(192 / BM, 12544 / BN, 10), NTHR, smem, stream>>>(
      project_conv_0_weight, h2, out, 12544, 672, 0, n2 / 10, (size_t)192 * 12544, part, ss + 672);
  stats_k<<<192 / 8, 1024, 0, stream>>>(part, r3, 192, 1.0 / 125440, project_conv_1_weight,
                                        project_conv_1_bias, ss + 1344);
  bn_k<<<dim3(4, 1920), 256, 0, stream>>>(out, ss + 1344);
  cudaFreeAsync(buf, stream);
}
