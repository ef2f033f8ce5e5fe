// Copies the input to the host, multiplies there, and copies the product back.
// rule: work of the host in the call
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <vector>

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    std::vector<float> values(n);
    cudaMemcpyAsync(values.data(), x, n * 4, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (float &value : values) value *= a;
    cudaMemcpyAsync(y, values.data(), n * 4, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
}
