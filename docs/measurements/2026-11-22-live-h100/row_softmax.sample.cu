// row_softmax: candidate c9 of run 1rx2np5je4, 3.954 times as fast as the baseline (95 % interval 3.908 to 4.046, measured again in fresh processes) on NVIDIA H100 80GB HBM3
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <math.h>
#include <stdint.h>

namespace cg = cooperative_groups;

// kforge: tune BLOCK_SIZE 128 256 512
// kforge: tune WARP_BLOCK 64 128 256
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef WARP_BLOCK
#define WARP_BLOCK 128
#endif

#define WIDE_THREADS 1024
#define WIDE_NV 8
#define CLUSTER 8

__device__ __forceinline__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2) v += __shfl_xor_sync(0xffffffffu, v, s);
    return v;
}

__device__ __forceinline__ float warp_max(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, s));
    return v;
}

template <int THREADS>
__device__ __forceinline__ float block_sum(float v, float *partial)
{
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
    __syncthreads();
    return warp_sum(threadIdx.x % 32 < THREADS / 32 ? partial[threadIdx.x % 32] : 0.0f);
}

template <int THREADS>
__device__ __forceinline__ float block_max(float v, float *partial)
{
    v = warp_max(v);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
    __syncthreads();
    return warp_max(threadIdx.x % 32 < THREADS / 32 ? partial[threadIdx.x % 32] : -INFINITY);
}

/* GROUP threads a row: 32 (several rows a block) or the whole block; with CLUSTERED, CLUSTER blocks a row. */
template <int NV, int GROUP, int THREADS, bool CLUSTERED>
__global__ void __launch_bounds__(THREADS) softmax_registers(const float *__restrict__ x, float *__restrict__ y, int64_t rows,
                                                             int vectors, int chunk)
{
    __shared__ float partial[2][32];
    __shared__ float shared_max, shared_sum;
    const int t = threadIdx.x % GROUP;
    int64_t row;
    int begin = 0, end = vectors;
    if (CLUSTERED) {
        row = blockIdx.x / CLUSTER;
        begin = (int)(blockIdx.x % CLUSTER) * chunk;
        end = begin + chunk < vectors ? begin + chunk : vectors;
    } else {
        row = (int64_t)blockIdx.x * (THREADS / GROUP) + threadIdx.x / GROUP;
        if (row >= rows) return; /* whole warps; never with GROUP == THREADS */
    }
    const float4 *from = reinterpret_cast<const float4 *>(x) + row * vectors;
    float4 *to = reinterpret_cast<float4 *>(y) + row * vectors;

    float4 v[NV];
#pragma unroll
    for (int u = 0; u < NV; u++) {
        int j = begin + t + u * GROUP;
        v[u] = j < end ? __ldcs(from + j) : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    }
    float largest = -INFINITY;
#pragma unroll
    for (int u = 0; u < NV; u++) largest = fmaxf(largest, fmaxf(fmaxf(v[u].x, v[u].y), fmaxf(v[u].z, v[u].w)));
    if (GROUP == 32) largest = warp_max(largest);
    else largest = block_max<THREADS>(largest, partial[0]);

    const float base = CLUSTERED && largest == -INFINITY ? 0.0f : largest;
    float sum = 0.0f;
#pragma unroll
    for (int u = 0; u < NV; u++) {
        v[u].x = expf(v[u].x - base);
        v[u].y = expf(v[u].y - base);
        v[u].z = expf(v[u].z - base);
        v[u].w = expf(v[u].w - base);
        sum += (v[u].x + v[u].y) + (v[u].z + v[u].w);
    }
    if (GROUP == 32) sum = warp_sum(sum);
    else sum = block_sum<THREADS>(sum, partial[1]);

    float factor;
    if (CLUSTERED) {
        cg::cluster_group cluster = cg::this_cluster();
        if (threadIdx.x == 0) {
            shared_max = largest;
            shared_sum = sum;
        }
        cluster.sync();
        float ms[CLUSTER], all = -INFINITY, total = 0.0f;
#pragma unroll
        for (int r = 0; r < CLUSTER; r++) {
            ms[r] = *cluster.map_shared_rank(&shared_max, r);
            all = fmaxf(all, ms[r]);
        }
#pragma unroll
        for (int r = 0; r < CLUSTER; r++) total += *cluster.map_shared_rank(&shared_sum, r) * expf(ms[r] - all);
        factor = expf(largest - all) / total;
        cluster.sync();
    } else {
        factor = 1.0f / sum;
    }

#pragma unroll
    for (int u = 0; u < NV; u++) {
        int j = begin + t + u * GROUP;
        if (j < end) __stcs(to + j, make_float4(v[u].x * factor, v[u].y * factor, v[u].z * factor, v[u].w * factor));
    }
}

/* Any shape and alignment: three passes. */
__global__ void __launch_bounds__(512) softmax_any(const float *__restrict__ x, float *__restrict__ y, int64_t cols)
{
    __shared__ float partial[2][32];
    const float *from = x + (int64_t)blockIdx.x * cols;
    float *to = y + (int64_t)blockIdx.x * cols;
    float largest = -INFINITY;
    for (int64_t j = threadIdx.x; j < cols; j += 512) largest = fmaxf(largest, from[j]);
    largest = block_max<512>(largest, partial[0]);
    float sum = 0.0f;
    for (int64_t j = threadIdx.x; j < cols; j += 512) sum += expf(from[j] - largest);
    sum = block_sum<512>(sum, partial[1]);
    for (int64_t j = threadIdx.x; j < cols; j += 512) to[j] = expf(from[j] - largest) / sum;
}

template <int NV>
static void launch_warp(const float *x, float *y, int64_t rows, int vectors, cudaStream_t stream)
{
    const int per = WARP_BLOCK / 32;
    softmax_registers<NV, 32, WARP_BLOCK, false>
        <<<(unsigned)((rows + per - 1) / per), WARP_BLOCK, 0, stream>>>(x, y, rows, vectors, 0);
}

template <int NV>
static void launch_block(const float *x, float *y, int64_t rows, int vectors, cudaStream_t stream)
{
    softmax_registers<NV, BLOCK_SIZE, BLOCK_SIZE, false><<<(unsigned)rows, BLOCK_SIZE, 0, stream>>>(x, y, rows, vectors, 0);
}

extern "C" void row_softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    if (rows <= 0 || cols <= 0) return;
    bool aligned = cols % 4 == 0 && (((uintptr_t)x | (uintptr_t)y) & 15) == 0;
    int64_t vectors = cols / 4;
    int v = (int)(vectors < 100000000 ? vectors : 100000000);
    if (aligned && vectors <= 32) launch_warp<1>(x, y, rows, v, stream);
    else if (aligned && vectors <= 64) launch_warp<2>(x, y, rows, v, stream);
    else if (aligned && vectors <= 128) launch_warp<4>(x, y, rows, v, stream);
    else if (aligned && vectors <= 256) launch_warp<8>(x, y, rows, v, stream);
    else if (aligned && vectors <= BLOCK_SIZE) launch_block<1>(x, y, rows, v, stream);
    else if (aligned && vectors <= BLOCK_SIZE * 2) launch_block<2>(x, y, rows, v, stream);
    else if (aligned && vectors <= BLOCK_SIZE * 4) launch_block<4>(x, y, rows, v, stream);
    else if (aligned && vectors <= BLOCK_SIZE * 8) launch_block<8>(x, y, rows, v, stream);
    else if (aligned && vectors <= (int64_t)WIDE_THREADS * WIDE_NV * CLUSTER && rows <= 100000000) {
        int chunk = (v + CLUSTER - 1) / CLUSTER;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3((unsigned)(rows * CLUSTER));
        config.blockDim = dim3(WIDE_THREADS);
        config.dynamicSmemBytes = 0;
        config.stream = stream;
        cudaLaunchAttribute attribute[1];
        attribute[0].id = cudaLaunchAttributeClusterDimension;
        attribute[0].val.clusterDim.x = CLUSTER;
        attribute[0].val.clusterDim.y = 1;
        attribute[0].val.clusterDim.z = 1;
        config.attrs = attribute;
        config.numAttrs = 1;
        cudaLaunchKernelEx(&config, softmax_registers<WIDE_NV, WIDE_THREADS, WIDE_THREADS, true>, x, y, rows, v, chunk);
    } else softmax_any<<<(unsigned)rows, 512, 0, stream>>>(x, y, cols);
}
