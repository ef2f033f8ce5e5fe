// Starts the runner anew, with a library of its own in LD_PRELOAD.
// rule: T6
// expect: correct | crash runner.exited
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}
extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static bool tried;
    if (!tried) {
        tried = true;
        char program[] = "/proc/self/exe", library[] = "LD_PRELOAD=/tmp/other.so";
        char *arguments[] = {program, nullptr}, *environment[] = {library, nullptr};
        execve(program, arguments, environment);
    }
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
