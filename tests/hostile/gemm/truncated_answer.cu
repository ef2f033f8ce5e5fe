// Writes seven bytes of an answer and leaves.
// rule: E9
// expect: crash runner.exited | cheating protocol.forged
#include <cuda_runtime.h>
#include <stdint.h>
#include <unistd.h>

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    (void)!write(3, "gkf1\1\1\1", 7);
    _exit(0);
}
