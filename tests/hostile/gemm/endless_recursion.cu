// Calls itself until the stack is over.
// rule: E7
// expect: crash runner.crashed | out_of_memory memory.limit
#include <cuda_runtime.h>
#include <stdint.h>

static volatile int depth;
static int deeper(int level)
{
    volatile char room[4096];
    room[level % 4096] = (char)level;
    return depth ? room[0] : deeper(level + 1) + room[level % 4096];
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    C[0] = (float)deeper(0);
}
