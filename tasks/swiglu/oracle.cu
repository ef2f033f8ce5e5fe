/* The clamped, gated unit of gpt-oss (OpenAI, "gpt-oss model card", 2025; SwiGLU: Shazeer, "GLU
 * variants improve transformer", 2020) in float64, one thread an element of y, with a factor a row,
 * which is the weight of a token's expert in a mixture. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__global__ void swiglu_exact(const __nv_bfloat16 *gate_up, const __nv_bfloat16 *bias,
                             const float *row_scale, double *y, double alpha, double limit,
                             int64_t cols, int64_t count)
{
    const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count) return;
    const int64_t j = n % cols;
    const double g =
        (double)__bfloat162float(gate_up[2 * n]) + (double)__bfloat162float(bias[2 * j]);
    const double u =
        (double)__bfloat162float(gate_up[2 * n + 1]) + (double)__bfloat162float(bias[2 * j + 1]);
    const double a = fmin(g, limit), b = fmax(fmin(u, limit), -limit);
    y[n] = a / (1 + exp(-alpha * a)) * (b + 1) * (double)row_scale[n / cols];
}

extern "C" void swiglu_oracle(const __nv_bfloat16 *gate_up, const __nv_bfloat16 *bias,
                              const float *row_scale, double *y, float alpha, float limit,
                              int64_t rows, int64_t cols, cudaStream_t stream)
{
    const int64_t count = rows * cols;
    swiglu_exact<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(gate_up, bias, row_scale, y,
                                                                      alpha, limit, cols, count);
}
