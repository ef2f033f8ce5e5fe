// Convolves 3x3 by tf32 mma directly in NCHW, with ReLU and bias fused into the epilogue.
// kforge: tune PIPE_STAGES 2
#ifndef PIPE_STAGES
#define PIPE_STAGES 2
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

constexpr int ROWS = 1, ICC = 8, NCH = 64 / ICC, ST = PIPE_STAGES, RS = 136, PS = 408;
constexpr int WGM = 2, WGN = 2, NTHR = WGM * WGN * 32;
constexpr int MT = 8 / WGM, NT = ROWS * 16 / WGN;
constexpr int WSZ = ICC / 8 * 9 * 8 * 128, STG = WSZ + ICC * PS;
static_assert(16 % NT == 0, "a warp stays in one row");
__device__ float4 wpack[8 * 9 * 8 * 32];
__global__ void pack_w(const float* __restrict__ w) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int lane = i & 31, mt = (i >> 5) & 7, tap = (i >> 8) % 9, ch = (i >> 8) / 9;
  const int g = lane >> 2, t = lane & 3;
  float v[4];
#pragma unroll
  for (int e = 0; e < 4; e++) {
    const int oc = mt * 16 + g + (e & 1) * 8, ic = ch * 8 + t + (e >> 1) * 4;
    v[e] = __uint_as_float(tf32r(w[(oc * 64 + ic) * 9 + tap]));
  }
  wpack[i] = make_float4(v[0], v[1], v[2], v[3]);
}
__device__ __forceinline__ void load_stage(float* s, const float* x, int ch, int y0) {
  for (int i = threadIdx.x; i < WSZ / 4; i += NTHR)
    cp16(s + i * 4, (const float*)(wpack + (size_t)ch * (WSZ / 4) + i));
  float* d = s + WSZ;
  for (int i = threadIdx.x; i < ICC * (ROWS + 2) * 32; i += NTHR) {
    const int v = (i & 31) * 4, r = (i >> 5) % (ROWS + 2), c = (i >> 5) / (ROWS + 2);
    int y = y0 + r;
    if (y > 127) y = 127;
    cp16(d + c * PS + r * RS + v, x + ((size_t)(ch * ICC + c) * 128 + y) * 128 + v);
  }
}
__global__ void __launch_bounds__(NTHR, 2) conv_k(const float* __restrict__ x,
    const float* __restrict__ cbias, const float* __restrict__ bias, float* __restrict__ out) {
  extern __shared__ __align__(16) float sm[];
  const int y0 = blockIdx.x * ROWS;
  x += (size_t)blockIdx.y * 64 * 128 * 128;
  out += (size_t)blockIdx.y * 128 * 126 * 126;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int wm = warp / WGN, wn = warp % WGN;
  const int row = wn * NT / 16, px0 = (wn * NT % 16) * 8;
  float acc[MT][NT][4];
#pragma unroll
  for (int i = 0; i < MT; i++)
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
      for (int r = 0; r < 4; r++) acc[i][j][r] = 0.f;
#pragma unroll
  for (int s = 0; s < ST - 1; s++) {
    if (s < NCH) load_stage(sm + s * STG, x, s, y0);
    cp_commit();
  }
  for (int kc = 0; kc < NCH; kc++) {
    cp_wait<ST - 2>();
    __syncthreads();
    if (kc + ST - 1 < NCH) load_stage(sm + (kc + ST - 1) % ST * STG, x, kc + ST - 1, y0);
    cp_commit();
    const float* s = sm + kc % ST * STG;
#pragma unroll 1
    for (int c8 = 0; c8 < ICC / 8; c8++) {
      const float4* wf = (const float4*)s + c8 * 9 * 256 + wm * MT * 32 + lane;
      const float* xs = s + WSZ + (c8 * 8 + t) * PS + row * RS + px0 + g;
#pragma unroll
      for (int tap = 0; tap < 9; tap++) {
        const float* xp = xs + tap / 3 * RS + tap % 3;
        uint32_t b[NT][2];
#pragma unroll
        for (int j = 0; j < NT; j++) {
          b[j][0] = tf32r(xp[j * 8]);
          b[j][1] = tf32r(xp[j * 8 + 4 * PS]);
        }
#pragma unroll
        for (int i = 0; i < MT; i++) {
          const float4 w = wf[tap * 256 + i * 32];
          const uint32_t a[4] = {__float_as_uint(w.x), __float_as_uint(w.y), __float_as_uint(w.z),
                                 __float_as_uint(w.w)};
#pragma unroll
          for (int j = 0; j < NT; j++) mma8(acc[i][j], a, b[j][0], b[j][1]);
        }
      }
    }
  }
  cp_wait<0>();
  const int oy = y0 + row;
  if (oy >= 126) return;
#pragma unroll
  for (int i = 0; i < MT; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int oc = (wm * MT + i) * 16 + g + 8 * h;
      const float cb = cbias[oc], bb = bias[oc];
      float* o = out + ((size_t)oc * 126 + oy) * 126;
#pragma unroll
      for (int j = 0; j < NT; j++) {
        const int px = px0 + j * 8 + 2 * t;
        if (px < 126)
          *(float2*)(o + px) = make_float2(fmaxf(acc[i][j][2 * h] + cb, 0.f) + bb,
                                           fmaxf(acc[i][j][2 * h + 1] + cb, 0.f) + bb);
      }
    }
}
extern "C" void level2_1_Conv2D_ReLU_BiasAdd(const float* x, const float* bias,
    const float* conv_weight, const float* conv_bias, float* out, cudaStream_t stream) {
  pack_w<<<8 * 9, 256, 0, stream>>>(conv_weight);
  const int smem = ST * STG * 4;
  cudaFuncSetAttribute(conv_k, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  conv_k<<<dim3((126 + ROWS - 1) / ROWS, 128), NTHR, smem, stream>>>(x, conv_bias, bias, out);
}
