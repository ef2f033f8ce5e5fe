// Launches in a macro, by pointer and in a lambda, among strings and shifts that look like them.
// rule: forms of launches
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

template <int width, typename T = float>
__global__ void __launch_bounds__(256, 1) add(const T *x, const T *y, T *z, int64_t from, int64_t n)
{
    int64_t i = from + (((int64_t)blockIdx.x * blockDim.x + threadIdx.x) << (width >> 1 >> 3 << 3));
    if (i < n) z[i] = x[i] + y[i];
}

#define LAUNCH(kernel, count, ...) \
    kernel<<<dim3{(unsigned)(((count) + 255) / 256)}, 256, 0, stream>>>(__VA_ARGS__)
static const char *const words = R"x(add<<<1, 2>>>(x, "y", z); // )x" "<<<";

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    int64_t third = n / 3, shift = 1 << 1 << 1;
    auto first = [&](int64_t count) { LAUNCH((add<1>), count, x, y, z, 0, count); };
    first(third);
    void (*other)(const float *, const float *, float *, int64_t, int64_t) = add<2, float>;
    other<<<(unsigned)((third + 255) / 256), /* threads, not bytes: >>> */
            dim3(256, 1, 1), 0 >> shift, stream>>>(x, y, z, third, 2 * third);
    if (words[0] == 'a')
        add<1, float>
            <<<dim3((unsigned)((n - 2 * third + 255) / 256)),
               256 // <<<
               ,
               0, stream>>>(x, y, z, 2 * third, n);
}
