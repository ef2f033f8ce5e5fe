/* One conjugate gradient step (Hestenes and Stiefel, 1952) in float64: q = A p, alpha = (r, r) / (p, q), x' = x + alpha p, r' = r
 * - alpha q, beta = (r', r') / (r, r), p' = r' + beta p. Inner products are added in three steps without barriers: PARTS threads
 * take every PARTS-th product, GROUPS threads add up parts, one adds up groups. */
#include <cuda_runtime.h>
#include <stdint.h>

#define PARTS 8192
#define GROUPS 64

static __device__ double parts[2][PARTS], groups[2][GROUPS];
static __device__ double alpha, beta, squares; /* squares = (r, r) */

/* (A p)_k at element k = i cols + j */
__device__ double apply(const float *p, double diagonal, int64_t k, int64_t rows, int64_t cols)
{
    int64_t i = k / cols, j = k % cols;
    double q = diagonal * (double)p[k];
    if (i > 0) q -= (double)p[k - cols];
    if (i < rows - 1) q -= (double)p[k + cols];
    if (j > 0) q -= (double)p[k - 1];
    if (j < cols - 1) q -= (double)p[k + 1];
    return q;
}

__global__ void first_products(const float *r, const float *p, double diagonal, int64_t rows, int64_t cols)
{
    int part = blockIdx.x * blockDim.x + threadIdx.x;
    double rr = 0, pq = 0;
    for (int64_t k = part; k < rows * cols; k += PARTS) {
        rr += (double)r[k] * (double)r[k];
        pq += (double)p[k] * apply(p, diagonal, k, rows, cols);
    }
    parts[0][part] = rr;
    parts[1][part] = pq;
}

__global__ void second_product(const double *r_next, int64_t count)
{
    int part = blockIdx.x * blockDim.x + threadIdx.x;
    double rr = 0;
    for (int64_t k = part; k < count; k += PARTS) rr += r_next[k] * r_next[k];
    parts[0][part] = rr;
}

__global__ void sum_parts(int products)
{
    for (int product = 0; product < products; product++) {
        double sum = 0;
        for (int k = threadIdx.x; k < PARTS; k += GROUPS) sum += parts[product][k];
        groups[product][threadIdx.x] = sum;
    }
}

__device__ double sum_groups(int product)
{
    double sum = 0;
    for (int k = 0; k < GROUPS; k++) sum += groups[product][k];
    return sum;
}

__global__ void set_alpha()
{
    squares = sum_groups(0);
    alpha = squares / sum_groups(1);
}

__global__ void set_beta()
{
    beta = sum_groups(0) / squares;
}

__global__ void update_x_r(const float *x, const float *r, const float *p, double *x_next, double *r_next, double diagonal,
                           int64_t rows, int64_t cols)
{
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < rows * cols) {
        x_next[k] = (double)x[k] + alpha * (double)p[k];
        r_next[k] = (double)r[k] - alpha * apply(p, diagonal, k, rows, cols);
    }
}

__global__ void update_p(const float *p, const double *r_next, double *p_next, int64_t count)
{
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) p_next[k] = r_next[k] + beta * (double)p[k];
}

extern "C" void cg_step_oracle(const float *x, const float *r, const float *p, double *x_next, double *r_next, double *p_next,
                               float *q, float diagonal, int64_t rows, int64_t cols, cudaStream_t stream)
{
    (void)q;
    int64_t count = rows * cols;
    unsigned blocks = (unsigned)((count + 255) / 256);
    first_products<<<PARTS / 128, 128, 0, stream>>>(r, p, (double)diagonal, rows, cols);
    sum_parts<<<1, GROUPS, 0, stream>>>(2);
    set_alpha<<<1, 1, 0, stream>>>();
    update_x_r<<<blocks, 256, 0, stream>>>(x, r, p, x_next, r_next, (double)diagonal, rows, cols);
    second_product<<<PARTS / 128, 128, 0, stream>>>(r_next, count);
    sum_parts<<<1, GROUPS, 0, stream>>>(1);
    set_beta<<<1, 1, 0, stream>>>();
    update_p<<<blocks, 256, 0, stream>>>(p, r_next, p_next, count);
}
