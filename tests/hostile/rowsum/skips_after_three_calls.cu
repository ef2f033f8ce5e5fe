// Computes three calls and returns at once from then on.
// rule: T7
// expect: wrong_result output.mismatch
// suspects: state.skips_work
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = 0; j < cols; j++) sum += x[blockIdx.x * cols + j];
    s[blockIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static int calls;
    if (++calls <= 3) sum_rows<<<(unsigned)rows, 1, 0, stream>>>(x, s, cols);
}
