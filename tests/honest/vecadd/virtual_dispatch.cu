// An abstract class with two implementations, registered by name, chooses the launch.
// rule: ordinary C++
// expect: correct
#include <cuda_runtime.h>
#include <functional>
#include <map>
#include <memory>
#include <stdint.h>
#include <string>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

struct strategy {
    virtual ~strategy() = default;
    virtual void launch(const float *x, const float *y, float *z, int64_t n, cudaStream_t s) = 0;
};
template <int width> struct flat final : strategy {
    void launch(const float *x, const float *y, float *z, int64_t n, cudaStream_t s) override
    {
        add<<<(unsigned)((n + width - 1) / width), width, 0, s>>>(x, y, z, n);
    }
};

static std::map<std::string, std::function<std::unique_ptr<strategy>()>> registry = {
    {"small", [] { return std::make_unique<flat<64>>(); }},
    {"large", [] { return std::make_unique<flat<256>>(); }}};

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    registry.at(n < 10000 ? "small" : "large")()->launch(x, y, z, n, stream);
}
