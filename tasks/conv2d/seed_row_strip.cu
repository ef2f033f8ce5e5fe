/* 3x3 convolution without shared memory or barriers: a thread computes CHANNELS output channels of STRIP consecutive pixels of one
 * row. For each input channel it copies the three rows that it needs into a local buffer with zeros around them, then every weight
 * meets a whole strip in a loop over consecutive pixels, which a CPU's compiler turns into SIMD FMAs. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune CHANNELS 1 2 4 8
// kforge: tune STRIP 1 4 16 32 48 64
// kforge: tune THREADS 1 4 8 32 128
// kforge: require CHANNELS * STRIP <= 512
#ifndef CHANNELS
#define CHANNELS 4
#endif
#ifndef STRIP
#define STRIP 16
#endif
#ifndef THREADS
#define THREADS 8
#endif

__global__ void conv2d_kernel(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int in_channels,
                              int out_channels, int height, int width, int strips)
{
    /* Neighbouring threads take neighbouring strips of the same channels. */
    int place = blockIdx.x * THREADS + threadIdx.x, i = place / strips, j0 = place % strips * STRIP, o0 = blockIdx.y * CHANNELS;
    if (i >= height) return;
    int count = width - j0 < STRIP ? width - j0 : STRIP;
    float sum[CHANNELS][STRIP];
    for (int o = 0; o < CHANNELS; o++)
        for (int k = 0; k < STRIP; k++) sum[o][k] = 0.0f;
    for (int c = 0; c < in_channels; c++) {
        const float *image = x + ((int64_t)blockIdx.z * in_channels + c) * height * width;
        float rows[3][STRIP + 2];
        for (int p = 0; p < 3; p++) {
            bool inside = i + p >= 1 && i + p <= height;
            const float *row = image + (int64_t)(i + p - 1) * width + j0 - 1;
            if (inside && j0 > 0 && j0 + STRIP < width) {
                for (int k = 0; k < STRIP + 2; k++) rows[p][k] = row[k];
            } else {
                for (int k = 0; k < STRIP + 2; k++) rows[p][k] = inside && j0 + k >= 1 && j0 + k <= width ? row[k] : 0.0f;
            }
        }
        for (int o = 0; o < CHANNELS && o0 + o < out_channels; o++) {
            const float *filter = w + ((int64_t)(o0 + o) * in_channels + c) * 9;
            float f0 = filter[0], f1 = filter[1], f2 = filter[2], f3 = filter[3], f4 = filter[4], f5 = filter[5], f6 = filter[6],
                  f7 = filter[7], f8 = filter[8];
            for (int k = 0; k < STRIP; k++) {
                float total = sum[o][k];
                total = fmaf(f0, rows[0][k], fmaf(f1, rows[0][k + 1], fmaf(f2, rows[0][k + 2], total)));
                total = fmaf(f3, rows[1][k], fmaf(f4, rows[1][k + 1], fmaf(f5, rows[1][k + 2], total)));
                total = fmaf(f6, rows[2][k], fmaf(f7, rows[2][k + 1], fmaf(f8, rows[2][k + 2], total)));
                sum[o][k] = total;
            }
        }
    }
    for (int o = 0; o < CHANNELS && o0 + o < out_channels; o++) {
        float *to = y + (((int64_t)blockIdx.z * out_channels + o0 + o) * height + i) * width + j0;
        for (int k = 0; k < count; k++) to[k] = sum[o][k];
    }
}

extern "C" void conv2d(const float *x, const float *w, float *y, int64_t batch, int64_t in_channels, int64_t out_channels,
                       int64_t height, int64_t width, cudaStream_t stream)
{
    int strips = (int)((width + STRIP - 1) / STRIP);
    dim3 grid((unsigned)((strips * height + THREADS - 1) / THREADS), (unsigned)((out_channels + CHANNELS - 1) / CHANNELS),
              (unsigned)batch);
    conv2d_kernel<<<grid, THREADS, 0, stream>>>(x, w, y, (int)in_channels, (int)out_channels, (int)height, (int)width, strips);
}
