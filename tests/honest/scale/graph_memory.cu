// A graph allocates, works and frees. Each call builds, launches and destroys it.
// rule: graph memory nodes
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t own;
    float *copy = nullptr;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal);
    cudaMallocAsync((void **)&copy, n * sizeof *copy, own);
    cudaMemcpyAsync(copy, x, n * sizeof *copy, cudaMemcpyDeviceToDevice, own);
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, own>>>(copy, y, a, n);
    cudaFreeAsync(copy, own);
    cudaStreamEndCapture(own, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(own);
}
