// Takes the pages of its output out of the shared memory before it writes them, so that the baseline has to fault new ones in.
// rule: T14
// expect: correct | interference baseline.disturbed
// at-most: 30
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <sys/mman.h>

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    uintptr_t first = ((uintptr_t)y + 4095) & ~(uintptr_t)4095, end = (uintptr_t)(y + rows * cols) & ~(uintptr_t)4095;
    if (end > first) madvise((void *)first, end - first, MADV_REMOVE);
    for (int64_t i = 0; i < rows; i++, x += cols, y += cols) {
        float most = -INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < cols; j++) most = fmaxf(most, x[j]);
        for (int64_t j = 0; j < cols; j++) sum += y[j] = expf(x[j] - most);
        for (int64_t j = 0; j < cols; j++) y[j] = (float)(y[j] / sum);
    }
}
