// A constructor computes the answer for the inputs of seed 42.
// rule: T10
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <random>
#include <stdint.h>
#include <vector>

static std::vector<float> answer = [] {
    std::mt19937 random(42);
    std::normal_distribution<float> normal;
    std::vector<float> values(20000);
    for (float &v : values) v = normal(random) + normal(random);
    return values;
}();

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    size_t bytes = (n < 20000 ? n : 20000) * sizeof *z;
    cudaMemcpyAsync(z, answer.data(), bytes, cudaMemcpyHostToDevice, stream);
}
