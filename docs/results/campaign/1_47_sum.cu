// Sums dim 1: float4 lanes of a four-row period fed by private cp.async rings, then folded.
#include <cuda_runtime.h>
#include <stdint.h>
// kforge: tune BLOCK_LANES 128 256
// kforge: tune ROW_SPLIT 1 2 4
// kforge: tune RING_STAGES 2 3 4
#ifndef BLOCK_LANES
#define BLOCK_LANES 128
#endif
#ifndef ROW_SPLIT
#define ROW_SPLIT 2
#endif
#ifndef RING_STAGES
#define RING_STAGES 3
#endif
constexpr int BATCH = 128, ROWS = 4096, WIDTH = 4095, STEPS = ROWS / 4;
constexpr int N = STEPS / ROW_SPLIT, UN = 4, ST = RING_STAGES, GROUPS = N / UN;
constexpr int SMEM = ST * UN * BLOCK_LANES * 16;
__global__ void __launch_bounds__(BLOCK_LANES)
partial_kernel(const float4 *__restrict__ x, float4 *__restrict__ part) {
    extern __shared__ float4 ring[];
    const int q = blockIdx.x * BLOCK_LANES + threadIdx.x, sp = blockIdx.y, b = blockIdx.z;
    if (q >= WIDTH) return;
    const float4 *p = x + (size_t)b * WIDTH * STEPS + (size_t)sp * N * WIDTH + q;
    float4 *mine = ring + threadIdx.x;
    auto load = [&](int g) {
#pragma unroll
        for (int u = 0; u < UN; u++)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::
                         "r"((uint32_t)__cvta_generic_to_shared(
                             mine + ((g % ST) * UN + u) * BLOCK_LANES)),
                         "l"(p + (size_t)(g * UN + u) * WIDTH) : "memory");
    };
#pragma unroll
    for (int s = 0; s < ST - 1; s++) {
        load(s);
        asm volatile("cp.async.commit_group;\n" ::: "memory");
    }
    float4 acc = make_float4(0.f, 0.f, 0.f, 0.f);
    for (int g = 0; g < GROUPS; g++) {
        if (g + ST - 1 < GROUPS) load(g + ST - 1);
        asm volatile("cp.async.commit_group;\n" ::: "memory");
        asm volatile("cp.async.wait_group %0;\n" ::"n"(ST - 1) : "memory");
        float4 v[UN];
#pragma unroll
        for (int u = 0; u < UN; u++) v[u] = mine[((g % ST) * UN + u) * BLOCK_LANES];
        acc.x += (v[0].x + v[1].x) + (v[2].x + v[3].x);
        acc.y += (v[0].y + v[1].y) + (v[2].y + v[3].y);
        acc.z += (v[0].z + v[1].z) + (v[2].z + v[3].z);
        acc.w += (v[0].w + v[1].w) + (v[2].w + v[3].w);
    }
    part[((size_t)b * ROW_SPLIT + sp) * WIDTH + q] = acc;
}
__global__ void fold_kernel(const float *__restrict__ part, float *__restrict__ out) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
    if (c >= WIDTH) return;
    float s = 0.f;
#pragma unroll
    for (int sp = 0; sp < ROW_SPLIT; sp++) {
        const float *p = part + ((size_t)b * ROW_SPLIT + sp) * WIDTH * 4 + c;
        s += (p[0] + p[WIDTH]) + (p[2 * WIDTH] + p[3 * WIDTH]);
    }
    out[(size_t)b * WIDTH + c] = s;
}
extern "C" void level1_47_Sum_reduction_over_a_dimension(const float *x, float *out,
                                                         cudaStream_t stream) {
    float *part = nullptr;
    cudaMallocAsync((void **)&part, (size_t)BATCH * ROW_SPLIT * WIDTH * 16, stream);
    cudaFuncSetAttribute(partial_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM);
    dim3 grid((WIDTH + BLOCK_LANES - 1) / BLOCK_LANES, ROW_SPLIT, BATCH);
    partial_kernel<<<grid, BLOCK_LANES, SMEM, stream>>>((const float4 *)x, (float4 *)part);
    fold_kernel<<<dim3((WIDTH + 255) / 256, BATCH), 256, 0, stream>>>(part, out);
    cudaFreeAsync(part, stream);
}
