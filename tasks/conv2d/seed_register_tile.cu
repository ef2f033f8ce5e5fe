/* 3x3 convolution with a register tile: a block computes OUT channels of a patch of TILE_Y x TILE_X pixels; it walks over the
 * input channels DEPTH at a time, with their patches (and a rim of 1) and weights in shared memory. Each thread keeps CHANNELS x
 * PIXELS sums in registers: the 3 x (PIXELS + 2) inputs that it loads per channel serve CHANNELS outputs each, and a weight, the
 * same for a whole warp and so a broadcast, serves PIXELS. Weights lie with the output channel fastest, so that 4 of them come in
 * one 16-byte load. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune CHANNELS 4 8 16
// kforge: tune PIXELS 1 2 4 7
// kforge: tune TILE_X 14 28 32 56
// kforge: tune TILE_Y 4 7 8 14 16
// kforge: tune GROUPS 1 2 4 8
// kforge: tune DEPTH 1 2 4 8
// kforge: require TILE_X % PIXELS == 0
// kforge: require TILE_X / PIXELS * TILE_Y * GROUPS <= 1024
// kforge: require TILE_X / PIXELS * TILE_Y * GROUPS >= 64
// kforge: require CHANNELS * PIXELS <= 64
// kforge: require DEPTH * ((TILE_Y + 2) * (TILE_X + 2) + 9 * CHANNELS * GROUPS) <= 11000
#ifndef CHANNELS
#define CHANNELS 8
#endif
#ifndef PIXELS
#define PIXELS 4
#endif
#ifndef TILE_X
#define TILE_X 56
#endif
#ifndef TILE_Y
#define TILE_Y 7
#endif
/* groups of threads that share a patch; each has its own CHANNELS output channels */
#ifndef GROUPS
#define GROUPS 8
#endif
#ifndef DEPTH
#define DEPTH 8
#endif
#define COLUMNS (TILE_X / PIXELS) /* threads along x */
#define GROUP (COLUMNS * TILE_Y)  /* threads of a group */
#define THREADS (GROUP * GROUPS)
#define OUT (CHANNELS * GROUPS)

__global__ void __launch_bounds__(THREADS)
    conv2d_kernel(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int in_channels,
                  int out_channels, int height, int width, int patches_x)
{
    __shared__ float patch[DEPTH][TILE_Y + 2][TILE_X + 2];
    __shared__ __align__(16) float weights[DEPTH][9][OUT];
    const int thread = threadIdx.x, group = thread / GROUP, tx = thread % GROUP % COLUMNS * PIXELS, ty = thread % GROUP / COLUMNS;
    const int i0 = blockIdx.x / patches_x * TILE_Y, j0 = blockIdx.x % patches_x * TILE_X, o0 = blockIdx.y * OUT;
    const float *image = x + (int64_t)blockIdx.z * in_channels * height * width;

    float sum[CHANNELS][PIXELS] = {};
    for (int c0 = 0; c0 < in_channels; c0 += DEPTH) {
        for (int k = thread; k < DEPTH * (TILE_Y + 2) * (TILE_X + 2); k += THREADS) {
            int c = k / ((TILE_Y + 2) * (TILE_X + 2)), p = k / (TILE_X + 2) % (TILE_Y + 2), q = k % (TILE_X + 2);
            int row = i0 + p - 1, column = j0 + q - 1;
            bool inside = c0 + c < in_channels && row >= 0 && row < height && column >= 0 && column < width;
            patch[c][p][q] = inside ? image[((int64_t)(c0 + c) * height + row) * width + column] : 0.0f;
        }
        for (int k = thread; k < DEPTH * 9 * OUT; k += THREADS) {
            /* a filter's taps are consecutive in memory */
            int tap = k % (DEPTH * 9), o = k / (DEPTH * 9);
            bool inside = o0 + o < out_channels && c0 + tap / 9 < in_channels;
            weights[tap / 9][tap % 9][o] = inside ? w[((int64_t)(o0 + o) * in_channels + c0) * 9 + tap] : 0.0f;
        }
        __syncthreads();
#pragma unroll 1
        for (int c = 0; c < DEPTH; c++) {
#pragma unroll
            for (int p = 0; p < 3; p++) {
                float in[PIXELS + 2];
#pragma unroll
                for (int q = 0; q < PIXELS + 2; q++) in[q] = patch[c][ty + p][tx + q];
#pragma unroll
                for (int q = 0; q < 3; q++) {
                    float filter[CHANNELS];
#pragma unroll
                    for (int o = 0; o < CHANNELS; o += 4)
                        *(float4 *)&filter[o] = *(const float4 *)&weights[c][p * 3 + q][group * CHANNELS + o];
#pragma unroll
                    for (int o = 0; o < CHANNELS; o++)
#pragma unroll
                        for (int k = 0; k < PIXELS; k++) sum[o][k] = fmaf(filter[o], in[k + q], sum[o][k]);
                }
            }
        }
        __syncthreads();
    }

    const int i = i0 + ty;
#pragma unroll
    for (int o = 0; o < CHANNELS; o++) {
        int channel = o0 + group * CHANNELS + o;
        if (channel >= out_channels || i >= height) continue;
        float *to = y + (((int64_t)blockIdx.z * out_channels + channel) * height + i) * width;
#pragma unroll
        for (int k = 0; k < PIXELS; k++)
            if (j0 + tx + k < width) to[j0 + tx + k] = sum[o][k];
    }
}

extern "C" void conv2d(const float *x, const float *w, float *y, int64_t batch, int64_t in_channels, int64_t out_channels,
                       int64_t height, int64_t width, cudaStream_t stream)
{
    int patches_x = (int)((width + TILE_X - 1) / TILE_X), patches_y = (int)((height + TILE_Y - 1) / TILE_Y);
    dim3 grid((unsigned)(patches_x * patches_y), (unsigned)((out_channels + OUT - 1) / OUT), (unsigned)batch);
    conv2d_kernel<<<grid, THREADS, 0, stream>>>(x, w, y, (int)in_channels, (int)out_channels, (int)height, (int)width, patches_x);
}
