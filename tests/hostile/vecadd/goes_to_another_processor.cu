// Launches from wherever it likes: from another processor, on which what comes with each batch may take less than on the baseline's.
// rule: T6
// expect: contract_violation runner.moved | correct
// devices: cuda
// Correct only where the machine has too few processors for runners to be bound to one, or the GPU is an instance of one.
#include <cuda_runtime.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
