// RMS norm over dim 1: feature groups keep a column tile in registers and reduce via shared memory.
#include <cuda_runtime.h>
#include <stdint.h>
// kforge: tune LANES_X 32 64
// kforge: tune GROUPS_Y 4 8 16
// kforge: require LANES_X * GROUPS_Y <= 512
#ifndef LANES_X
#define LANES_X 32
#endif
#ifndef GROUPS_Y
#define GROUPS_Y 8
#endif
constexpr int NF = 64, NB = 112, PLANE4 = 512 * 512 / 4;
__global__ void __launch_bounds__(LANES_X * GROUPS_Y)
rms_kernel(const float4 *__restrict__ x, float4 *__restrict__ out) {
    constexpr int PER = NF / GROUPS_Y;
    __shared__ float4 red[GROUPS_Y][LANES_X];
    const int lane = threadIdx.x, g = threadIdx.y;
    constexpr int TILES = PLANE4 / LANES_X;
    const int b = blockIdx.x / TILES, t = blockIdx.x % TILES;
    const size_t base = ((size_t)b * NF + (size_t)g * PER) * PLANE4 + (size_t)t * LANES_X + lane;
    float4 v[PER];
#pragma unroll
    for (int i = 0; i < PER; i++) v[i] = __ldcs(x + base + (size_t)i * PLANE4);
    float4 s = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll
    for (int i = 0; i < PER; i++) {
        s.x += v[i].x * v[i].x; s.y += v[i].y * v[i].y;
        s.z += v[i].z * v[i].z; s.w += v[i].w * v[i].w;
    }
    red[g][lane] = s;
    __syncthreads();
    s = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll
    for (int i = 0; i < GROUPS_Y; i++) {
        float4 r = red[i][lane];
        s.x += r.x; s.y += r.y; s.z += r.z; s.w += r.w;
    }
    const float4 k = make_float4(1.f / sqrtf(s.x * (1.f / NF) + 1e-5f),
                                 1.f / sqrtf(s.y * (1.f / NF) + 1e-5f),
                                 1.f / sqrtf(s.z * (1.f / NF) + 1e-5f),
                                 1.f / sqrtf(s.w * (1.f / NF) + 1e-5f));
#pragma unroll
    for (int i = 0; i < PER; i++)
        __stcs(out + base + (size_t)i * PLANE4,
               make_float4(v[i].x * k.x, v[i].y * k.y, v[i].z * k.z, v[i].w * k.w));
}
extern "C" void level1_36_RMSNorm(const float *x, float *out, cudaStream_t stream) {
    dim3 block(LANES_X, GROUPS_Y);
    rms_kernel<<<NB * (PLANE4 / LANES_X), block, 0, stream>>>((const float4 *)x, (float4 *)out);
}
