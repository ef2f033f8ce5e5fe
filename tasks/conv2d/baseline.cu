/* 3x3 convolution, one thread an element of the output: neighbouring threads compute neighbouring columns, so reads of x are
 * coalesced and the nine weights of a channel are the same for all of them. Cost: 9 in_channels FMAs an element, each with a load
 * of x and one of w from cache, which is what bounds it. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void conv2d_kernel(const float *x, const float *w, float *y, int in_channels, int out_channels, int height, int width)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    int o = blockIdx.z % out_channels, b = blockIdx.z / out_channels;
    if (i >= height || j >= width) return;
    float sum = 0.0f;
    for (int c = 0; c < in_channels; c++) {
        const float *image = x + ((int64_t)b * in_channels + c) * height * width;
        const float *filter = w + ((int64_t)o * in_channels + c) * 9;
        for (int p = 0; p < 3; p++)
            for (int q = 0; q < 3; q++) {
                int row = i + p - 1, column = j + q - 1;
                if (row >= 0 && row < height && column >= 0 && column < width)
                    sum += filter[p * 3 + q] * image[row * width + column];
            }
    }
    y[(((int64_t)b * out_channels + o) * height + i) * width + j] = sum;
}

extern "C" void conv2d(const float *x, const float *w, float *y, int64_t batch, int64_t in_channels, int64_t out_channels,
                       int64_t height, int64_t width, cudaStream_t stream)
{
    dim3 block(32, 8), grid((unsigned)((width + 31) / 32), (unsigned)((height + 7) / 8), (unsigned)(batch * out_channels));
    conv2d_kernel<<<grid, block, 0, stream>>>(x, w, y, (int)in_channels, (int)out_channels, (int)height, (int)width);
}
