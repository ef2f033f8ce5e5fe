// Thrust's transform in the call's stream, without waiting for it.
// rule: Thrust
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/transform.h>

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    auto policy = thrust::cuda::par_nosync.on(stream);
    thrust::transform(policy, x, x + n, y, z, thrust::plus<float>());
}
