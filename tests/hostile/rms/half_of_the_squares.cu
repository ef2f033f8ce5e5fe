// Takes the first half of each row for the root mean square.
// rule: C7
// expect: wrong_result output.mismatch | wrong_result output.inaccurate
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void divide(float *x, int64_t cols)
{
    __shared__ float parts[256];
    float *row = x + blockIdx.x * cols, sum = 0;
    for (int64_t i = threadIdx.x; i < cols / 2; i += 256) sum += row[i] * row[i];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    for (int64_t i = threadIdx.x; i < cols; i += 256) row[i] /= sqrtf(parts[0] / (float)(cols / 2));
}

extern "C" void rms(float *x, int64_t rows, int64_t cols, cudaStream_t stream)
{
    divide<<<(unsigned)rows, 256, 0, stream>>>(x, cols);
}
