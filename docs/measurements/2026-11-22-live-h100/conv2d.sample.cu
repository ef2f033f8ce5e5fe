// conv2d: candidate c12 of run 1rx2np4jgm, 3.871 times as fast as the baseline (95 % interval 3.833 to 3.920, measured again in fresh processes) on NVIDIA H100 80GB HBM3
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune TW 28 32 56 64
// kforge: tune TH 4 8
// kforge: tune OCB 16 32 64
// kforge: tune CB 2 4 8
// kforge: require TW * TH * OCB <= 32768
#ifndef TW
#define TW 56
#endif
#ifndef TH
#define TH 4
#endif
#ifndef OCB
#define OCB 32
#endif
#ifndef CB
#define CB 8
#endif

#define STRIPS (TW / 4)
#define NP (STRIPS * TH)
#define THREADS (NP * (OCB / 8))
#define SX (TW + 4)
#define SW (OCB + 4)

__global__ void __launch_bounds__(THREADS) conv2d_kernel(const float *__restrict__ x, const float *__restrict__ w,
                                                         float *__restrict__ y, int in_channels, int out_channels,
                                                         int height, int width, int tiles_x, int tiles_y, int oc_blocks,
                                                         int vec)
{
    __shared__ __align__(16) float patch[CB][TH + 2][SX];
    __shared__ __align__(16) float filt[CB * 9][SW];
    const int t = threadIdx.x;
    const int pixel = t % NP, group = t / NP;
    const int sx = (pixel % STRIPS) * 4, sy = pixel / STRIPS;

    int64_t id = blockIdx.x;
    const int ob = (int)(id % oc_blocks);
    id /= oc_blocks;
    const int bx = (int)(id % tiles_x);
    id /= tiles_x;
    const int by = (int)(id % tiles_y);
    const int64_t b = id / tiles_y;
    const int o0 = ob * OCB, i0 = by * TH, j0 = bx * TW;
    const int64_t plane = (int64_t)height * width;

    float acc[8][4];
#pragma unroll
    for (int a = 0; a < 8; a++)
#pragma unroll
        for (int e = 0; e < 4; e++) acc[a][e] = 0.0f;

    for (int c0 = 0; c0 < in_channels; c0 += CB) {
        const int cn = in_channels - c0 < CB ? in_channels - c0 : CB;
        __syncthreads();
        const float *image = x + (b * in_channels + c0) * plane;
        for (int idx = t; idx < cn * (TH + 2) * (TW + 2); idx += THREADS) {
            int col = idx % (TW + 2), rest = idx / (TW + 2);
            int row = rest % (TH + 2), c = rest / (TH + 2);
            int gi = i0 + row - 1, gj = j0 + col - 1;
            float value = 0.0f;
            if (gi >= 0 && gi < height && gj >= 0 && gj < width) value = image[c * plane + (int64_t)gi * width + gj];
            patch[c][row][col] = value;
        }
        const int per = cn * 9;
        for (int idx = t; idx < per * OCB; idx += THREADS) {
            int r = idx % per, o = idx / per;
            filt[r][o] = o0 + o < out_channels ? w[((int64_t)(o0 + o) * in_channels + c0) * 9 + r] : 0.0f;
        }
        __syncthreads();

        for (int c = 0; c < cn; c++) {
#pragma unroll
            for (int p = 0; p < 3; p++) {
                float4 a = *(const float4 *)&patch[c][sy + p][sx];
                float2 d = *(const float2 *)&patch[c][sy + p][sx + 4];
                float in[6] = {a.x, a.y, a.z, a.w, d.x, d.y};
#pragma unroll
                for (int q = 0; q < 3; q++) {
                    const float *f = &filt[c * 9 + p * 3 + q][group * 8];
                    float4 f0 = *(const float4 *)f;
                    float4 f1 = *(const float4 *)(f + 4);
                    float wv[8] = {f0.x, f0.y, f0.z, f0.w, f1.x, f1.y, f1.z, f1.w};
#pragma unroll
                    for (int o = 0; o < 8; o++)
#pragma unroll
                        for (int e = 0; e < 4; e++) acc[o][e] += wv[o] * in[q + e];
                }
            }
        }
    }

    const int i = i0 + sy, j = j0 + sx;
    if (i >= height || j >= width) return;
#pragma unroll
    for (int a = 0; a < 8; a++) {
        int o = o0 + group * 8 + a;
        if (o < out_channels) {
            float *to = y + (b * out_channels + o) * plane + (int64_t)i * width + j;
            if (vec) {
                *(float4 *)to = make_float4(acc[a][0], acc[a][1], acc[a][2], acc[a][3]);
            } else {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (j + e < width) to[e] = acc[a][e];
            }
        }
    }
}

extern "C" void conv2d(const float *x, const float *w, float *y, int64_t batch, int64_t in_channels, int64_t out_channels,
                       int64_t height, int64_t width, cudaStream_t stream)
{
    if (batch <= 0 || out_channels <= 0 || height <= 0 || width <= 0) return;
    int64_t tiles_x = (width + TW - 1) / TW, tiles_y = (height + TH - 1) / TH, oc_blocks = (out_channels + OCB - 1) / OCB;
    int vec = width % 4 == 0 && (uintptr_t)y % 16 == 0;
    conv2d_kernel<<<(unsigned)(batch * tiles_x * tiles_y * oc_blocks), THREADS, 0, stream>>>(
        x, w, y, (int)in_channels, (int)out_channels, (int)height, (int)width, (int)tiles_x, (int)tiles_y, (int)oc_blocks, vec);
}
