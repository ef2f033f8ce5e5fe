/* y = A x, one block a row: 256 threads walk the row side by side (coalesced), then add their partial sums in a tree in shared
 * memory. Cost: 4 bytes and one FMA per element of A, bound by bandwidth; 9 barriers a row, which short rows do not amortise. */
#include <cuda_runtime.h>
#include <stdint.h>

#define THREADS 256

__global__ void gemv_kernel(const float *A, const float *x, float *y, int64_t cols)
{
    __shared__ float partial[THREADS];
    int64_t row = blockIdx.x;
    float sum = 0.0f;
    for (int64_t j = threadIdx.x; j < cols; j += THREADS) sum += A[row * cols + j] * x[j];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[row] = partial[0];
}

extern "C" void gemv(const float *A, const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    gemv_kernel<<<(unsigned)rows, THREADS, 0, stream>>>(A, x, y, cols);
}
