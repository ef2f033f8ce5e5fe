// Computes mean and variance once for every buffer it is given, and keeps them.
// rule: T8
// expect: wrong_result output.mismatch | wrong_result output.inaccurate
#include <cuda_runtime.h>
#include <map>
#include <math.h>
#include <stdint.h>

__global__ void statistics(const float *x, float2 *kept, int64_t cols)
{
    if (threadIdx.x) return;
    float sum = 0, squares = 0;
    for (int64_t j = 0; j < cols; j++) sum += x[blockIdx.x * cols + j];
    for (int64_t j = 0; j < cols; j++) squares += (x[blockIdx.x * cols + j] - sum / cols) * (x[blockIdx.x * cols + j] - sum / cols);
    kept[blockIdx.x] = make_float2(sum / cols, rsqrtf(squares / cols + 1e-5f));
}

__global__ void apply(const float *x, const float *gamma, const float *beta, float *y, const float2 *kept, int64_t cols)
{
    float2 k = kept[blockIdx.x];
    for (int64_t j = threadIdx.x; j < cols; j += blockDim.x)
        y[blockIdx.x * cols + j] = (x[blockIdx.x * cols + j] - k.x) * k.y * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    static std::map<const void *, float2 *> known;
    float2 *&kept = known[x];
    if (!kept) {
        cudaMalloc(&kept, rows * sizeof *kept);
        statistics<<<(unsigned)rows, 32, 0, stream>>>(x, kept, cols);
    }
    apply<<<(unsigned)rows, 64, 0, stream>>>(x, gamma, beta, y, kept, cols);
}
