/* v = J(J(u)) in float64, one thread an element of v. A thread computes the up to seven values of
 * the first sweep that it needs from u. J is the Jacobi iteration for the 7-point Laplacian
 * (Saad, "Iterative Methods for Sparse Linear Systems", 2003, section 4.1) with unit mesh width. */
#include <cuda_runtime.h>
#include <stdint.h>

struct grid3 {
    int64_t nz, ny, nx;
};

__device__ bool inside(grid3 n, int64_t z, int64_t y, int64_t x)
{
    return z > 0 && z < n.nz - 1 && y > 0 && y < n.ny - 1 && x > 0 && x < n.nx - 1;
}

/* J(u)[z][y][x] */
__device__ double first_sweep(const float *u, const float *f, grid3 n, int64_t z, int64_t y,
                              int64_t x)
{
    const int64_t k = (z * n.ny + y) * n.nx + x, plane = n.ny * n.nx;
    if (!inside(n, z, y, x)) return u[k];
    return ((double)u[k - plane] + (double)u[k + plane] + (double)u[k - n.nx] +
            (double)u[k + n.nx] + (double)u[k - 1] + (double)u[k + 1] + (double)f[k]) /
           6;
}

__global__ void jacobi3d_exact(const float *u, const float *f, double *v, grid3 n)
{
    const int64_t x = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t y = (int64_t)blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    if (y >= n.ny || x >= n.nx) return;
    double value = first_sweep(u, f, n, z, y, x);
    const int64_t k = (z * n.ny + y) * n.nx + x;
    if (inside(n, z, y, x))
        value =
            (first_sweep(u, f, n, z - 1, y, x) + first_sweep(u, f, n, z + 1, y, x) +
             first_sweep(u, f, n, z, y - 1, x) + first_sweep(u, f, n, z, y + 1, x) +
             first_sweep(u, f, n, z, y, x - 1) + first_sweep(u, f, n, z, y, x + 1) + (double)f[k]) /
            6;
    v[k] = value;
}

extern "C" void jacobi3d_oracle(const float *u, const float *f, double *v, float *tmp, int64_t nz,
                                int64_t ny, int64_t nx, cudaStream_t stream)
{
    (void)tmp;
    const dim3 block(32, 8),
        grid((unsigned)((nx + 31) / 32), (unsigned)((ny + 7) / 8), (unsigned)nz);
    jacobi3d_exact<<<grid, block, 0, stream>>>(u, f, v, grid3{nz, ny, nx});
}
