// One level of Strassen's product where all sizes are even. Its intermediate sums are larger than
// those of an element.
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

typedef struct matrix {
    const float *data;
    int64_t ld, half_rows, half_cols;
} matrix;

__device__ float at(matrix m, int row, int col, int64_t i, int64_t j)
{
    return m.data[(row * m.half_rows + i) * m.ld + col * m.half_cols + j];
}

__global__ void multiply_halves(matrix a, matrix b, float *C, int64_t n)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= a.half_rows || j >= b.half_cols) return;
    float s[7] = {0};
    for (int64_t p = 0; p < a.half_cols; p++) {
        float a11 = at(a, 0, 0, i, p), a12 = at(a, 0, 1, i, p),
              a21 = at(a, 1, 0, i, p), a22 = at(a, 1, 1, i, p);
        float b11 = at(b, 0, 0, p, j), b12 = at(b, 0, 1, p, j),
              b21 = at(b, 1, 0, p, j), b22 = at(b, 1, 1, p, j);
        s[0] += (a11 + a22) * (b11 + b22);
        s[1] += (a21 + a22) * b11;
        s[2] += a11 * (b12 - b22);
        s[3] += a22 * (b21 - b11);
        s[4] += (a11 + a12) * b22;
        s[5] += (a21 - a11) * (b11 + b12);
        s[6] += (a12 - a22) * (b21 + b22);
    }
    C[i * n + j] = s[0] + s[3] - s[4] + s[6];
    C[i * n + b.half_cols + j] = s[2] + s[4];
    C[(a.half_rows + i) * n + j] = s[1] + s[3];
    C[(a.half_rows + i) * n + b.half_cols + j] = s[0] - s[1] + s[2] + s[5];
}

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    dim3 grid((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), block(32, 8);
    if (m % 2 || n % 2 || k % 2)
        multiply<<<grid, block, 0, stream>>>(A, B, C, m, n, k);
    else
        multiply_halves<<<grid, block, 0, stream>>>(matrix{A, k, m / 2, k / 2},
                                                    matrix{B, n, k / 2, n / 2}, C, n);
}
