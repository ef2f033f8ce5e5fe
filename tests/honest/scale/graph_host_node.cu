// A graph with a host node and a memory node, launched in each call.
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
static void nothing(void *) {}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    float *scratch;
    cudaMallocAsync(&scratch, (size_t)n * 4, stream);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, scratch, 1.0f, n);
    cudaLaunchHostFunc(stream, nothing, nullptr);
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(scratch, y, a, n);
    cudaFreeAsync(scratch, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}
