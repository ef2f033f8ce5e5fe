/* One conjugate gradient step in two passes over memory. With q = A p, (r', r') = (r - alpha q, r - alpha q) = (r, r) - 2 alpha
 * (r, q) + alpha^2 (q, q), so one pass over r and p gives all four inner products (added in double, which the subtraction needs),
 * then alpha and beta are known and a second pass computes q again from cache-warm neighbours and writes x', r', p' at once: 32
 * bytes of memory traffic an element. A thread takes 4 consecutive columns (16-byte accesses) of ROWS rows and keeps the rows of p
 * that it needs again in registers. Widths that are not a multiple of 4 take 1 column a thread. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS 64 128 256 512
// kforge: tune ROWS 1 2 4 8 16
#ifndef THREADS
#define THREADS 256
#endif
/* rows a thread */
#ifndef ROWS
#define ROWS 8
#endif
#define MAX_BLOCKS (1 << 17) /* of one launch; with more tiles than that a block takes several */

struct products {
    double rr, pq, rq, qq;
};
static __device__ products partials[MAX_BLOCKS];
static __device__ float alpha, beta;

template <int WIDTH> struct pack {
    float v[WIDTH];
};

template <int WIDTH> __device__ __forceinline__ pack<WIDTH> load(const float *from)
{
    pack<WIDTH> p;
    if (WIDTH == 4) {
        float4 v = *(const float4 *)from;
        p.v[0] = v.x, p.v[1 % WIDTH] = v.y, p.v[2 % WIDTH] = v.z, p.v[3 % WIDTH] = v.w;
    } else {
        p.v[0] = from[0];
    }
    return p;
}

template <int WIDTH> __device__ __forceinline__ void store(float *to, pack<WIDTH> p)
{
    if (WIDTH == 4)
        *(float4 *)to = make_float4(p.v[0], p.v[1 % WIDTH], p.v[2 % WIDTH], p.v[3 % WIDTH]);
    else
        to[0] = p.v[0];
}

/* q = A p for WIDTH columns from j on; west and east neighbours come from the first-level cache. */
template <int WIDTH>
__device__ __forceinline__ pack<WIDTH> apply(pack<WIDTH> north, pack<WIDTH> here, pack<WIDTH> south, const float *row, int64_t j,
                                             float diagonal, int64_t cols)
{
    pack<WIDTH> q;
    float west = j > 0 ? row[j - 1] : 0.0f, east = j + WIDTH < cols ? row[j + WIDTH] : 0.0f;
#pragma unroll
    for (int k = 0; k < WIDTH; k++) {
        float left = k == 0 ? west : here.v[(k + WIDTH - 1) % WIDTH], right = k == WIDTH - 1 ? east : here.v[(k + 1) % WIDTH];
        q.v[k] = fmaf(diagonal, here.v[k], -((north.v[k] + south.v[k]) + (left + right)));
    }
    return q;
}

__device__ __forceinline__ double block_sum(double value)
{
    __shared__ double warps[THREADS / 32];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 1; k < THREADS / 32; k++) value += warps[k];
    return value;
}

/* One tile, THREADS * WIDTH columns by ROWS rows. SECOND false: adds its inner products to `sum`. SECOND true: writes the outputs.
 */
template <int WIDTH, bool SECOND>
__device__ __forceinline__ void tile(const float *__restrict__ x, const float *__restrict__ r, const float *__restrict__ p,
                                     float *__restrict__ x_next, float *__restrict__ r_next, float *__restrict__ p_next,
                                     float diagonal, int64_t rows, int64_t cols, int64_t i0, int64_t j, float a, float b,
                                     float sum[4])
{
    const pack<WIDTH> zeros = {};
    pack<WIDTH> north = i0 > 0 ? load<WIDTH>(p + (i0 - 1) * cols + j) : zeros, here = load<WIDTH>(p + i0 * cols + j);
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        int64_t i = i0 + k, at = i * cols + j;
        if (i >= rows) break;
        pack<WIDTH> south = i + 1 < rows ? load<WIDTH>(p + at + cols) : zeros, residual = load<WIDTH>(r + at);
        pack<WIDTH> q = apply<WIDTH>(north, here, south, p + i * cols, j, diagonal, cols);
        if (SECOND) {
            pack<WIDTH> next_x = load<WIDTH>(x + at), next_r, next_p;
#pragma unroll
            for (int c = 0; c < WIDTH; c++) {
                next_x.v[c] = fmaf(a, here.v[c], next_x.v[c]);
                next_r.v[c] = fmaf(-a, q.v[c], residual.v[c]);
                next_p.v[c] = fmaf(b, here.v[c], next_r.v[c]);
            }
            store<WIDTH>(x_next + at, next_x);
            store<WIDTH>(r_next + at, next_r);
            store<WIDTH>(p_next + at, next_p);
        } else {
#pragma unroll
            for (int c = 0; c < WIDTH; c++) {
                sum[0] = fmaf(residual.v[c], residual.v[c], sum[0]);
                sum[1] = fmaf(here.v[c], q.v[c], sum[1]);
                sum[2] = fmaf(residual.v[c], q.v[c], sum[2]);
                sum[3] = fmaf(q.v[c], q.v[c], sum[3]);
            }
        }
        north = here;
        here = south;
    }
}

template <int WIDTH, bool SECOND>
__global__ void __launch_bounds__(THREADS)
    pass(const float *__restrict__ x, const float *__restrict__ r, const float *__restrict__ p, float *__restrict__ x_next,
         float *__restrict__ r_next, float *__restrict__ p_next, float diagonal, int64_t rows, int64_t cols, int64_t tiles_x,
         int64_t tiles)
{
    const float a = SECOND ? alpha : 0.0f, b = SECOND ? beta : 0.0f;
    products total = {0, 0, 0, 0};
    for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        int64_t j = (t % tiles_x * THREADS + threadIdx.x) * WIDTH, i0 = t / tiles_x * ROWS;
        float sum[4] = {};
        if (j < cols) tile<WIDTH, SECOND>(x, r, p, x_next, r_next, p_next, diagonal, rows, cols, i0, j, a, b, sum);
        if (!SECOND) {
            total.rr += sum[0];
            total.pq += sum[1];
            total.rq += sum[2];
            total.qq += sum[3];
        }
    }
    if (!SECOND) {
        total = {block_sum(total.rr), block_sum(total.pq), block_sum(total.rq), block_sum(total.qq)};
        if (threadIdx.x == 0) partials[blockIdx.x] = total;
    }
}

__global__ void __launch_bounds__(THREADS) set_alpha_beta(int64_t blocks)
{
    products sum = {0, 0, 0, 0};
    for (int64_t k = threadIdx.x; k < blocks; k += THREADS) {
        products part = partials[k];
        sum.rr += part.rr;
        sum.pq += part.pq;
        sum.rq += part.rq;
        sum.qq += part.qq;
    }
    double rr = block_sum(sum.rr), pq = block_sum(sum.pq), rq = block_sum(sum.rq), qq = block_sum(sum.qq);
    if (threadIdx.x == 0) {
        double a = rr / pq;
        alpha = (float)a;
        beta = (float)((rr - 2 * a * rq + a * a * qq) / rr);
    }
}

template <int WIDTH>
static void step(const float *x, const float *r, const float *p, float *x_next, float *r_next, float *p_next, float diagonal,
                 int64_t rows, int64_t cols, cudaStream_t stream)
{
    int64_t tiles_x = (cols + THREADS * WIDTH - 1) / (THREADS * WIDTH), tiles = tiles_x * ((rows + ROWS - 1) / ROWS);
    int64_t blocks = tiles < MAX_BLOCKS ? tiles : MAX_BLOCKS;
    pass<WIDTH, false>
        <<<(unsigned)blocks, THREADS, 0, stream>>>(x, r, p, x_next, r_next, p_next, diagonal, rows, cols, tiles_x, tiles);
    set_alpha_beta<<<1, THREADS, 0, stream>>>(blocks);
    pass<WIDTH, true>
        <<<(unsigned)blocks, THREADS, 0, stream>>>(x, r, p, x_next, r_next, p_next, diagonal, rows, cols, tiles_x, tiles);
}

extern "C" void cg_step(const float *x, const float *r, const float *p, float *x_next, float *r_next, float *p_next, float *q,
                        float diagonal, int64_t rows, int64_t cols, cudaStream_t stream)
{
    (void)q;
    if (cols % 4 == 0)
        step<4>(x, r, p, x_next, r_next, p_next, diagonal, rows, cols, stream);
    else
        step<1>(x, r, p, x_next, r_next, p_next, diagonal, rows, cols, stream);
}
