// Row softmax: a persistent 8-CTA cluster keeps one row in shared memory, one read, one write.

#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <float.h>
#include <stdint.h>
namespace cg = cooperative_groups;

// kforge: tune CTA_THREADS 512 1024
#ifndef CTA_THREADS
#define CTA_THREADS 512
#endif
constexpr int ROWS = 4096, COLS = 393216, CL = 8, PER = COLS / CL, CHUNK = 4096;
constexpr int NCH = PER / CHUNK, SMEM = PER * 4, V4 = CHUNK / 4 / CTA_THREADS;

__device__ __forceinline__ void merge(float& m, float& s, float m2, float s2) {
  float nm = fmaxf(m, m2);
  s = s * expf(m - nm) + s2 * expf(m2 - nm);
  m = nm;
}
// Reduces (m, s) over the block and the cluster; slots holds CL pairs, red 32 pairs.
__device__ __forceinline__ void reduce_all(cg::cluster_group& cl, float2* red, float2* slots,
                                           float& m, float& s) {
  for (int o = 16; o; o >>= 1) {
    float m2 = __shfl_xor_sync(~0u, m, o), s2 = __shfl_xor_sync(~0u, s, o);
    merge(m, s, m2, s2);
  }
  int w = threadIdx.x >> 5, l = threadIdx.x & 31;
  if (l == 0) red[w] = make_float2(m, s);
  __syncthreads();
  if (w == 0) {
    float2 p = l < (int)(blockDim.x >> 5) ? red[l] : make_float2(-FLT_MAX, 0.f);
    m = p.x; s = p.y;
    for (int o = 16; o; o >>= 1) {
      float m2 = __shfl_xor_sync(~0u, m, o), s2 = __shfl_xor_sync(~0u, s, o);
      merge(m, s, m2, s2);
    }
    if (l < CL) *cl.map_shared_rank(slots + cl.block_rank(), l) = make_float2(m, s);
  }
  cl.sync();
  m = slots[0].x; s = slots[0].y;
  for (int i = 1; i < CL; i++) merge(m, s, slots[i].x, slots[i].y);
}

__device__ __forceinline__ uint32_t sa(const void* p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void bulk_load(float* dst, const float* src, uint64_t* bar) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sa(bar)),
               "r"(CHUNK * 4) : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      ::"r"(sa(dst)), "l"(src), "r"(CHUNK * 4), "r"(sa(bar)) : "memory");
}
__device__ __forceinline__ void wait_bar(uint64_t* bar, uint32_t ph) {
  uint32_t ok = 0;
  while (!ok)
    asm volatile(
        "{ .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        " selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(sa(bar)), "r"(ph) : "memory");
}

__global__ void __launch_bounds__(CTA_THREADS, 1) softmax_k(const float* x, float* out) {
  extern __shared__ __align__(128) float buf[];
  __shared__ __align__(8) uint64_t bars[NCH];
  __shared__ float2 red[32], slots[2][CL];
  cg::cluster_group cl = cg::this_cluster();
  const int tid = threadIdx.x, rank = cl.block_rank();
  const int ncl = gridDim.x / CL;
  int row = blockIdx.x / CL;
  if (tid == 0) {
    for (int c = 0; c < NCH; c++)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sa(&bars[c])));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  cl.sync();
  if (tid == 0 && row < ROWS)
    for (int c = 0; c < NCH; c++)
      bulk_load(buf + c * CHUNK, x + (size_t)row * COLS + rank * PER + c * CHUNK, &bars[c]);
  uint32_t ph = 0;
  for (; row < ROWS; row += ncl, ph ^= 1) {
    float m = -FLT_MAX, s = 0.f;
    for (int c = 0; c < NCH; c++) {
      wait_bar(&bars[c], ph);
      const float4* p = (const float4*)(buf + c * CHUNK);
#pragma unroll
      for (int i = 0; i < V4; i++) {
        float4 v = p[tid + i * CTA_THREADS];
        float nm = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
        s = s * expf(m - nm) + (expf(v.x - nm) + expf(v.y - nm)) +
            (expf(v.z - nm) + expf(v.w - nm));
        m = nm;
      }
    }
    reduce_all(cl, red, slots[ph], m, s);
    const float inv = 1.f / s;
    const int next = row + ncl;

    float* o = out + (size_t)row * COLS + rank * PER;
    for (int c = 0; c < NCH; c++) {
      const float4* p = (const float4*)(buf + c * CHUNK);
#pragma unroll
      for (int i = 0; i < V4; i++) {
        float4 v = p[tid + i * CTA_THREADS];
        v.x = expf(v.x - m) * inv; v.y = expf(v.y - m) * inv;
        v.z = expf(v.z - m) * inv; v.w = expf(v.w - m) * inv;
        __stcs((float4*)(o + c * CHUNK) + tid + i * CTA_THREADS, v);
      }
      __syncthreads();
      if (tid == 0 && next < ROWS)
        bulk_load(buf + c * CHUNK, x + (size_t)next * COLS + rank * PER + c * CHUNK, &bars[c]);
    }
  }
  cl.sync();
}

extern "C" void level1_23_Softmax(const float* x, float* out, cudaStream_t stream) {
  cudaFuncSetAttribute(softmax_k, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM);
  
  cudaLaunchConfig_t cfg = {};
  cfg.blockDim = dim3(CTA_THREADS);
  cfg.dynamicSmemBytes = SMEM;
  cfg.stream = stream;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeClusterDimension;
  at[0].val.clusterDim.x = CL;
  at[0].val.clusterDim.y = 1;
  at[0].val.clusterDim.z = 1;
  cfg.attrs = at;
  cfg.numAttrs = 1;
  cfg.gridDim = dim3(CL * 16);
  int ncl = 0;
  if (cudaOccupancyMaxActiveClusters(&ncl, softmax_k, &cfg) != cudaSuccess || ncl < 1) ncl = 16;
  cfg.gridDim = dim3(CL * ncl);
  cudaLaunchKernelEx(&cfg, softmax_k, x, out);
}
