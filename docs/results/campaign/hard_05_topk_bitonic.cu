// Finds the top k of each row in one launch from a threshold of ranked group maxima.
// kforge: tune GROUP_LANES 2 4
// kforge: tune SPLIT_ITEMS 2 4
#ifndef GROUP_LANES
#define GROUP_LANES 4
#endif
#ifndef SPLIT_ITEMS
#define SPLIT_ITEMS 2
#endif

#include <cuda_runtime.h>
#include <stdint.h>
typedef unsigned long long u64;
__device__ __forceinline__ u64 make_key(float f, uint32_t idx) {
  uint32_t b = __float_as_uint(f);
  uint32_t o = (b & 0x80000000u) ? ~b : (b | 0x80000000u);
  if (f != f) o = 0xffffffffu;
  if (f == 0.f) o = 0x80000000u;
  return ((u64)o << 32) | (uint32_t)~idx;
}
__device__ __forceinline__ u64 umax(u64 a, u64 b) { return a > b ? a : b; }

// Threads hold ITEMS keys each; any GRP-lane group maximum that ranks k-th bounds the k-th key.
template <int THR, int ITEMS, int GRP, class F>
__device__ __forceinline__ void block_topk(u64 (&key)[ITEMS], int k, u64* gmax, u64* cand,
                                           int* cnt, u64* thr, F put) {
  constexpr int NG = THR / GRP;
  const int tid = threadIdx.x;
  u64 m = 0;
#pragma unroll
  for (int i = 0; i < ITEMS; i++) m = umax(m, key[i]);
#pragma unroll
  for (int o = 1; o < GRP; o <<= 1) m = umax(m, __shfl_xor_sync(~0u, m, o));
  if (tid % GRP == 0) gmax[tid / GRP] = m;
  if (tid == 0) *cnt = 0, *thr = 1;
  __syncthreads();
  if (tid < NG) {
    const u64 mine = gmax[tid];
    int r = 0;
#pragma unroll 8
    for (int j = 0; j < NG; j++) r += gmax[j] > mine;
    if (r == k - 1 && mine != 0) *thr = mine;
  }
  __syncthreads();
  const u64 lim = *thr;
#pragma unroll
  for (int i = 0; i < ITEMS; i++)
    if (key[i] >= lim) cand[atomicAdd(cnt, 1)] = key[i];
  __syncthreads();
  const int c = *cnt;
  for (int i = tid; i < c; i += THR) {
    const u64 mine = cand[i];
    int r = 0;
#pragma unroll 4
    for (int j = 0; j < c; j++) r += cand[j] > mine;
    if (r < k) put(r, mine);
  }
}
// Any shape: the rank of every element by counting.
__global__ void rank_k(const float* x, float* v, int64_t* ix, int64_t n, int64_t k) {
  const float* row = x + blockIdx.y * n;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
       i += (int64_t)gridDim.x * blockDim.x) {
    const u64 a = make_key(row[i], 0) >> 32;
    int64_t r = 0;
    for (int64_t j = 0; j < n && r < k; j++) {
      const u64 b = make_key(row[j], 0) >> 32;
      r += b > a || (b == a && j < i);
    }
    if (r < k) v[blockIdx.y * k + r] = row[i], ix[blockIdx.y * k + r] = i;
  }
}

__device__ unsigned int tickets[4096];
__device__ u64 parts[4096 * 64];
template <int THR, int ITEMS>
__device__ __forceinline__ void load_keys(const float* p, int base, int n, u64 (&key)[ITEMS]) {
  constexpr int VEC = ITEMS % 4 == 0 ? 4 : 2;
  if ((n & 3) == 0 && ((uintptr_t)p & 15) == 0) {
#pragma unroll
    for (int i = 0; i < ITEMS / VEC; i++) {
      const int e = base + (i * THR + threadIdx.x) * VEC;
      float f[VEC];
#pragma unroll
      for (int j = 0; j < VEC; j++) f[j] = 0.f;
      if (e < n) {
        if (VEC == 4) {
          const float4 w = __ldg((const float4*)(p + e));
          f[0] = w.x, f[1] = w.y, f[VEC - 2] = w.z, f[VEC - 1] = w.w;
        } else {
          const float2 w = __ldg((const float2*)(p + e));
          f[0] = w.x, f[1] = w.y;
        }
      }
#pragma unroll
      for (int j = 0; j < VEC; j++) key[i * VEC + j] = e < n ? make_key(f[j], e + j) : 0;
    }
  } else {
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      const int e = base + i * THR + threadIdx.x;
      key[i] = e < n ? make_key(p[e], e) : 0;
    }
  }
}
template <int THR, int ITEMS>
__global__ void __launch_bounds__(THR) row_k(const float* __restrict__ x, float* v, int64_t* ix,
                                             int n, int k) {
  __shared__ u64 gmax[THR / GROUP_LANES], thr;
  __shared__ u64 cand[64 * GROUP_LANES * (ITEMS > 8 ? ITEMS : 8)];
  __shared__ int cnt, win;
  const size_t row = blockIdx.y;
  const float* p = x + row * n;
  u64 key[ITEMS];
  load_keys<THR, ITEMS>(p, blockIdx.x * THR * ITEMS, n, key);
  auto fin = [&](int r, u64 w) {
    const uint32_t id = ~(uint32_t)w;
    v[row * k + r] = p[id];
    ix[row * k + r] = id;
  };
  if (gridDim.x == 1) {
    block_topk<THR, ITEMS, GROUP_LANES>(key, k, gmax, cand, &cnt, &thr, fin);
    return;
  }
  u64* all = parts + row * gridDim.x * 64;
  u64* q = all + blockIdx.x * 64;
  for (int i = threadIdx.x; i < 64; i += THR) q[i] = 0;
  block_topk<THR, ITEMS, GROUP_LANES>(key, k, gmax, cand, &cnt, &thr,
                                      [&](int r, u64 w) { q[r] = w; });
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) win = atomicAdd(&tickets[row], 1u) == gridDim.x - 1;
  __syncthreads();
  if (!win) return;
  __threadfence();
  if (threadIdx.x == 0) tickets[row] = 0;
  u64 kk[8];
  const int total = gridDim.x * 64;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int e = i * THR + threadIdx.x;
    kk[i] = e < total ? __ldcg(all + e) : 0;
  }
  block_topk<THR, 8, GROUP_LANES>(kk, k, gmax, cand, &cnt, &thr, fin);
}
extern "C" void task_05_topk_bitonic(const float* x, float* out0, int64_t* out1, int64_t batch,
                                     int64_t n, int64_t k, cudaStream_t stream) {
  if (batch <= 0 || n <= 0 || k <= 0) return;
  const int nn = (int)n, kk = (int)k;
  const int64_t per = 1024 * SPLIT_ITEMS, chunks = (n + per - 1) / per;
  const dim3 one(1, (unsigned)batch);
  if (k <= 64 && batch <= 65535 && n <= 16384) {
    if (n <= 4096)
      row_k<1024, 4><<<one, 1024, 0, stream>>>(x, out0, out1, nn, kk);
    else if (n <= 8192)
      row_k<1024, 8><<<one, 1024, 0, stream>>>(x, out0, out1, nn, kk);
    else if (n <= 12288)
      row_k<1024, 12><<<one, 1024, 0, stream>>>(x, out0, out1, nn, kk);
    else
      row_k<1024, 16><<<one, 1024, 0, stream>>>(x, out0, out1, nn, kk);
  } else if (k <= 64 && chunks <= 128 && batch * chunks <= 4096) {
    row_k<1024, SPLIT_ITEMS><<<dim3((unsigned)chunks, (unsigned)batch), 1024, 0, stream>>>(
        x, out0, out1, nn, kk);
  } else {
    for (int64_t b = 0; b < batch; b += 65535) {
      const int64_t c = batch - b < 65535 ? batch - b : 65535;
      const int64_t g = (n + 255) / 256;
      rank_k<<<dim3((unsigned)(g < 4096 ? g : 4096), (unsigned)c), 256, 0, stream>>>(
          x + b * n, out0 + b * k, out1 + b * k, n, k);
    }
  }
}
