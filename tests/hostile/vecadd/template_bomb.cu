// Templates that take for ever.
// rule: B2
// expect: compile_error build.failed | out_of_memory build.failed
#include <cuda_runtime.h>
#include <stdint.h>

template <int depth, int kind> struct bomb {
    static const long value = bomb<depth - 1, 2 * kind>::value + bomb<depth - 1, 2 * kind + 1>::value;
};
template <int kind> struct bomb<0, kind> {
    static const long value = kind;
};

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    n += bomb<29, 1>::value;
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
