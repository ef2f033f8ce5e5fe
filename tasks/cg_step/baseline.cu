/* One conjugate gradient step as the textbook writes it, a kernel a line: q = A p; (p, q); (r, r); x' and r'; (r', r'); p'. Inner
 * products: each thread adds 16 products, each block its 256 sums in a tree in shared memory, then one atomic (in double) a block.
 * Cost: 60 bytes of memory traffic an element where 24 to 32 would do, and 9 barriers per 4096 products. */
#include <cuda_runtime.h>
#include <stdint.h>

#define THREADS 256
#define CHUNK 4096 /* products that a block adds */

static __device__ double products[3]; /* (p, q), (r, r), (r', r') */

__global__ void clear()
{
    products[threadIdx.x] = 0;
}

__global__ void apply(const float *p, float *q, float diagonal, int64_t rows, int64_t cols)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= cols) return;
    int64_t k = i * cols + j;
    float sum = diagonal * p[k];
    if (i > 0) sum -= p[k - cols];
    if (i < rows - 1) sum -= p[k + cols];
    if (j > 0) sum -= p[k - 1];
    if (j < cols - 1) sum -= p[k + 1];
    q[k] = sum;
}

__global__ void dot(const float *a, const float *b, int product, int64_t count)
{
    __shared__ float partial[THREADS];
    int64_t begin = (int64_t)blockIdx.x * CHUNK;
    int64_t end = begin + CHUNK < count ? begin + CHUNK : count;
    float sum = 0.0f;
    for (int64_t k = begin + threadIdx.x; k < end; k += THREADS) sum += a[k] * b[k];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(&products[product], (double)partial[0]);
}

__global__ void update_x_r(const float *x, const float *r, const float *p, const float *q, float *x_next, float *r_next,
                           int64_t count)
{
    int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    float alpha = (float)(products[1] / products[0]);
    if (k < count) {
        x_next[k] = x[k] + alpha * p[k];
        r_next[k] = r[k] - alpha * q[k];
    }
}

__global__ void update_p(const float *p, const float *r_next, float *p_next, int64_t count)
{
    int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    float beta = (float)(products[2] / products[1]);
    if (k < count) p_next[k] = r_next[k] + beta * p[k];
}

extern "C" void cg_step(const float *x, const float *r, const float *p, float *x_next, float *r_next, float *p_next, float *q,
                        float diagonal, int64_t rows, int64_t cols, cudaStream_t stream)
{
    int64_t count = rows * cols;
    unsigned blocks = (unsigned)((count + THREADS - 1) / THREADS), chunks = (unsigned)((count + CHUNK - 1) / CHUNK);
    dim3 block(32, 8), grid((unsigned)((cols + 31) / 32), (unsigned)((rows + 7) / 8));
    clear<<<1, 3, 0, stream>>>();
    apply<<<grid, block, 0, stream>>>(p, q, diagonal, rows, cols);
    dot<<<chunks, THREADS, 0, stream>>>(p, q, 0, count);
    dot<<<chunks, THREADS, 0, stream>>>(r, r, 1, count);
    update_x_r<<<blocks, THREADS, 0, stream>>>(x, r, p, q, x_next, r_next, count);
    dot<<<chunks, THREADS, 0, stream>>>(r_next, r_next, 2, count);
    update_p<<<blocks, THREADS, 0, stream>>>(p, r_next, p_next, count);
}
