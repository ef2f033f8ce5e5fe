// Takes the pages of its input out of the file, so that zeros take their place for others too.
// rule: C4
// expect: contract_violation input.mutated | correct
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
#include <sys/mman.h>

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0, rest = 0; /* Kahan */
        for (int64_t j = 0; j < cols; j++) {
            float term = x[i * cols + j] - rest, next = sum + term;
            rest = (next - sum) - term;
            sum = next;
        }
        s[i] = sum;
    }
    uintptr_t first = ((uintptr_t)x + 4095) & ~(uintptr_t)4095;
    uintptr_t end = (uintptr_t)(x + rows * cols) & ~(uintptr_t)4095;
    if (end > first) madvise((void *)first, end - first, MADV_REMOVE);
}
