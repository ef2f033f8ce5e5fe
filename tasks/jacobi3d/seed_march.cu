/* Each thread marches DEPTH planes along z for one (y, x) and keeps the values above, here and
 * below in registers ("2.5D blocking": Micikevicius, "3D finite difference computation on GPUs
 * using CUDA", 2009). Each element of a sweep's input is then loaded once for the z direction; the
 * four neighbours in the plane come from cache. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune BLOCK_X 32 64 128
// kforge: tune BLOCK_Y 1 2 4 8
// kforge: tune DEPTH 4 8 16 32 64
#ifndef BLOCK_X
#define BLOCK_X 64
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 4
#endif
/* planes a thread */
#ifndef DEPTH
#define DEPTH 16
#endif

__global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    sweep(const float *__restrict__ from, const float *__restrict__ f, float *__restrict__ to,
          int64_t nz, int64_t ny, int64_t nx)
{
    const int64_t x = (int64_t)blockIdx.x * BLOCK_X + threadIdx.x;
    const int64_t y = (int64_t)blockIdx.y * BLOCK_Y + threadIdx.y;
    if (y >= ny || x >= nx) return;
    const int64_t plane = ny * nx, first = (int64_t)blockIdx.z * DEPTH;
    const int64_t last = first + DEPTH < nz ? first + DEPTH : nz;
    const bool rim = y == 0 || y == ny - 1 || x == 0 || x == nx - 1;
    int64_t k = first * plane + y * nx + x;
    float here = from[k], below = first > 0 ? from[k - plane] : 0.0f;
    for (int64_t z = first; z < last; z++, k += plane) {
        const float above = z + 1 < nz ? from[k + plane] : 0.0f;
        float value = here;
        if (!rim && z > 0 && z < nz - 1)
            value =
                (below + above + from[k - nx] + from[k + nx] + from[k - 1] + from[k + 1] + f[k]) *
                (1.0f / 6.0f);
        to[k] = value;
        below = here;
        here = above;
    }
}

extern "C" void jacobi3d(const float *u, const float *f, float *v, float *tmp, int64_t nz,
                         int64_t ny, int64_t nx, cudaStream_t stream)
{
    const dim3 block(BLOCK_X, BLOCK_Y);
    const dim3 grid((unsigned)((nx + BLOCK_X - 1) / BLOCK_X),
                    (unsigned)((ny + BLOCK_Y - 1) / BLOCK_Y), (unsigned)((nz + DEPTH - 1) / DEPTH));
    sweep<<<grid, block, 0, stream>>>(u, f, tmp, nz, ny, nx);
    sweep<<<grid, block, 0, stream>>>(tmp, f, v, nz, ny, nx);
}
