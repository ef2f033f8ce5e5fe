/* Convolution through windows with CHANNELS x COLUMNS elements of y a thread in registers: each
 * number of a window is used for CHANNELS output channels, each number of a filter for COLUMNS
 * neighbouring windows (Lu, Chu and Liu, "Im2win", 2022, section 3). */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune CHANNELS 1 2 4 8
// kforge: tune COLUMNS 1 2 4
// kforge: tune THREADS 32 64 128 256
#ifndef CHANNELS
#define CHANNELS 4
#endif
#ifndef COLUMNS
#define COLUMNS 2
#endif
#ifndef THREADS
#define THREADS 128
#endif

struct shapes {
    int in_channels, out_channels, width, size, stride, out_height, out_width;
};

__global__ void __launch_bounds__(THREADS)
    make_windows(const float *__restrict__ x, float *__restrict__ windows, int height, shapes s)
{
    /* A block has one row of the output and one channel; a thread a column of the image. */
    const int64_t image = blockIdx.y;
    const int i = blockIdx.x;
    const float *from = x + (image * height + i * s.stride) * s.width;
    float *to = windows + (image * s.out_height + i) * s.width * s.size;
    for (int v = threadIdx.x; v < s.width; v += THREADS)
        for (int p = 0; p < s.size; p++) to[v * s.size + p] = from[(int64_t)p * s.width + v];
}

__global__ void __launch_bounds__(THREADS)
    convolve(const float *__restrict__ windows, const float *__restrict__ w, float *__restrict__ y,
             shapes s, int64_t threads)
{
    const int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (k >= threads) return;
    const int parts = (s.out_width + COLUMNS - 1) / COLUMNS;
    const int groups = (s.out_channels + CHANNELS - 1) / CHANNELS;
    const int part = (int)(k % parts), i = (int)(k / parts % s.out_height);
    const int first = (int)(k / ((int64_t)parts * s.out_height) % groups) * CHANNELS;
    const int64_t b = k / ((int64_t)parts * s.out_height * groups);
    const int area = s.size * s.size;
    /* Behind the last column or channel the last one is computed again, and not written. */
    int start[COLUMNS];
    int64_t filter[CHANNELS];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        const int column = part + j * parts;
        start[j] = (column < s.out_width ? column : s.out_width - 1) * s.stride * s.size;
    }
#pragma unroll
    for (int o = 0; o < CHANNELS; o++) {
        const int channel = first + o < s.out_channels ? first + o : s.out_channels - 1;
        filter[o] = (int64_t)channel * s.in_channels * area;
    }
    float sum[CHANNELS][COLUMNS] = {};
    for (int c = 0; c < s.in_channels; c++) {
        const float *row =
            windows + ((b * s.in_channels + c) * s.out_height + i) * s.width * s.size;
        const float *weights = w + (int64_t)c * area;
        for (int q = 0; q < s.size; q++)
            for (int p = 0; p < s.size; p++) {
                float u[COLUMNS], v[CHANNELS];
#pragma unroll
                for (int j = 0; j < COLUMNS; j++) u[j] = row[start[j] + q * s.size + p];
#pragma unroll
                for (int o = 0; o < CHANNELS; o++) v[o] = weights[filter[o] + p * s.size + q];
#pragma unroll
                for (int o = 0; o < CHANNELS; o++)
#pragma unroll
                    for (int j = 0; j < COLUMNS; j++) sum[o][j] = fmaf(v[o], u[j], sum[o][j]);
            }
    }
#pragma unroll
    for (int o = 0; o < CHANNELS; o++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            const int column = part + j * parts;
            if (first + o < s.out_channels && column < s.out_width)
                y[((b * s.out_channels + first + o) * s.out_height + i) * s.out_width + column] =
                    sum[o][j];
        }
}

extern "C" void conv_im2win(const float *x, const float *w, float *y, float *windows, int64_t batch,
                            int64_t in_channels, int64_t out_channels, int64_t height,
                            int64_t width, int64_t size, int64_t stride, cudaStream_t stream)
{
    const shapes s = {(int)in_channels,
                      (int)out_channels,
                      (int)width,
                      (int)size,
                      (int)stride,
                      (int)((height - size) / stride + 1),
                      (int)((width - size) / stride + 1)};
    const int64_t threads = batch * ((out_channels + CHANNELS - 1) / CHANNELS) * s.out_height *
                            ((s.out_width + COLUMNS - 1) / COLUMNS);
    make_windows<<<dim3((unsigned)s.out_height, (unsigned)(batch * in_channels)), THREADS, 0,
                   stream>>>(x, windows, (int)height, s);
    convolve<<<(unsigned)((threads + THREADS - 1) / THREADS), THREADS, 0, stream>>>(windows, w, y,
                                                                                    s, threads);
}
