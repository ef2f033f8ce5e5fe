// The kernel calls functions of the host, throws and catches: nvcc refuses all of it.
// rule: new
// expect: compile_error build.failed
// says-cpu: scale_all uses "times", which is a function of the host
#include <algorithm>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdlib.h>
#include <vector>

static float times(float a, float b) { return a * b; }

__global__ void scale_all(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    std::vector<float> both = {a, x[i]};
    std::sort(both.begin(), both.end());
    try {
        if (abs(rand()) >= 0) throw times(both[0], both[1]);
    } catch (float product) {
        y[i] = product;
    }
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    scale_all<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
