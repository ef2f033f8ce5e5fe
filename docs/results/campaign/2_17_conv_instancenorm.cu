// tf32 implicit-GEMM convolution with fused instance statistics, then one normalising pass.
#include <cuda_runtime.h>
#include <stdint.h>
// kforge: tune RING_STAGES 2 3 4
// kforge: tune IMAGE_GROUP 4 8 16 32 128
#ifndef RING_STAGES
#define RING_STAGES 3
#endif
#ifndef IMAGE_GROUP
#define IMAGE_GROUP 128
#endif
__device__ __forceinline__ uint32_t smem_addr(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void cp16(uint32_t dst, const void *src) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(dst), "l"(src) : "memory");
}
__device__ __forceinline__ void cp_commit() {
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}
template <int P> __device__ __forceinline__ void cp_wait() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(P) : "memory");
}
__device__ __forceinline__ void mma_tf32(float (&d)[4], const uint4 &a, uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}
constexpr int NIMG = 128, CI = 64, CO = 128, HI = 128, WI = 128, HO = 126, WO = 126;
constexpr int ST = RING_STAGES, TR = 2, NT = 8, CHUNKS = CI / 8, TILES = HO / TR;
constexpr int RS = 132;                                   // floats between input rows
constexpr int CS = ((TR + 2) * RS + 31) / 32 * 32 + 8;    // between channels: 8 mod 32 banks
constexpr int IN_BYTES = 8 * CS * 4, W_BYTES = 9 * 8 * CO * 4, STAGE = IN_BYTES + W_BYTES;
constexpr int SMEM = ST * STAGE + 4 * CO * 8;
// Weights in tf32, in the order of the A fragments: [chunk][tap][oc / 16][lane][4].
__global__ void pack_kernel(const float *__restrict__ w, uint32_t *__restrict__ pk) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= CO * CI * 9) return;
    const int e = i & 3, lane = (i >> 2) & 31, mt = (i >> 7) & 7, r = i >> 10;
    const int tap = r % 9, chunk = r / 9;
    const int oc = mt * 16 + (lane >> 2) + (e & 1) * 8, ic = chunk * 8 + (lane & 3) + (e >> 1) * 4;
    uint32_t t;
    asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(t) : "f"(w[(oc * CI + ic) * 9 + tap]));
    pk[i] = t;
}
__global__ void __launch_bounds__(256, 1)
conv_kernel(const float *__restrict__ x, const uint32_t *__restrict__ pk,
            const float *__restrict__ bias, float *__restrict__ out, float2 *__restrict__ stats,
            int image0, int images) {
    extern __shared__ __align__(128) unsigned char smem[];
    float2 *red = (float2 *)(smem + ST * STAGE);          // [4][CO]
    const uint32_t base = smem_addr(smem);
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int wm = warp & 1, wn = warp >> 1;
    const int wrow = wn >> 1, wcol = (wn & 1) * 64;
    const int total = images * TILES;
    const int mine = total > (int)blockIdx.x ? (total - 1 - (int)blockIdx.x) / (int)gridDim.x +
            1 : 0;
    auto load = [&](int it) {
        const int tile = blockIdx.x + (it / CHUNKS) * gridDim.x, chunk = it % CHUNKS;
        const int n = image0 + tile / TILES, y0 = tile % TILES * TR;
        const uint32_t s = base + (it % ST) * STAGE;
        const float *src = x + (((size_t)n * CI + chunk * 8) * HI + y0) * WI;
#pragma unroll
        for (int i = 0; i < TR + 2; i++) {
            const int ch = tid >> 5, c = tid & 31;
            cp16(s + (ch * CS + i * RS + c * 4) * 4, src + ((size_t)ch * HI + i) * WI + c * 4);
        }
#pragma unroll
        for (int i = 0; i < 9; i++)
            cp16(s + IN_BYTES + (i * 256 + tid) * 16,
                 pk + (size_t)chunk * (9 * 8 * CO) + (i * 256 + tid) * 4);
    };
    const int its = mine * CHUNKS;
#pragma unroll
    for (int s = 0; s < ST - 1; s++) {
        if (s < its) load(s);
        cp_commit();
    }
    float acc[4][NT][4];
    for (int it = 0; it < its; it++) {
        cp_wait<ST - 2>();
        __syncthreads();
        if (it + ST - 1 < its) load(it + ST - 1);
        cp_commit();
        if (it % CHUNKS == 0) {
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < NT; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++) acc[i][j][e] = 0.f;
        }
        const unsigned char *st = smem + (it % ST) * STAGE;
        const uint32_t *in = (const uint32_t *)st + (lane & 3) * CS + wrow * RS + wcol +
                (lane >> 2);
        const uint4 *wt = (const uint4 *)(st + IN_BYTES) + wm * 4 * 32 + lane;
#pragma unroll
        for (int tap = 0; tap < 9; tap++) {
            uint4 a[4];
#pragma unroll
            for (int i = 0; i < 4; i++) a[i] = wt[(tap * 8 + i) * 32];
#pragma unroll
            for (int j = 0; j < NT; j++) {
                const int o = (tap / 3) * RS + tap % 3 + j * 8;
                const uint32_t b0 = in[o] + 0x1000u, b1 = in[o + 4 * CS] + 0x1000u;
#pragma unroll
                for (int i = 0; i < 4; i++) mma_tf32(acc[i][j], a[i], b0, b1);
            }
        }
        if (it % CHUNKS == CHUNKS - 1) {
            const int tile = blockIdx.x + (it / CHUNKS) * gridDim.x;
            const int n = image0 + tile / TILES, y0 = tile % TILES * TR;
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const int oc = wm * 64 + i * 16 + h * 8 + (lane >> 2);
                    const float bv = __ldg(bias + oc);
                    float *o = out + (((size_t)n * CO + oc) * HO + y0 + wrow) * WO;
                    float s = 0.f, q = 0.f;
#pragma unroll
                    for (int j = 0; j < NT; j++) {
                        const int px = wcol + j * 8 + (lane & 3) * 2;
                        const float v0 = acc[i][j][h * 2] + bv, v1 = acc[i][j][h * 2 + 1] + bv;
                        if (px < WO) {
                            *(float2 *)(o + px) = make_float2(v0, v1);
                            s += v0 + v1;
                            q += v0 * v0 + v1 * v1;
                        }
                    }
                    s += __shfl_xor_sync(0xffffffffu, s, 1);
                    q += __shfl_xor_sync(0xffffffffu, q, 1);
                    s += __shfl_xor_sync(0xffffffffu, s, 2);
                    q += __shfl_xor_sync(0xffffffffu, q, 2);
                    if ((lane & 3) == 0) red[wn * CO + oc] = make_float2(s, q);
                }
            __syncthreads();
            if (tid < CO) {
                float2 r = make_float2(0.f, 0.f);
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    r.x += red[k * CO + tid].x;
                    r.y += red[k * CO + tid].y;
                }
                stats[((size_t)n * CO + tid) * TILES + tile % TILES] = r;
            }
        }
    }
}
// One (image, channel) plane a block: statistics from the tile sums, then scaling in place.
__global__ void __launch_bounds__(256)
norm_kernel(float *__restrict__ out, const float2 *__restrict__ stats, int image0) {
    __shared__ double rs[8], rq[8];
    const int tid = threadIdx.x;
    const size_t plane = (size_t)image0 * CO + blockIdx.x;
    float4 *p = (float4 *)(out + plane * (HO * WO));
    double s = 0.0, q = 0.0;
    for (int i = tid; i < TILES; i += 256) {
        const float2 v = stats[plane * TILES + i];
        s += v.x;
        q += v.y;
    }
#pragma unroll
    for (int d = 16; d; d >>= 1) {
        s += __shfl_xor_sync(0xffffffffu, s, d);
        q += __shfl_xor_sync(0xffffffffu, q, d);
    }
    if ((tid & 31) == 0) {
        rs[tid >> 5] = s;
        rq[tid >> 5] = q;
    }
    __syncthreads();
    s = q = 0.0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        s += rs[i];
        q += rq[i];
    }
    const double mean = s / (HO * WO), var = fmax(q / (HO * WO) - mean * mean, 0.0);
    const float m = (float)mean, k = 0.5f / sqrtf((float)var + 1e-5f);
#pragma unroll 4
    for (int i = tid; i < HO * WO / 4; i += 256) {
        const float4 v = p[i];
        p[i] = make_float4((v.x - m) * k, (v.y - m) * k, (v.z - m) * k, (v.w - m) * k);
    }
}
extern "C" void level2_17_Conv2d_InstanceNorm_Divide(const float *x, const float *conv_weight,
                                                     const float *conv_bias, float *out,
                                                     cudaStream_t stream) {
    unsigned char *buf = nullptr;
    const size_t wbytes = (size_t)CO * CI * 9 * 4;
    cudaMallocAsync((void **)&buf, wbytes + (size_t)NIMG * CO * TILES * sizeof(float2), stream);
    uint32_t *pk = (uint32_t *)buf;
    float2 *stats = (float2 *)(buf + wbytes);
    int dev = 0, sms = 132;
    cudaGetDevice(&dev);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, dev);
    cudaFuncSetAttribute(conv_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM);
    pack_kernel<<<(CO * CI * 9 + 255) / 256, 256, 0, stream>>>(conv_weight, pk);
    for (int n = 0; n < NIMG; n += IMAGE_GROUP) {
        conv_kernel<<<sms, 256, SMEM, stream>>>(x, pk, conv_bias, out, stats, n, IMAGE_GROUP);
        norm_kernel<<<IMAGE_GROUP * CO, 256, 0, stream>>>(out, stats, n);
    }
    cudaFreeAsync(buf, stream);
}
