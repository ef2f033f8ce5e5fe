/* Two Jacobi sweeps as two launches, u -> tmp -> v, one thread an element. The neighbours come from
 * cache. Cost: each sweep reads its input and f and writes its output, 24 bytes of memory traffic
 * an element for both, twice the least; every interior thread issues seven loads. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sweep(const float *from, const float *f, float *to, int64_t nz, int64_t ny,
                      int64_t nx)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    if (y >= ny || x >= nx) return;
    const int64_t k = (z * ny + y) * nx + x, plane = ny * nx;
    if (z == 0 || z == nz - 1 || y == 0 || y == ny - 1 || x == 0 || x == nx - 1)
        to[k] = from[k];
    else
        to[k] = (from[k - plane] + from[k + plane] + from[k - nx] + from[k + nx] + from[k - 1] +
                 from[k + 1] + f[k]) *
                (1.0f / 6.0f);
}

extern "C" void jacobi3d(const float *u, const float *f, float *v, float *tmp, int64_t nz,
                         int64_t ny, int64_t nx, cudaStream_t stream)
{
    const dim3 block(32, 8),
        grid((unsigned)((nx + 31) / 32), (unsigned)((ny + 7) / 8), (unsigned)nz);
    sweep<<<grid, block, 0, stream>>>(u, f, tmp, nz, ny, nx);
    sweep<<<grid, block, 0, stream>>>(tmp, f, v, nz, ny, nx);
}
