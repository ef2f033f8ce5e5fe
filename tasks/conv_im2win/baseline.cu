/* Convolution through windows (Lu, Chu and Liu, "Im2win: memory efficient convolution on SIMD
 * architectures", 2022): one launch writes, for each row of the output, the rows of the image that
 * it needs, column after column. A window then is size * size consecutive numbers, and neighbouring
 * windows overlap. The second launch has a thread an element of y. Cost: the windows take about
 * size times the image's memory traffic; two loads an FMA. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void make_windows(const float *x, float *windows, int64_t height, int64_t width,
                             int64_t size, int64_t stride, int64_t out_height, int64_t count)
{
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    const int64_t p = k % size, v = k / size % width;
    const int64_t i = k / (size * width) % out_height, image = k / (size * width * out_height);
    windows[k] = x[(image * height + i * stride + p) * width + v];
}

__global__ void convolve(const float *windows, const float *w, float *y, int64_t in_channels,
                         int64_t out_channels, int64_t width, int64_t size, int64_t stride,
                         int64_t out_height, int64_t out_width, int64_t count)
{
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    const int64_t j = k % out_width, i = k / out_width % out_height;
    const int64_t o = k / (out_width * out_height) % out_channels;
    const int64_t b = k / (out_width * out_height * out_channels);
    float sum = 0.0f;
    for (int64_t c = 0; c < in_channels; c++) {
        const float *row = windows + ((b * in_channels + c) * out_height + i) * width * size;
        const float *window = row + j * stride * size;
        const float *filter = w + (o * in_channels + c) * size * size;
        for (int q = 0; q < size; q++)
            for (int p = 0; p < size; p++) sum += filter[p * size + q] * window[q * size + p];
    }
    y[k] = sum;
}

extern "C" void conv_im2win(const float *x, const float *w, float *y, float *windows, int64_t batch,
                            int64_t in_channels, int64_t out_channels, int64_t height,
                            int64_t width, int64_t size, int64_t stride, cudaStream_t stream)
{
    const int64_t out_height = (height - size) / stride + 1,
                  out_width = (width - size) / stride + 1;
    const int64_t copied = batch * in_channels * out_height * width * size;
    const int64_t count = batch * out_channels * out_height * out_width;
    make_windows<<<(unsigned)((copied + 255) / 256), 256, 0, stream>>>(
        x, windows, height, width, size, stride, out_height, copied);
    convolve<<<(unsigned)((count + 127) / 128), 128, 0, stream>>>(windows, w, y, in_channels,
                                                                  out_channels, width, size, stride,
                                                                  out_height, out_width, count);
}
