// One level of Strassen's algorithm, with seven products of halves, padded to even sizes.
// rule: another algorithm
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

struct matrix {
    const float *at;
    int64_t rows, cols, stride;
    __device__ float get(int64_t i, int64_t j) const
    {
        return i < rows && j < cols ? at[i * stride + j] : 0;
    }
};

/* The elements of quarter `q` of both factors that a product adds, and their signs. */
__constant__ signed char left[7][4] = {{1, 0, 0, 1}, {0, 0, 1, 1},  {1, 0, 0, 0}, {0, 0, 0, 1},
                                       {1, 1, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}};
__constant__ signed char right[7][4] = {{1, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0},
                                        {0, 0, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}};
__constant__ signed char result[4][7] = {
    {1, 0, 0, 1, -1, 0, 1}, {0, 0, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0, 0}, {1, -1, 1, 0, 0, 1, 0}};

__device__ float combined(matrix x, const signed char *signs, int64_t i, int64_t j, int64_t rows,
                          int64_t cols)
{
    float sum = 0;
    for (int q = 0; q < 4; q++)
        if (signs[q]) sum += signs[q] * x.get(i + q / 2 * rows, j + q % 2 * cols);
    return sum;
}

__global__ void multiply(matrix A, matrix B, float *products, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    int p = blockIdx.z;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t q = 0; q < k; q++)
        sum += combined(A, left[p], i, q, m, k) * combined(B, right[p], q, j, k, n);
    products[(p * m + i) * n + j] = sum;
}

__global__ void join(const float *products, float *C, int64_t rows, int64_t cols, int64_t m,
                     int64_t n)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int64_t i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= cols) return;
    int q = (int)(i / m * 2 + j / n);
    float sum = 0;
    for (int p = 0; p < 7; p++) sum += result[q][p] * products[(p * m + i % m) * n + j % n];
    C[i * cols + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    static float *products;
    static int64_t capacity;
    int64_t mh = (m + 1) / 2, nh = (n + 1) / 2, kh = (k + 1) / 2;
    if (7 * mh * nh > capacity) {
        cudaFree(products);
        cudaMalloc(&products, 7 * mh * nh * sizeof *products);
        capacity = 7 * mh * nh;
    }
    dim3 block(32, 4);
    dim3 halves((unsigned)((nh + 31) / 32), (unsigned)((mh + 3) / 4), 7);
    dim3 whole((unsigned)((n + 31) / 32), (unsigned)((m + 3) / 4));
    multiply<<<halves, block, 0, stream>>>({A, m, k, k}, {B, k, n, n}, products, mh, nh, kh);
    join<<<whole, block, 0, stream>>>(products, C, m, n, mh, nh);
}
