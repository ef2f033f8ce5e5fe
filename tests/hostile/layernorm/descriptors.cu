// Opens descriptors until there are none, and shared memory of every kind.
// rule: E6
// expect: correct | crash runner.crashed | crash runner.exited
// expect-cuda: correct | crash runner.crashed | crash runner.exited | launch_failure device.error | launch_failure load.failed | out_of_memory device.error
#include <cuda_runtime.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

__device__ float sum_of_warp(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = sum_of_warp(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    float scale = rsqrtf(sum_of_warp(squares) / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}
extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    static bool tried;
    if (!tried) {
        tried = true;
        while (open("/dev/null", O_RDONLY) >= 0) {
        }
        for (int i = 0; i < 100; i++) shmget(IPC_PRIVATE, 1 << 20, IPC_CREAT | 0600);
        for (int i = 0; i < 64; i++) memfd_create("left", 0);
    }
    normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
}
