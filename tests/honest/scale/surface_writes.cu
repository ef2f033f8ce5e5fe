// Writes to an array through a surface, and copies the array to the output.
// rule: surfaces and arrays
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

#define WIDTH 4096
__global__ void multiply(const float *x, cudaSurfaceObject_t y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) surf2Dwrite(a * x[i], y, i % WIDTH * (int)sizeof(float), i / WIDTH);
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static cudaArray_t array;
    static cudaSurfaceObject_t surface;
    static int64_t height;
    int64_t rows = (n + WIDTH - 1) / WIDTH, whole = n / WIDTH, rest = n % WIDTH;
    if (rows > height) {
        cudaStreamSynchronize(stream);
        if (array) cudaDestroySurfaceObject(surface), cudaFreeArray(array);
        cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
        cudaMallocArray(&array, &format, WIDTH, rows, cudaArraySurfaceLoadStore);
        cudaResourceDesc memory = {};
        memory.resType = cudaResourceTypeArray;
        memory.res.array.array = array;
        cudaCreateSurfaceObject(&surface, &memory);
        height = rows;
    }
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, surface, a, (int)n);
    if (whole)
        cudaMemcpy2DFromArrayAsync(y, WIDTH * 4, array, 0, 0, WIDTH * 4, whole,
                                   cudaMemcpyDeviceToDevice, stream);
    if (rest)
        cudaMemcpy2DFromArrayAsync(y + whole * WIDTH, WIDTH * 4, array, 0, whole, rest * 4, 1,
                                   cudaMemcpyDeviceToDevice, stream);
}
