// Row-wise inclusive scan with the whole row of a block in registers and a single barrier.
#include <cuda_runtime.h>
#include <stdint.h>
// kforge: tune MIN_BLOCKS 1
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
constexpr int ROWS = 32768, ROW4 = 32768 / 4, NTH = 1024, V = ROW4 / NTH;
__global__ void __launch_bounds__(NTH, MIN_BLOCKS)
scan_kernel(const float4 *__restrict__ x, float4 *__restrict__ out) {
    __shared__ float sums[32];
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    const size_t at = (size_t)blockIdx.x * ROW4 + w * (32 * V) + lane;
    float4 v[V];
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = __ldcs(x + at + i * 32);
    float run = 0.f;
#pragma unroll
    for (int i = 0; i < V; i++) {
        v[i].y += v[i].x;
        v[i].w += v[i].z;
        v[i].z += v[i].y;
        v[i].w += v[i].y;
        float s = v[i].w;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            const float y = __shfl_up_sync(0xffffffffu, s, d);
            if (lane >= d) s += y;
        }
        float before = __shfl_up_sync(0xffffffffu, s, 1);
        before = (lane ? before : 0.f) + run;
        run += __shfl_sync(0xffffffffu, s, 31);
        v[i].x += before;
        v[i].y += before;
        v[i].z += before;
        v[i].w += before;
    }
    if (lane == 0) sums[w] = run;
    __syncthreads();
    float t = sums[lane];
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const float y = __shfl_up_sync(0xffffffffu, t, d);
        if (lane >= d) t += y;
    }
    t = __shfl_sync(0xffffffffu, t, w ? w - 1 : 0);
    const float a = w ? t : 0.f;
#pragma unroll
    for (int i = 0; i < V; i++)
        __stcs(out + at + i * 32,
               make_float4(v[i].x + a, v[i].y + a, v[i].z + a, v[i].w + a));
}
extern "C" void level1_89_cumsum(const float *x, float *out, cudaStream_t stream) {
    scan_kernel<<<ROWS, NTH, 0, stream>>>((const float4 *)x, (float4 *)out);
}
