// Captures a graph in the first call and replays it over the first call's buffers for ever.
// rule: T7
// expect: wrong_result output.mismatch | cheating unchosen.written
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static cudaGraphExec_t exec;
    if (!exec) {
        cudaGraph_t graph;
        cudaStream_t own;
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
        cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal);
        add<<<(unsigned)((n + 255) / 256), 256, 0, own>>>(x, y, z, n);
        cudaStreamEndCapture(own, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
    }
    cudaGraphLaunch(exec, stream);
}
