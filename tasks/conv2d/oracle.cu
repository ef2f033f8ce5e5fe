/* y_boij = sum_{c,p,q} w_ocpq x_{b,c,i+p-1,j+q-1} with zeros outside the image, in float64, one thread an element of y. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void conv2d_exact(const float *x, const float *w, double *y, int64_t in_channels, int64_t out_channels, int64_t height,
                             int64_t width, int64_t count)
{
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count) return;
    int64_t j = k % width, i = k / width % height, o = k / (width * height) % out_channels, b = k / (width * height * out_channels);
    double sum = 0;
    for (int64_t c = 0; c < in_channels; c++)
        for (int p = 0; p < 3; p++)
            for (int q = 0; q < 3; q++) {
                int64_t row = i + p - 1, column = j + q - 1;
                if (row >= 0 && row < height && column >= 0 && column < width)
                    sum += (double)w[((o * in_channels + c) * 3 + p) * 3 + q] *
                           (double)x[((b * in_channels + c) * height + row) * width + column];
            }
    y[k] = sum;
}

extern "C" void conv2d_oracle(const float *x, const float *w, double *y, int64_t batch, int64_t in_channels, int64_t out_channels,
                              int64_t height, int64_t width, cudaStream_t stream)
{
    int64_t count = batch * out_channels * height * width;
    conv2d_exact<<<(unsigned)((count + 127) / 128), 128, 0, stream>>>(x, w, y, in_channels, out_channels, height, width, count);
}
