// Mamba2 SSD output by its recurrence: one warp per (batch, head), state 16 x 64 in registers.
#include <cuda_runtime.h>
#include <stdint.h>
// kforge: tune BLOCK_WARPS 1 2 4 8
// kforge: tune MIN_BLOCKS 1 2
#ifndef BLOCK_WARPS
#define BLOCK_WARPS 4
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 2
#endif
constexpr int NBATCH = 2048, SEQ = 128, HEADS = 8, DH = 64, DS = 16, CH = 8;
__global__ void __launch_bounds__(BLOCK_WARPS * 32, MIN_BLOCKS)
ssd_kernel(const float *__restrict__ X, const float *__restrict__ A, const float *__restrict__ B,
           const float *__restrict__ C, float *__restrict__ out) {
    __shared__ float4 sb[BLOCK_WARPS][CH * 4], sc[BLOCK_WARPS][CH * 4];
    const int w = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int item = blockIdx.x * BLOCK_WARPS + w;
    const int b = item / HEADS, h = item % HEADS;
    const size_t row0 = (size_t)b * SEQ * HEADS + h;
    const float2 *xp = (const float2 *)(X + row0 * DH) + lane;
    float2 *op = (float2 *)(out + row0 * DH) + lane;
    const int bt = lane >> 2, bq = lane & 3;
    const float4 *bp = (const float4 *)(B + (row0 + (size_t)bt * HEADS) * DS) + bq;
    const float4 *cp = (const float4 *)(C + (row0 + (size_t)bt * HEADS) * DS) + bq;
    const float *ap = A + row0 + (size_t)(lane & 7) * HEADS;
    constexpr int XS = HEADS * DH / 2, BS = CH * HEADS * DS / 4;
    float2 st[DS];
#pragma unroll
    for (int n = 0; n < DS; n++) st[n] = make_float2(0.f, 0.f);
    float2 xn[CH];
    float4 bn = __ldcs(bp), cn = __ldcs(cp);
    float an = __ldg(ap);
#pragma unroll
    for (int i = 0; i < CH; i++) xn[i] = __ldcs(xp + i * XS);
    for (int t = 0; t < SEQ; t += CH) {
        float2 xv[CH];
#pragma unroll
        for (int i = 0; i < CH; i++) xv[i] = xn[i];
        __syncwarp();
        sb[w][lane] = bn;
        sc[w][lane] = cn;
        const float ea = expf(an);
        __syncwarp();
        if (t + CH < SEQ) {
            const int c = t / CH + 1;
            bn = __ldcs(bp + (size_t)c * BS);
            cn = __ldcs(cp + (size_t)c * BS);
            an = __ldg(ap + (size_t)c * CH * HEADS);
#pragma unroll
            for (int i = 0; i < CH; i++) xn[i] = __ldcs(xp + (size_t)(t + CH + i) * XS);
        }
#pragma unroll
        for (int i = 0; i < CH; i++) {
            const float e = __shfl_sync(0xffffffffu, ea, i);
            float2 y0 = make_float2(0.f, 0.f), y1 = y0;
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const float4 bv = sb[w][i * 4 + q], cv = sc[w][i * 4 + q];
                const float bb[4] = {bv.x, bv.y, bv.z, bv.w}, cc[4] = {cv.x, cv.y, cv.z, cv.w};
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    float2 &s = st[q * 4 + k];
                    s.x = fmaf(e, s.x, bb[k] * xv[i].x);
                    s.y = fmaf(e, s.y, bb[k] * xv[i].y);
                    float2 &y = (k & 1) ? y1 : y0;
                    y.x = fmaf(cc[k], s.x, y.x);
                    y.y = fmaf(cc[k], s.y, y.y);
                }
            }
            __stcs(op + (size_t)(t + i) * XS, make_float2(y0.x + y1.x, y0.y + y1.y));
        }
    }
}
extern "C" void level3_48_Mamba2ReturnY(const float *X, const float *A, const float *B,
                                        const float *C, float *out, cudaStream_t stream) {
    ssd_kernel<<<NBATCH * HEADS / BLOCK_WARPS, BLOCK_WARPS * 32, 0, stream>>>(X, A, B, C, out);
}
