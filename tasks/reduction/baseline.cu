/* Row sums of few long rows. Each block takes 4096 elements of one row: 256 threads add 16 elements each (coalesced), a tree in
 * shared memory adds the 256 sums, and one atomicAdd a block collects them in the output, which is cleared first. Cost: 4 bytes an
 * element, bound by bandwidth; 9 barriers and an atomic per 4096 elements. */
#include <cuda_runtime.h>
#include <stdint.h>

#define THREADS 256
#define CHUNK 4096 /* elements a block */

__global__ void reduction_kernel(const float *x, float *y, int64_t cols)
{
    __shared__ float partial[THREADS];
    int64_t row = blockIdx.y, begin = (int64_t)blockIdx.x * CHUNK;
    int64_t end = begin + CHUNK < cols ? begin + CHUNK : cols;
    float sum = 0.0f;
    for (int64_t j = begin + threadIdx.x; j < end; j += THREADS) sum += x[row * cols + j];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(&y[row], partial[0]);
}

extern "C" void reduction(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    cudaMemsetAsync(y, 0, (size_t)rows * sizeof(float), stream);
    dim3 grid((unsigned)((cols + CHUNK - 1) / CHUNK), (unsigned)rows);
    reduction_kernel<<<grid, THREADS, 0, stream>>>(x, y, cols);
}
