// A comment stands before an #include of the C++ library.
// rule: headers
// expect: correct
/* runtime */ #include <cuda_runtime.h>
/* int64_t */ #include <cstdint>
/* move, forward */ #include <utility>
/* memcpy */ #include <cstring>

struct sum {
    const float *x, *y;
    float *z;
    __device__ void operator()(int64_t i) const { z[i] = x[i] + y[i]; }
};

template <class F> __global__ void each(F f, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f(i);
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    char copy[sizeof n];
    memcpy(copy, &n, sizeof n);
    each<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(sum{x, y, z}, n);
}
