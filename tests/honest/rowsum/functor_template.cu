// A reduction for any operator and any width of block, as libraries have it.
// rule: templates
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

template <int threads, typename op>
__global__ void reduce_rows(const float *x, float *s, int64_t cols, float start, op combine)
{
    __shared__ float values[threads];
    float value = start;
    for (int64_t j = threadIdx.x; j < cols; j += threads)
        value = combine(value, x[blockIdx.x * cols + j]);
    values[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (int half = threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) s[blockIdx.x] = values[0];
}

struct plus {
    __device__ float operator()(float a, float b) const { return a + b; }
};

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    if (cols >= 1024)
        reduce_rows<256><<<(unsigned)rows, 256, 0, stream>>>(x, s, cols, 0.0f, plus());
    else
        reduce_rows<64><<<(unsigned)rows, 64, 0, stream>>>(x, s, cols, 0.0f, plus());
}
