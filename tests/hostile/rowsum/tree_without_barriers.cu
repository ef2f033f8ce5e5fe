// A tree in shared memory with a barrier before its first level only.
// rule: C14
// expect: wrong_result output.mismatch
// says: depends on the order of threads
// suspects: nothing
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    __shared__ volatile float part[256];
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 256) sum += x[blockIdx.x * cols + j];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2)
        if (threadIdx.x < half) part[threadIdx.x] = part[threadIdx.x] + part[threadIdx.x + half];
    if (threadIdx.x == 0) s[blockIdx.x] = part[0];
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)rows, 256, 0, stream>>>(x, s, cols);
}
