// Asks for the number of multiprocessors once and keeps it.
// rule: cached device attributes
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static int multiprocessors;
    if (!multiprocessors) {
        int device;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    }
    int64_t most = (n + 255) / 256, blocks = 4 * multiprocessors;
    add<<<(unsigned)(blocks < most ? blocks : most), 256, 0, stream>>>(x, y, z, n);
}
