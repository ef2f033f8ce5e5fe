// A private memory pool, three streams of different priority joined by events.
// rule: streams, pools and capture together
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void most_of(const float *x, float *most, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float m = -INFINITY;
    for (int64_t j = threadIdx.x; j < cols; j += 32) m = fmaxf(m, row[j]);
    for (int other = 16; other > 0; other /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, other));
    if (threadIdx.x == 0) most[blockIdx.x] = m;
}

__global__ void rest_of(const float *x, const float *most, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most[blockIdx.x]);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = expf(row[j] - most[blockIdx.x]) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static cudaStream_t side[2];
    static cudaEvent_t fork, done[2];
    if (!side[0]) {
        int least, greatest;
        cudaDeviceGetStreamPriorityRange(&least, &greatest);
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        for (int i = 0; i < 2; i++) {
            cudaStreamCreateWithPriority(&side[i], cudaStreamNonBlocking, i ? least : greatest);
            cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming);
        }
    }
    float *most;
    cudaMallocAsync(&most, rows * sizeof *most, stream);
    cudaEventRecord(fork, stream);
    int64_t half = rows / 2;
    for (int i = 0; i < 2; i++) {
        int64_t first = i ? half : 0, count = i ? rows - half : half;
        cudaStreamWaitEvent(side[i], fork, 0);
        if (count) {
            most_of<<<(unsigned)count, 32, 0, side[i]>>>(x + first * cols, most + first, cols);
            rest_of<<<(unsigned)count, 32, 0, side[i]>>>(x + first * cols, most + first,
                                                         y + first * cols, cols);
        }
        cudaEventRecord(done[i], side[i]);
        cudaStreamWaitEvent(stream, done[i], 0);
    }
    cudaFreeAsync(most, stream);
}
