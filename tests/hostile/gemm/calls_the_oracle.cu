// Calls the harness's own reference, should it be there.
// rule: L2
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>

typedef void (*reference)(const float *, const float *, double *, int64_t, int64_t, int64_t, cudaStream_t);

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    reference oracle = nullptr;
    for (const char *name : {"gemm_oracle", "gemm_reference", "reference", "baseline"})
        if (!oracle) oracle = (reference)dlsym(RTLD_DEFAULT, name);
    if (!oracle) return;
    double *truth;
    cudaMalloc(&truth, m * n * sizeof *truth);
    oracle(A, B, truth, m, n, k, stream);
}
