// Programmatic dependent launches in PTX: each kernel waits for the one before, the first too.
// rule: programmatic dependent launch with griddepcontrol.wait
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void moments(const float *x, float2 *stats, int64_t cols)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = warp_sum(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    squares = warp_sum(squares);
    if (threadIdx.x == 0) stats[blockIdx.x] = make_float2(mean, rsqrtf(squares / cols + 1e-5f));
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__global__ void apply(const float *x, const float2 *stats, const float *gamma, const float *beta,
                      float *y, int64_t cols)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    float2 row = stats[blockIdx.x];
    for (int64_t j = threadIdx.x; j < cols; j += 128)
        y[blockIdx.x * cols + j] = (x[blockIdx.x * cols + j] - row.x) * row.y * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t rows, int64_t cols, cudaStream_t stream)
{
    static float2 *stats;
    static int64_t capacity;
    if (rows > capacity) {
        cudaFree(stats);
        cudaMalloc(&stats, rows * sizeof *stats);
        capacity = rows;
    }
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3((unsigned)rows);
    how.blockDim = dim3(32);
    how.stream = stream;
    how.attrs = &early;
    how.numAttrs = 1;
    cudaLaunchKernelEx(&how, moments, x, stats, cols);
    how.blockDim = dim3(128);
    cudaLaunchKernelEx(&how, apply, x, (const float2 *)stats, gamma, beta, y, cols);
}
