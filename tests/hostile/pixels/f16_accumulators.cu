// Adds in f16, in pieces of 64 bytes.
// rule: C7
// expect: wrong_result output.inaccurate | wrong_result output.mismatch
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void find_moments(const uint8_t *x, float *mean, float *variance,
                             int64_t rows, int64_t cols)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    const uint8_t *row = x + i * cols;
    float sum = 0, squares = 0;
    for (int64_t j = 0; j < cols; j++) sum += row[j];
    float middle = sum / cols;
    for (int64_t first = 0; first < cols; first += 64) {
        __half part = 0;
        for (int64_t j = first; j < first + 64 && j < cols; j++) {
            __half distance = __float2half((row[j] - middle) / 256);
            part += distance * distance;
        }
        squares += __half2float(part) * 65536;
    }
    mean[i] = middle;
    variance[i] = squares / cols;
}

extern "C" void pixels(const uint8_t *x, float *mean, float *variance,
                       int64_t rows, int64_t cols, cudaStream_t stream)
{
    find_moments<<<(unsigned)((rows + 31) / 32), 32, 0, stream>>>(x, mean, variance, rows, cols);
}
