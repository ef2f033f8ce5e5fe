// Captures each call and updates an executable graph with it.
// rule: graphs captured per call and updated
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = warp_sum(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    float scale = rsqrtf(warp_sum(squares) / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t rows, int64_t cols, cudaStream_t stream)
{
    static cudaGraphExec_t exec;
    static cudaStream_t capture;
    if (!capture) cudaStreamCreateWithFlags(&capture, cudaStreamNonBlocking);
    cudaGraph_t graph;
    cudaStreamBeginCapture(capture, cudaStreamCaptureModeThreadLocal);
    normalise<<<(unsigned)rows, 32, 0, capture>>>(x, gamma, beta, y, cols);
    cudaStreamEndCapture(capture, &graph);
    cudaGraphExecUpdateResultInfo info;
    if (!exec || cudaGraphExecUpdate(exec, graph, &info) != cudaSuccess) {
        cudaGetLastError();
        if (exec) cudaGraphExecDestroy(exec);
        cudaGraphInstantiate(&exec, graph, 0);
    }
    cudaGraphLaunch(exec, stream);
    cudaGraphDestroy(graph);
}
