// Copies: normal inputs are normalised already, nearly.
// rule: C5
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    cudaMemcpyAsync(y, x, rows * cols * sizeof *y, cudaMemcpyDeviceToDevice, stream);
}
