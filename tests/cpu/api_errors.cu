// Launch validation, the last error and its names.
#include <string.h>
#include "check.h"

__global__ void nothing() {}
__global__ void __launch_bounds__(128) bounded() {}
__global__ void shared(int *x)
{
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    if (x) x[threadIdx.x] = s[threadIdx.x];
}

#define FAILS(error)                                                                                                                 \
    EXPECT(error, cudaPeekAtLastError());                                                                                            \
    EXPECT(error, cudaGetLastError());                                                                                               \
    OK(cudaGetLastError())

int main()
{
    nothing<<<1, 1>>>();
    OK(cudaGetLastError());
    nothing<<<0, 1>>>();
    FAILS(cudaErrorInvalidValue);
    nothing<<<1, 0>>>();
    FAILS(cudaErrorInvalidValue);
    nothing<<<1, 1025>>>();
    FAILS(cudaErrorInvalidValue);
    nothing<<<1, dim3(1024, 1, 2)>>>();
    FAILS(cudaErrorInvalidValue);
    nothing<<<1, dim3(1, 1, 65)>>>();
    FAILS(cudaErrorInvalidValue);
    nothing<<<dim3(1, 65536), 1>>>();
    FAILS(cudaErrorInvalidValue);
    bounded<<<1, 128>>>();
    OK(cudaGetLastError());
    bounded<<<1, 129>>>();
    FAILS(cudaErrorInvalidValue);
    shared<<<1, 32, 48 * 1024>>>(nullptr);
    OK(cudaGetLastError());
    shared<<<1, 32, 48 * 1024 + 1>>>(nullptr);
    FAILS(cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
    shared<<<1, 32, 64 * 1024>>>(nullptr);
    OK(cudaGetLastError());
    EXPECT(cudaErrorInvalidValue, cudaFuncSetAttribute(shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
    EXPECT(cudaErrorInvalidValue, cudaGetLastError());

    void (*no_kernel)() = [] {};
    void *arguments[] = {nullptr};
    EXPECT(cudaErrorInvalidResourceHandle, cudaLaunchKernel((void *)no_kernel, dim3(1), dim3(1), arguments, 0, 0));
    EXPECT(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void *)nullptr, dim3(1), dim3(1), arguments, 0, 0));
    EXPECT(cudaErrorInvalidResourceHandle, cudaLaunchKernel((void *)&main, dim3(1), dim3(1), arguments, 0, 0));
    EXPECT(cudaErrorInvalidResourceHandle, cudaLaunchKernel((void *)"text", dim3(1), dim3(1), arguments, 0, 0));
    cudaGetLastError();

    CHECK(strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0);
    CHECK(strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code") == 0);
    return 0;
}
