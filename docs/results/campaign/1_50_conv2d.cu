// Convolves 11x11 stride 4 by tf32 mma with resident weight fragments and a ring of input rows.
// kforge: tune ROW_SPLIT 1 2 4
#ifndef ROW_SPLIT
#define ROW_SPLIT 1
#endif

#include <cuda_runtime.h>
#include <stdint.h>

__device__ __forceinline__ void cp16(float* dst, const float* src) {
  uint32_t d = (uint32_t)__cvta_generic_to_shared(dst);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(d), "l"(src) : "memory");
}
__device__ __forceinline__ void cp_commit() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}
template <int NG>
__device__ __forceinline__ void cp_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(NG) : "memory");
}
__device__ __forceinline__ uint32_t tf32r(float x) {
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
__device__ __forceinline__ void mma8(float (&d)[4], const uint32_t* a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

constexpr int KS = 51, RW = 232, SLOTS = 24, RING = SLOTS * 3 * RW, WP = KS * 12 * 64;
constexpr int WGM = 4, WGN = 2, NTHR = WGM * WGN * 32;
constexpr int MT = 8 / WGM, NP = 6 / WGN, PAIRS = (28 + ROW_SPLIT - 1) / ROW_SPLIT;
__device__ float4 wpack[WP / 4];
__global__ void pack_w(const float* __restrict__ w) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= WP / 4) return;
  const int lane = i & 31, jp = (i >> 5) % 6, ks = (i >> 5) / 6, g = lane >> 2, t = lane & 3;
  float v[4];
#pragma unroll
  for (int e = 0; e < 4; e++) {
    const int q = 2 * ks + (e & 1), cr = q / 3, s = (q % 3) * 4 + t;
    const int oc = (2 * jp + (e >> 1)) * 8 + g;
    v[e] = cr < 33 && s < 11 ? __uint_as_float(tf32r(w[oc * 363 + cr * 11 + s])) : 0.f;
  }
  wpack[i] = make_float4(v[0], v[1], v[2], v[3]);
}
__device__ __forceinline__ void load_rows(float* ring, const float* x, int p0, int cnt) {
  for (int i = threadIdx.x; i < cnt * 168; i += NTHR) {
    const int rr = i / 168, c = (i % 168) / 56, v = (i % 56) * 4, py = p0 + rr, iy = py - 2;
    float* d = ring + ((py % SLOTS) * 3 + c) * RW + 4 + v;
    if (iy >= 0 && iy < 224)
      cp16(d, x + (size_t)c * 224 * 224 + iy * 224 + v);
    else
      *(float4*)d = make_float4(0.f, 0.f, 0.f, 0.f);
  }
}
__global__ void __launch_bounds__(NTHR, 1) conv_k(const float* __restrict__ x,
                                                  const float* __restrict__ bias,
                                                  float* __restrict__ out) {
  extern __shared__ __align__(16) float sm[];
  float* ring = sm;
  float* ws = sm + RING;
  const int img = blockIdx.x, it0 = blockIdx.y * PAIRS;
  const int it1 = it0 + PAIRS < 28 ? it0 + PAIRS : 28;
  x += (size_t)img * 3 * 224 * 224;
  out += (size_t)img * 96 * 3025;
  for (int i = threadIdx.x; i < SLOTS * 3; i += NTHR) {
    *(float4*)(ring + i * RW) = make_float4(0.f, 0.f, 0.f, 0.f);
    *(float4*)(ring + i * RW + 228) = make_float4(0.f, 0.f, 0.f, 0.f);
  }
  for (int i = threadIdx.x; i < WP / 4; i += NTHR) cp16(ws + i * 4, (const float*)(wpack + i));
  load_rows(ring, x, 8 * it0, 15);
  cp_commit();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int wm = warp / WGN, wn = warp % WGN;
  const int hrow = wm * MT / 4, px0 = (wm * MT % 4) * 16;
  const float4* wf = (const float4*)ws + wn * NP * 32 + lane;
  float bv[NP * 2][2];
#pragma unroll
  for (int j = 0; j < NP * 2; j++)
#pragma unroll
    for (int e = 0; e < 2; e++) bv[j][e] = bias[(wn * NP * 2 + j) * 8 + 2 * t + e];
  for (int it = it0; it < it1; it++) {
    cp_wait<0>();
    __syncthreads();
    if (it + 1 < it1) load_rows(ring, x, 8 * it + 15, 8);
    cp_commit();
    const int oh = 2 * it + hrow, sl0 = (4 * oh) % SLOTS;
    const float* rb = ring + 2 + t + 4 * (px0 + g);
    float acc[MT][NP * 2][4];
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
      for (int j = 0; j < NP * 2; j++)
#pragma unroll
        for (int r = 0; r < 4; r++) acc[i][j][r] = 0.f;
#pragma unroll
    for (int p = 0; p < 17; p++) {
      const float* src[2];
#pragma unroll
      for (int e = 0; e < 2; e++) {
        const int cr = 2 * p + e < 33 ? 2 * p + e : 0;
        int sl = sl0 + cr % 11;
        if (sl >= SLOTS) sl -= SLOTS;
        src[e] = rb + (sl * 3 + cr / 11) * RW;
      }
#pragma unroll
      for (int u = 0; u < 3; u++) {
        const float* f0 = src[(2 * u) / 3] + (2 * u) % 3 * 4;
        const float* f1 = src[(2 * u + 1) / 3] + (2 * u + 1) % 3 * 4;
        float4 b[NP];
#pragma unroll
        for (int j = 0; j < NP; j++) b[j] = wf[((p * 3 + u) * 6 + j) * 32];
#pragma unroll
        for (int i = 0; i < MT; i++) {
          uint32_t a[4];
          a[0] = tf32r(f0[i * 64]);
          a[1] = tf32r(f0[i * 64 + 32]);
          a[2] = tf32r(f1[i * 64]);
          a[3] = tf32r(f1[i * 64 + 32]);
#pragma unroll
          for (int j = 0; j < NP; j++) {
            mma8(acc[i][2 * j], a, __float_as_uint(b[j].x), __float_as_uint(b[j].y));
            mma8(acc[i][2 * j + 1], a, __float_as_uint(b[j].z), __float_as_uint(b[j].w));
          }
        }
      }
    }
    if (oh < 55) {
#pragma unroll
      for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NP * 2; j++)
#pragma unroll
          for (int r = 0; r < 4; r++) {
            const int ow = px0 + i * 16 + g + (r >> 1) * 8;
            const int oc = (wn * NP * 2 + j) * 8 + 2 * t + (r & 1);
            if (ow < 55) out[oc * 3025 + oh * 55 + ow] = acc[i][j][r] + bv[j][r & 1];
          }
    }
  }
}
extern "C" void level1_50_conv_standard_2D_square_input_square_kernel(const float* x,
    const float* conv1_weight, const float* conv1_bias, float* out, cudaStream_t stream) {
  pack_w<<<(WP / 4 + 255) / 256, 256, 0, stream>>>(conv1_weight);
  const int smem = (RING + WP) * 4;
  cudaFuncSetAttribute(conv_k, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  conv_k<<<dim3(256, ROW_SPLIT), NTHR, smem, stream>>>(x, conv1_bias, out);
}
