// LayerNorm: cooperative, the last tiles of each block stay in shared memory over the barrier.

#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <stdint.h>
constexpr int ROWS = 16, COLS = 64 * 256 * 256, C4 = COLS / 4;
namespace cg = cooperative_groups;
constexpr int NT = 1024, WID = 256, TILES = C4 / WID, KEEP = 3, RPT = 4;
constexpr int SMEM = KEEP * ROWS * WID * 16;
__device__ double2 part[ROWS * 1024];

__device__ __forceinline__ void add4(float4 v, float sh, float& s, float& q) {
  v.x -= sh; v.y -= sh; v.z -= sh; v.w -= sh;
  s += (v.x + v.y) + (v.z + v.w);
  q += (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
}
__device__ __forceinline__ float4 norm4(float4 v, float mu, float r, float4 w, float4 b) {
  return make_float4((v.x - mu) * r * w.x + b.x, (v.y - mu) * r * w.y + b.y,
                     (v.z - mu) * r * w.z + b.z, (v.w - mu) * r * w.w + b.w);
}
// Turns the sums around the shift into mean and inverse deviation.
__device__ __forceinline__ float2 finish(double s, double q, float sh) {
  double d = s / COLS, var = q / COLS - d * d;
  if (var < 0) var = 0;
  return make_float2((float)(sh + d), (float)(1.0 / sqrt(var + 1e-5)));
}

__global__ void __launch_bounds__(NT, 1) ln_k(const float4* x, const float4* w, const float4* b,
                                              float4* out) {
  extern __shared__ __align__(16) float4 kept[];
  __shared__ double2 red[ROWS][8];
  __shared__ float2 st[ROWS];
  const int tid = threadIdx.x, l = tid & 31, wi = tid >> 5, PN = gridDim.x;
  const int tx = tid & 255, r0 = (tid >> 8) * RPT;
  float sh[RPT], s[RPT] = {}, q[RPT] = {};
#pragma unroll
  for (int r = 0; r < RPT; r++) sh[r] = ((const float*)x)[(size_t)(r0 + r) * COLS];
  const int cnt = (TILES - 1 - (int)blockIdx.x) / PN + 1;  // tiles of this block
  const float4* p = x + (size_t)r0 * C4 + tx;
  for (int k = 0; k < cnt; k++) {
    const size_t c = (size_t)(blockIdx.x + k * PN) * WID;
    float4 v[RPT];
#pragma unroll
    for (int r = 0; r < RPT; r++) v[r] = p[r * (size_t)C4 + c];
    const int slot = k - (cnt - KEEP);
#pragma unroll
    for (int r = 0; r < RPT; r++) {
      add4(v[r], sh[r], s[r], q[r]);
      if (slot >= 0) kept[(slot * ROWS + r0 + r) * WID + tx] = v[r];
    }
  }
#pragma unroll
  for (int r = 0; r < RPT; r++) {
    double ds = s[r], dq = q[r];
    for (int o = 16; o; o >>= 1) {
      ds += __shfl_xor_sync(~0u, ds, o);
      dq += __shfl_xor_sync(~0u, dq, o);
    }
    if (l == 0) red[r0 + r][wi & 7] = make_double2(ds, dq);
  }
  __syncthreads();
  if (tid < ROWS) {
    double ds = 0, dq = 0;
    for (int i = 0; i < 8; i++) { ds += red[tid][i].x; dq += red[tid][i].y; }
    part[tid * PN + blockIdx.x] = make_double2(ds, dq);
  }
  cg::this_grid().sync();
  for (int r = wi; r < ROWS; r += NT / 32) {
    double ds = 0, dq = 0;
    for (int i = l; i < PN; i += 32) {
      const double2 p = part[(size_t)r * PN + i];
      ds += p.x; dq += p.y;
    }
    for (int o = 16; o; o >>= 1) {
      ds += __shfl_xor_sync(~0u, ds, o);
      dq += __shfl_xor_sync(~0u, dq, o);
    }
    if (l == 0) st[r] = finish(ds, dq, ((const float*)x)[(size_t)r * COLS]);
  }
  __syncthreads();
  for (int k = cnt - 1; k >= 0; k--) {
    const size_t c = (size_t)(blockIdx.x + k * PN) * WID + tx;
    const int slot = k - (cnt - KEEP);
    float4 v[RPT];
    if (slot >= 0) {
#pragma unroll
      for (int r = 0; r < RPT; r++) v[r] = kept[(slot * ROWS + r0 + r) * WID + tx];
    } else {
#pragma unroll
      for (int r = 0; r < RPT; r++) v[r] = __ldcs(x + (size_t)(r0 + r) * C4 + c);
    }
    const float4 wv = w[c], bv = b[c];
#pragma unroll
    for (int r = 0; r < RPT; r++)
      __stcs(out + (size_t)(r0 + r) * C4 + c, norm4(v[r], st[r0 + r].x, st[r0 + r].y, wv, bv));
  }
}
extern "C" void level1_40_LayerNorm(const float* x, const float* ln_weight,
                                    const float* ln_bias, float* out, cudaStream_t stream) {
  int dev = 0, sms = 132;
  cudaGetDevice(&dev);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, dev);
  cudaFuncSetAttribute(ln_k, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM);
  const float4 *xv = (const float4*)x, *wv = (const float4*)ln_weight;
  const float4* bv = (const float4*)ln_bias;
  float4* ov = (float4*)out;
  void* args[] = {&xv, &wv, &bv, &ov};
  cudaLaunchCooperativeKernel((void*)ln_k, dim3(sms), dim3(NT), args, (size_t)SMEM, stream);
}
