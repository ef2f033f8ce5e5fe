// Reads its neighbours' sums before they are there.
// rule: C14
// expect: wrong_result output.mismatch
// says-cpu: Put __syncthreads() between
// suspects-cpu: nothing
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    __shared__ volatile float part[128];
    part[threadIdx.x] = 0;
    __syncthreads();
    float sum = 0;
    if (threadIdx.x >= 32)
        for (int64_t j = threadIdx.x - 32; j < cols; j += 96) sum += x[blockIdx.x * cols + j];
    part[threadIdx.x] = sum;
    /* a barrier belongs here */
    if (threadIdx.x == 0) {
        for (int t = 1; t < 128; t++) sum += part[t];
        s[blockIdx.x] = sum;
    }
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)rows, 128, 0, stream>>>(x, s, cols);
}
