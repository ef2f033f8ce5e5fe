// Functions of C and CUDA that nvcc knows without further headers.
// rule: headers
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

struct pair { float a, b; };

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto [a, b] = pair{x[i], y[i]};
    float s = a + b;
    int2 halves = make_int2(__float_as_int(s) & 0xffff, __float_as_int(s) & (int)0xffff0000);
    z[i] = isfinite(s) && !isnan(s) ? __int_as_float(halves.x | halves.y)
               : copysignf(fabs(s), s) * max(1.0f, 0.5f);
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    size_t threads = max((size_t)64, min((size_t)256, (size_t)n));
    char *text = (char *)malloc(16);
    memset(text, 0, 16);
    snprintf(text, 16, "%d", (int)threads);
    if (strlen(text) != 3 && n >= 256) abort();
    free(text);
    add<<<(unsigned)((n + threads - 1) / threads), (unsigned)threads, 0, stream>>>(x, y, z, n);
}
