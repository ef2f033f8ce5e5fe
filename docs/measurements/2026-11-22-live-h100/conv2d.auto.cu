// conv2d: candidate c26 of run 1rx2np244w, 7.150 times as fast as the baseline (95 % interval 7.051 to 7.297, measured again in fresh processes) on NVIDIA H100 80GB HBM3
/* 3x3 convolution.
 * More than 4 input channels: fused Winograd F(2x2, 3x3), all in f32. A block takes 32 tiles of 2x2 outputs and 64 output channels;
 * each of its 8 warps takes two of the 16 frequencies and computes a 64 x 32 product for each, a thread 8 x 8 of it. Channels come 8
 * at a time; the next 8 are loaded to registers during the product, then transformed to the other half of shared memory.
 * Up to 4 input channels: a thread keeps the patch of 4 neighbouring outputs in registers and walks over output channels. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune UNROLL_C 1 2 4
// kforge: tune DIRECT_THREADS 64 128 256
// kforge: tune DIRECT_OC 8 16 32
#ifndef UNROLL_C
#define UNROLL_C 2
#endif
#ifndef DIRECT_THREADS
#define DIRECT_THREADS 128
#endif
#ifndef DIRECT_OC
#define DIRECT_OC 16
#endif

constexpr int unroll_channels = UNROLL_C;

#define THREADS 256
#define BC 8
#define OCB 64
#define NT 32
#define USTRIDE 68
#define U_FLOATS (16 * BC * USTRIDE)
#define V_FLOATS (16 * BC * NT)
#define STAGE (U_FLOATS + V_FLOATS)
#define SMEM_BYTES (2 * STAGE * 4)
#define ESTRIDE 48
#define E_FLOATS (16 * 8 * ESTRIDE)

__global__ void __launch_bounds__(THREADS, 1)
conv2d_winograd(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int in_channels, int out_channels,
                int height, int width, int tiles_x, int tiles_y, int64_t tiles, int vec)
{
    extern __shared__ __align__(16) float smem[]; /* two stages of U [16][BC][USTRIDE], V [16][BC][NT] */
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int o0 = blockIdx.y * OCB;
    const int64_t hw = (int64_t)height * width;

    /* this thread's tile, both when it loads (channel: warp) and when it stores */
    const int64_t tile = (int64_t)blockIdx.x * NT + lane;
    const bool live = tile < tiles;
    const int64_t tt = live ? tile : 0;
    const int col0 = (int)(tt % tiles_x) * 2;
    const int64_t rest = tt / tiles_x;
    const int row0 = (int)(rest % tiles_y) * 2;
    const int64_t image = rest / tiles_y;

    unsigned mask = 0;
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
            const int row = row0 + r - 1, col = col0 + c - 1;
            if (live && row >= 0 && row < height && col >= 0 && col < width) mask |= 1u << (r * 4 + c);
        }
    const int64_t corner = (int64_t)(row0 - 1) * width + (col0 - 1);
    const float *ximage = x + image * in_channels * hw;

    const int wc = tid & 7, wo = tid >> 3; /* filters: channel wc, output channels wo and wo + 32 */

    float d[16], f[2][9];

    auto fetch = [&](int c0) {
        const int c = c0 + warp;
        const unsigned has = c < in_channels ? mask : 0u;
        const float *plane = ximage + (int64_t)(c < in_channels ? c : 0) * hw;
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int q = 0; q < 4; q++)
                d[r * 4 + q] = (has >> (r * 4 + q)) & 1u ? __ldg(plane + (corner + (int64_t)r * width + q)) : 0.0f;
#pragma unroll
        for (int a = 0; a < 2; a++) {
            const int o = o0 + wo + a * 32;
            const bool ok = o < out_channels && c0 + wc < in_channels;
            const float *filter = w + (ok ? ((int64_t)o * in_channels + c0 + wc) * 9 : 0);
#pragma unroll
            for (int e = 0; e < 9; e++) f[a][e] = ok ? __ldg(filter + e) : 0.0f;
        }
    };

    auto transform = [&](float *stage) {
        float *us = stage, *vs = stage + U_FLOATS;
        {
            float t[16];
#pragma unroll
            for (int q = 0; q < 4; q++) {
                t[q] = d[q] - d[8 + q];
                t[4 + q] = d[4 + q] + d[8 + q];
                t[8 + q] = d[8 + q] - d[4 + q];
                t[12 + q] = d[4 + q] - d[12 + q];
            }
            float *to = vs + warp * NT + lane;
#pragma unroll
            for (int r = 0; r < 4; r++) {
                to[(r * 4 + 0) * BC * NT] = t[r * 4] - t[r * 4 + 2];
                to[(r * 4 + 1) * BC * NT] = t[r * 4 + 1] + t[r * 4 + 2];
                to[(r * 4 + 2) * BC * NT] = t[r * 4 + 2] - t[r * 4 + 1];
                to[(r * 4 + 3) * BC * NT] = t[r * 4 + 1] - t[r * 4 + 3];
            }
        }
#pragma unroll
        for (int a = 0; a < 2; a++) {
            float t[12];
#pragma unroll
            for (int q = 0; q < 3; q++) {
                const float ends = f[a][q] + f[a][6 + q];
                t[q] = f[a][q];
                t[3 + q] = 0.5f * (ends + f[a][3 + q]);
                t[6 + q] = 0.5f * (ends - f[a][3 + q]);
                t[9 + q] = f[a][6 + q];
            }
            float *to = us + wc * USTRIDE + wo + a * 32;
#pragma unroll
            for (int r = 0; r < 4; r++) {
                const float ends = t[r * 3] + t[r * 3 + 2];
                to[(r * 4 + 0) * BC * USTRIDE] = t[r * 3];
                to[(r * 4 + 1) * BC * USTRIDE] = 0.5f * (ends + t[r * 3 + 1]);
                to[(r * 4 + 2) * BC * USTRIDE] = 0.5f * (ends - t[r * 3 + 1]);
                to[(r * 4 + 3) * BC * USTRIDE] = t[r * 3 + 2];
            }
        }
    };

    float acc[2][8][8];
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++) acc[h][i][j] = 0.0f;

    const int og = lane >> 2, tg = lane & 3;
    const int chunks = (in_channels + BC - 1) / BC;
    if (chunks > 0) {
        fetch(0);
        transform(smem);
    }
    __syncthreads();

#pragma unroll 1
    for (int ch = 0; ch < chunks; ch++) {
        const bool more = ch + 1 < chunks;
        if (more) fetch((ch + 1) * BC);
        const float *stage = smem + (ch & 1) * STAGE;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float *up = stage + (2 * warp + h) * BC * USTRIDE + og * 4;
            const float *vp = stage + U_FLOATS + (2 * warp + h) * BC * NT + tg * 4;
#pragma unroll unroll_channels
            for (int c = 0; c < BC; c++) {
                const float4 u0 = *reinterpret_cast<const float4 *>(up + c * USTRIDE);
                const float4 u1 = *reinterpret_cast<const float4 *>(up + c * USTRIDE + 32);
                const float4 v0 = *reinterpret_cast<const float4 *>(vp + c * NT);
                const float4 v1 = *reinterpret_cast<const float4 *>(vp + c * NT + 16);
                const float uu[8] = {u0.x, u0.y, u0.z, u0.w, u1.x, u1.y, u1.z, u1.w};
                const float vv[8] = {v0.x, v0.y, v0.z, v0.w, v1.x, v1.y, v1.z, v1.w};
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int j = 0; j < 8; j++) acc[h][i][j] = fmaf(uu[i], vv[j], acc[h][i][j]);
            }
        }
        if (more) transform(smem + ((ch + 1) & 1) * STAGE);
        __syncthreads();
    }

    /* Eight passes of 8 output channels: all frequencies of a tile come together in one thread. Two buffers in turn. */
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float *exchange = smem + (i & 1) * E_FLOATS;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float *to = exchange + ((2 * warp + h) * 8 + og) * ESTRIDE + tg * 4;
            *reinterpret_cast<float4 *>(to) = make_float4(acc[h][i][0], acc[h][i][1], acc[h][i][2], acc[h][i][3]);
            *reinterpret_cast<float4 *>(to + 16) = make_float4(acc[h][i][4], acc[h][i][5], acc[h][i][6], acc[h][i][7]);
        }
        __syncthreads();
        const int o = o0 + (i >> 2) * 32 + warp * 4 + (i & 3);
        float t0[4], t1[4];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const float *from = exchange + (q * 8 + warp) * ESTRIDE + lane;
            const float m0 = from[0], m1 = from[4 * 8 * ESTRIDE], m2 = from[8 * 8 * ESTRIDE], m3 = from[12 * 8 * ESTRIDE];
            t0[q] = m0 + m1 + m2;
            t1[q] = m1 - m2 - m3;
        }
        if (live && o < out_channels) {
            float *to = y + (image * out_channels + o) * hw + (int64_t)row0 * width + col0;
            const float y00 = t0[0] + t0[1] + t0[2], y01 = t0[1] - t0[2] - t0[3];
            const float y10 = t1[0] + t1[1] + t1[2], y11 = t1[1] - t1[2] - t1[3];
            if (vec) {
                *reinterpret_cast<float2 *>(to) = make_float2(y00, y01);
                if (row0 + 1 < height) *reinterpret_cast<float2 *>(to + width) = make_float2(y10, y11);
            } else {
                to[0] = y00;
                if (col0 + 1 < width) to[1] = y01;
                if (row0 + 1 < height) {
                    to[width] = y10;
                    if (col0 + 1 < width) to[width + 1] = y11;
                }
            }
        }
    }
}

template <int C>
__global__ void __launch_bounds__(DIRECT_THREADS)
conv2d_direct(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int out_channels, int height,
              int width, int quads_x, int64_t quads, int vec)
{
    constexpr int WP = (9 * C + 3) / 4 * 4;
    __shared__ __align__(16) float ws[DIRECT_OC * WP];
    const int o0 = blockIdx.y * DIRECT_OC;
    const int count = min(DIRECT_OC, out_channels - o0);
    for (int e = threadIdx.x; e < DIRECT_OC * WP; e += DIRECT_THREADS) {
        const int o = e / WP, r = e % WP;
        ws[e] = o < count && r < 9 * C ? w[(int64_t)(o0 + o) * (9 * C) + r] : 0.0f;
    }
    __syncthreads();

    const int64_t quad = (int64_t)blockIdx.x * DIRECT_THREADS + threadIdx.x;
    if (quad >= quads) return;
    const int j0 = (int)(quad % quads_x) * 4;
    const int64_t rest = quad / quads_x;
    const int i = (int)(rest % height);
    const int64_t b = rest / height;
    const int64_t hw = (int64_t)height * width;

    float patch[C][3][6];
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int p = 0; p < 3; p++)
#pragma unroll
            for (int q = 0; q < 6; q++) {
                const int row = i + p - 1, col = j0 + q - 1;
                const bool ok = row >= 0 && row < height && col >= 0 && col < width;
                patch[c][p][q] = ok ? __ldg(x + (b * C + c) * hw + (int64_t)row * width + col) : 0.0f;
            }

    float *to = y + (b * out_channels + o0) * hw + (int64_t)i * width + j0;
#pragma unroll 1
    for (int o = 0; o < count; o++) {
        float f[WP];
#pragma unroll
        for (int e = 0; e < WP; e += 4) {
            const float4 u = *reinterpret_cast<const float4 *>(ws + o * WP + e);
            f[e] = u.x; f[e + 1] = u.y; f[e + 2] = u.z; f[e + 3] = u.w;
        }
        float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int c = 0; c < C; c++)
#pragma unroll
            for (int p = 0; p < 3; p++)
#pragma unroll
                for (int q = 0; q < 3; q++)
#pragma unroll
                    for (int e = 0; e < 4; e++) sum[e] = fmaf(f[c * 9 + p * 3 + q], patch[c][p][e + q], sum[e]);
        if (vec) {
            __stcs(reinterpret_cast<float4 *>(to), make_float4(sum[0], sum[1], sum[2], sum[3]));
        } else {
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (j0 + e < width) to[e] = sum[e];
        }
        to += hw;
    }
}

template <int C>
static void launch_direct(const float *x, const float *w, float *y, int64_t batch, int64_t out_channels, int64_t height,
                          int64_t width, cudaStream_t stream)
{
    const int64_t quads_x = (width + 3) / 4, quads = quads_x * height * batch;
    const int vec = width % 4 == 0 && ((uintptr_t)y & 15) == 0;
    const dim3 grid((unsigned)((quads + DIRECT_THREADS - 1) / DIRECT_THREADS), (unsigned)((out_channels + DIRECT_OC - 1) / DIRECT_OC));
    conv2d_direct<C><<<grid, DIRECT_THREADS, 0, stream>>>(x, w, y, (int)out_channels, (int)height, (int)width, (int)quads_x, quads, vec);
}

extern "C" void conv2d(const float *x, const float *w, float *y, int64_t batch, int64_t in_channels, int64_t out_channels,
                       int64_t height, int64_t width, cudaStream_t stream)
{
    if (batch <= 0 || out_channels <= 0 || height <= 0 || width <= 0) return;
    switch (in_channels) {
    case 1: launch_direct<1>(x, w, y, batch, out_channels, height, width, stream); return;
    case 2: launch_direct<2>(x, w, y, batch, out_channels, height, width, stream); return;
    case 3: launch_direct<3>(x, w, y, batch, out_channels, height, width, stream); return;
    case 4: launch_direct<4>(x, w, y, batch, out_channels, height, width, stream); return;
    default: break;
    }
    cudaFuncSetAttribute(conv2d_winograd, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES);
    const int64_t tiles_x = (width + 1) / 2, tiles_y = (height + 1) / 2, tiles = tiles_x * tiles_y * batch;
    const int vec = width % 2 == 0 && ((uintptr_t)y & 7) == 0;
    const dim3 grid((unsigned)((tiles + NT - 1) / NT), (unsigned)((out_channels + OCB - 1) / OCB));
    conv2d_winograd<<<grid, THREADS, SMEM_BYTES, stream>>>(x, w, y, (int)in_channels, (int)out_channels, (int)height, (int)width,
                                                          (int)tiles_x, (int)tiles_y, tiles, vec);
}
