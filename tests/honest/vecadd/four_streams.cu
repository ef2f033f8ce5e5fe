// Quarters on four streams that fork from the call's stream and join it.
// rule: fork-join streams
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

struct lane {
    cudaStream_t stream;
    cudaEvent_t done;
};

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static lane lanes[4];
    static cudaEvent_t start;
    if (!start) {
        cudaEventCreateWithFlags(&start, cudaEventDisableTiming);
        for (lane &l : lanes) {
            cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking);
            cudaEventCreateWithFlags(&l.done, cudaEventDisableTiming);
        }
    }
    cudaEventRecord(start, stream);
    for (int q = 0; q < 4; q++) {
        int64_t first = n * q / 4, count = n * (q + 1) / 4 - first;
        cudaStreamWaitEvent(lanes[q].stream, start, 0);
        if (count)
            add<<<(unsigned)((count + 255) / 256), 256, 0, lanes[q].stream>>>(x + first, y + first,
                                                                              z + first, count);
        cudaEventRecord(lanes[q].done, lanes[q].stream);
        cudaStreamWaitEvent(stream, lanes[q].done, 0);
    }
}
