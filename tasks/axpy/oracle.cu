/* y_i = a x_i + y_i in float64, one thread an element. a is the f32 value that the candidate gets, widened. */
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void axpy_exact(const float *x, double *y, double a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * (double)x[i] + y[i];
}

extern "C" void axpy_oracle(const float *x, double *y, float a, int64_t n, cudaStream_t stream)
{
    axpy_exact<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, (double)a, n);
}
