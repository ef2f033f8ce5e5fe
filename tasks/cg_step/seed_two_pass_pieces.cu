/* One conjugate gradient step in two passes over memory and without barriers. With q = A p, (r', r') = (r, r) - 2 alpha (r, q) +
 * alpha^2 (q, q), so one pass over r and p gives all four inner products, alpha and beta follow, and a second pass writes x', r',
 * p' at once. Each thread takes PIECE consecutive columns of one row in plain loops that a CPU's compiler turns into SIMD code,
 * and leaves its four sums (in double, which the subtraction needs) for a small kernel to add. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune PIECE 32 64 128 256 512
// kforge: tune THREADS 1 4 16 64 128
#ifndef PIECE
#define PIECE 256
#endif
#ifndef THREADS
#define THREADS 4
#endif
#define LANES (PIECE < 32 ? PIECE : 32)
#define MAX_WORKERS (1 << 16) /* threads of a pass; they share the pieces out among them */
#define ADDERS 64             /* threads that add up the workers' sums */

struct products {
    double rr, pq, rq, qq;
};
static __device__ products partials[MAX_WORKERS];
static __device__ float alpha, beta;

/* q[k] = (A p)[i][begin + k] for k < count. */
__device__ __forceinline__ void apply(const float *__restrict__ p, float *__restrict__ q, float diagonal, int64_t i, int64_t begin,
                                      int count, int64_t rows, int64_t cols)
{
    const float *here = p + i * cols + begin;
    if (i > 0 && i + 1 < rows && begin > 0 && begin + count < cols) {
        for (int k = 0; k < count; k++)
            q[k] = diagonal * here[k] - ((here[k - cols] + here[k + cols]) + (here[k - 1] + here[k + 1]));
        return;
    }
    for (int k = 0; k < count; k++) q[k] = diagonal * here[k];
    if (i > 0)
        for (int k = 0; k < count; k++) q[k] -= here[k - cols];
    if (i + 1 < rows)
        for (int k = 0; k < count; k++) q[k] -= here[k + cols];
    for (int k = begin > 0 ? 0 : 1; k < count; k++) q[k] -= here[k - 1];
    for (int k = 0; k < (begin + count < cols ? count : count - 1); k++) q[k] -= here[k + 1];
}

__device__ __forceinline__ double dot(const float *__restrict__ a, const float *__restrict__ b, int count)
{
    float lane[LANES];
    for (int k = 0; k < LANES; k++) lane[k] = 0.0f;
    int j = 0;
    for (; j + LANES <= count; j += LANES)
        for (int k = 0; k < LANES; k++) lane[k] = fmaf(a[j + k], b[j + k], lane[k]);
    double sum = 0;
    for (; j < count; j++) sum += a[j] * b[j];
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int k = 0; k < width; k++) lane[k] += lane[k + width];
    return sum + lane[0];
}

/* Piece number t is columns [begin, begin + count) of row i. */
struct piece {
    int64_t i, begin;
    int count;
};

__device__ __forceinline__ piece piece_of(int64_t t, int64_t per_row, int64_t cols)
{
    piece at = {t / per_row, t % per_row * PIECE, PIECE};
    if (at.begin + PIECE > cols) at.count = (int)(cols - at.begin);
    return at;
}

__global__ void first_pass(const float *__restrict__ r, const float *__restrict__ p, float diagonal, int64_t rows, int64_t cols,
                           int64_t per_row, int64_t pieces, int64_t workers)
{
    int64_t worker = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (worker >= workers) return;
    products sum = {0, 0, 0, 0};
    float q[PIECE];
    for (int64_t t = worker; t < pieces; t += workers) {
        piece at = piece_of(t, per_row, cols);
        const float *residual = r + at.i * cols + at.begin, *direction = p + at.i * cols + at.begin;
        apply(p, q, diagonal, at.i, at.begin, at.count, rows, cols);
        sum.rr += dot(residual, residual, at.count);
        sum.pq += dot(direction, q, at.count);
        sum.rq += dot(residual, q, at.count);
        sum.qq += dot(q, q, at.count);
    }
    partials[worker] = sum;
}

/* partials[t] becomes the sum of all partials t, t + ADDERS, … */
__global__ void add_partials(int64_t workers)
{
    int64_t t = threadIdx.x;
    if (t >= workers) return;
    products sum = partials[t];
    for (int64_t k = t + ADDERS; k < workers; k += ADDERS) {
        sum.rr += partials[k].rr;
        sum.pq += partials[k].pq;
        sum.rq += partials[k].rq;
        sum.qq += partials[k].qq;
    }
    partials[t] = sum;
}

__global__ void set_alpha_beta(int64_t workers)
{
    products sum = {0, 0, 0, 0};
    for (int64_t k = 0; k < workers && k < ADDERS; k++) {
        sum.rr += partials[k].rr;
        sum.pq += partials[k].pq;
        sum.rq += partials[k].rq;
        sum.qq += partials[k].qq;
    }
    double a = sum.rr / sum.pq;
    alpha = (float)a;
    beta = (float)((sum.rr - 2 * a * sum.rq + a * a * sum.qq) / sum.rr);
}

__global__ void second_pass(const float *__restrict__ x, const float *__restrict__ r, const float *__restrict__ p,
                            float *__restrict__ x_next, float *__restrict__ r_next, float *__restrict__ p_next, float diagonal,
                            int64_t rows, int64_t cols, int64_t per_row, int64_t pieces, int64_t workers)
{
    int64_t worker = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (worker >= workers) return;
    const float a = alpha, b = beta;
    float q[PIECE];
    for (int64_t t = worker; t < pieces; t += workers) {
        piece at = piece_of(t, per_row, cols);
        const int64_t first = at.i * cols + at.begin;
        apply(p, q, diagonal, at.i, at.begin, at.count, rows, cols);
        for (int k = 0; k < at.count; k++) {
            float direction = p[first + k], residual = fmaf(-a, q[k], r[first + k]);
            x_next[first + k] = fmaf(a, direction, x[first + k]);
            r_next[first + k] = residual;
            p_next[first + k] = fmaf(b, direction, residual);
        }
    }
}

extern "C" void cg_step(const float *x, const float *r, const float *p, float *x_next, float *r_next, float *p_next, float *q,
                        float diagonal, int64_t rows, int64_t cols, cudaStream_t stream)
{
    (void)q;
    int64_t per_row = (cols + PIECE - 1) / PIECE, pieces = rows * per_row;
    int64_t workers = pieces < MAX_WORKERS ? pieces : MAX_WORKERS;
    unsigned blocks = (unsigned)((workers + THREADS - 1) / THREADS);
    first_pass<<<blocks, THREADS, 0, stream>>>(r, p, diagonal, rows, cols, per_row, pieces, workers);
    add_partials<<<1, ADDERS, 0, stream>>>(workers);
    set_alpha_beta<<<1, 1, 0, stream>>>(workers);
    second_pass<<<blocks, THREADS, 0, stream>>>(x, r, p, x_next, r_next, p_next, diagonal, rows, cols, per_row, pieces, workers);
}
