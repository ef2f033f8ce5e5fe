// Copies and adds in pieces of odd sizes, with two-dimensional copies among them.
// rule: copies
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add_to(const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] += y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    int64_t width = 100, whole = n / width;
    cudaMemcpy2DAsync(z, width * 4, x, width * 4, width * 4, whole, cudaMemcpyDeviceToDevice, stream);
    if (n % width) cudaMemcpyAsync(z + whole * width, x + whole * width, n % width * 4, cudaMemcpyDeviceToDevice, stream);
    for (int64_t first = 0; first < n; first += 777777) {
        int64_t count = n - first < 777777 ? n - first : 777777;
        add_to<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(y + first, z + first, count);
    }
}
