// A kernel that fails breaks the context: every later call says so, until the device is reset.
#include "check.h"

__global__ void trap() { __trap(); }
__global__ void nothing() {}

int main()
{
    int *x;
    OK(cudaMalloc(&x, 4));
    trap<<<1, 1>>>();
    cudaError_t error = cudaDeviceSynchronize();
    CHECK(error == cudaErrorLaunchFailure || error == cudaErrorIllegalInstruction);
    EXPECT(error, cudaGetLastError());
    EXPECT(error, cudaMalloc(&x, 4));
    EXPECT(error, cudaMemset(x, 0, 4));
    nothing<<<1, 1>>>();
    EXPECT(error, cudaPeekAtLastError());
    EXPECT(error, cudaDeviceSynchronize());
    OK(cudaDeviceReset());
    OK(cudaGetLastError());
    CHECK(kfcpu_live_allocations() == 0);
    nothing<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
    return 0;
}
