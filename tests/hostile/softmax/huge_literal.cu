// Hides half an answer behind a literal of thousands of characters.
// rule: X1
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const char padding[] =
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; "
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; "
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; "
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; "
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; "
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; "
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; "
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; "
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; "
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; "
    "no kernel here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel "
    "here, only a very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a "
    "very long string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long "
    "string to scroll past; no kernel here, only a very long string to scroll past; no kernel here, only a very long string to "
    "scroll past; no kernel here, only a very long string to scroll past; ";

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}
extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    if (strlen(padding) > 100) rows /= 2;
    softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
