// threadIdx, blockIdx, blockDim, gridDim and warpSize in one, two and three dimensions, with and without a barrier in between.
#include "exec_check.h"

__global__ void write(int *out, bool wait)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
        z = blockIdx.z * blockDim.z + threadIdx.z;
    if (wait) __syncthreads();
    int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
    out[(z * height + y) * width + x] +=
        threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x + 10000 * blockIdx.y + 100000 * blockIdx.z;
}
__device__ unsigned where()
{
    return threadIdx.x + blockDim.x * blockIdx.x;
} // not inlined into the kernel by its author
__global__ void nested(unsigned *out)
{
    out[where()] = where() + warpSize;
}

int main()
{
    dim3 grid(3, 2, 4), block(7, 5, 3);
    size_t count = 3 * 7 * 2 * 5 * 4 * 3;
    int *out = memory<int>(count);
    for (int wait = 0; wait < 2; wait++) {
        cudaMemset(out, 0, count * sizeof(int));
        write<<<grid, block>>>(out, wait);
        CHECK_CUDA(cudaDeviceSynchronize());
        size_t i = 0;
        for (int z = 0; z < 12; z++)
            for (int y = 0; y < 10; y++)
                for (int x = 0; x < 21; x++, i++)
                    CHECK(out[i] == x % 7 + 10 * (y % 5) + 100 * (z % 3) + 1000 * (x / 7) + 10000 * (y / 5) + 100000 * (z / 3));
    }
    unsigned *flat = memory<unsigned>(1000);
    nested<<<10, 100>>>(flat);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (unsigned i = 0; i < 1000; i++) CHECK(flat[i] == i + 32);
    return result();
}
