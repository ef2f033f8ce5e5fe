// Works in place on two streams that are joined.
// rule: inouts on forked streams
// expect: correct
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void relax_part(float *x, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fmaf(x[i], 0.5f, 1);
}

extern "C" void relax(float *x, int64_t n, cudaStream_t stream)
{
    static cudaStream_t side;
    static cudaEvent_t forked, joined;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
    }
    const int64_t half = n / 2;
    cudaEventRecord(forked, stream);
    cudaStreamWaitEvent(side, forked, 0);
    relax_part<<<(unsigned)((half + 255) / 256), 256, 0, side>>>(x, half);
    cudaEventRecord(joined, side);
    relax_part<<<(unsigned)((n - half + 255) / 256), 256, 0, stream>>>(x + half, n - half);
    cudaStreamWaitEvent(stream, joined, 0);
}
