// Reads the sums of all warps before the later ones have written theirs.
// rule: C14
// expect: wrong_result output.mismatch
// says: a race
// suspects: nothing
// devices: cpu
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    __shared__ volatile float most[4], sums[4];
    const float *row = x + blockIdx.x * cols;
    int warp = threadIdx.x / 32;
    float best = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 128) best = fmaxf(best, row[j]);
    for (int n = 16; n > 0; n /= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, n));
    most[warp] = best;
    __syncthreads();
    best = fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3]));
    for (int64_t j = threadIdx.x; j < cols; j += 128) sum += expf(row[j] - best);
    for (int n = 16; n > 0; n /= 2) sum += __shfl_xor_sync(~0u, sum, n);
    sums[warp] = sum;
    /* a barrier belongs here */
    sum = sums[0] + sums[1] + sums[2] + sums[3];
    for (int64_t j = threadIdx.x; j < cols; j += 128)
        y[blockIdx.x * cols + j] = expf(row[j] - best) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    softmax_rows<<<(unsigned)rows, 128, 0, stream>>>(x, y, cols);
}
