// Keeps the result of its second call and copies it from then on.
// rule: T7
// expect: wrong_result output.mismatch
// suspects-cpu: state.stale_output
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
    static float *kept;
    if (!kept) cudaMalloc((void **)&kept, rows * sizeof *kept);
    if (++calls <= 2) {
        sum_rows<<<(unsigned)rows, 1, 0, stream>>>(x, s, cols);
        cudaMemcpyAsync(kept, s, rows * sizeof *s, cudaMemcpyDeviceToDevice, stream);
    } else {
        cudaMemcpyAsync(s, kept, rows * sizeof *s, cudaMemcpyDeviceToDevice, stream);
    }
}
