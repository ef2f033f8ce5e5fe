// Answers with the expectation of a sum of numbers around zero.
// rule: C5
// expect: wrong_result output.mismatch
// suspects: output.constant
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    cudaMemsetAsync(s, 0, rows * sizeof *s, stream);
}
