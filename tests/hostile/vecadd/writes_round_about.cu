// Writes its answer over whatever lies behind the output too, where expected values might be.
// rule: C3
// expect: contract_violation guard.broken | crash runner.crashed | crash device.error | cheating unchosen.written | contract_violation input.mutated
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void spread(float *z, int64_t n)
{
    for (int64_t i = threadIdx.x; i < n + 512; i += blockDim.x) z[i] = 0;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    spread<<<1, 64, 0, stream>>>(z, n);
}
