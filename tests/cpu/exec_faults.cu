// What ends a launch: deadlock, assertion, trap, bad geometry. The error is reported once, and the next launch works.
#undef NDEBUG
// Without an #include, as CUDA's own headers have it.
__global__ void asserts_at_once(int n)
{
    assert(n != (int)threadIdx.x);
}
#include "exec_check.h"
#include <assert.h>
#include <string.h>

extern "C" const char *kfcpu_last_fault(int error);

__global__ void never(int *out)
{ // the lanes that the shuffle names wait at the barrier
    if (threadIdx.x < 16)
        out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 20);
    else
        __syncthreads();
    __syncthreads();
}
__global__ void asserts(int n)
{
    assert(n == (int)threadIdx.x);
}
// Libraries declare the C library's function themselves, and call it from macros of their own.
extern "C" __host__ __device__ void __assert_fail(const char *expression, const char *file,
                                                  unsigned int line, const char *function);
#define KERNEL_ASSERT(condition) \
    ((condition) ? (void)0 : __assert_fail(#condition, __FILE__, (unsigned)__LINE__, __func__))
__global__ void asserts_itself(int n)
{
    KERNEL_ASSERT(n > (int)threadIdx.x);
}
__global__ void traps()
{
    __syncthreads();
    if (threadIdx.x == 5 && blockIdx.x == 7) __trap();
    __syncthreads();
}
__global__ void fine(int *out)
{
    __syncthreads();
    out[threadIdx.x] = 42;
}
__global__ void wrong_mask(int *out)
{
    out[threadIdx.x] = __shfl_sync(1u, 1, 0);
}

static bool says(cudaError_t error, const char *text)
{
    return strstr(kfcpu_last_fault(error), text);
}

// What failed stays failed until the device is reset; then all is well again.
static void check_recovers(cudaError_t expected, const char *kernel, const char *reason)
{
    CHECK(cudaDeviceSynchronize() == expected);
    CHECK(says(expected, kernel) && says(expected, reason));
    CHECK_CUDA(cudaDeviceReset());
    cudaGetLastError();
    int *out = memory<int>(64);
    fine<<<3, 64>>>(out);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) CHECK(out[i] == 42);
}

int main()
{
    never<<<20, 64>>>(memory<int>(64));
    check_recovers(cudaErrorLaunchFailure, "never", "deadlock");
    asserts<<<4, 32>>>(3);
    check_recovers(cudaErrorAssert, "asserts", "n == (int)threadIdx.x");
    asserts_at_once<<<4, 32>>>(3);
    check_recovers(cudaErrorAssert, "asserts_at_once", "n != (int)threadIdx.x");
    asserts_itself<<<4, 32>>>(3);
    check_recovers(cudaErrorAssert, "asserts_itself", "n > (int)threadIdx.x");
    traps<<<10, 32>>>();
    check_recovers(cudaErrorLaunchFailure, "traps, block (7,0,0), thread (5,0,0)", "__trap");
    wrong_mask<<<1, 32>>>(memory<int>(64));
    check_recovers(cudaErrorLaunchFailure, "wrong_mask", "does not name the calling lane");
    int *out = memory<int>(64);
    fine<<<1, 1025>>>(out);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(says(cudaErrorInvalidValue, "kernel fine <<<(1,1,1), (1025,1,1), 0>>>: "
                                      "1025 threads in a block, limit 1024"));
    // The text explains no other error.
    CHECK(!*kfcpu_last_fault(cudaErrorIllegalAddress) && !*kfcpu_last_fault(cudaSuccess));
    fine<<<dim3(1, 65536), 1>>>(out);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    fine<<<0, 32>>>(out);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(says(cudaErrorInvalidValue, "0 blocks in one axis of the grid, must be 1 or more"));
    fine<<<1, dim3(1, 1, 65)>>>(out);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(says(cudaErrorInvalidValue, "65 threads in one axis of a block, limit 64"));
    fine<<<1, dim3(1, 0)>>>(out);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(says(cudaErrorInvalidValue, "0 threads in one axis of a block, must be 1 or more"));
    void *arguments[] = {&out};
    const cudaError_t many = cudaErrorCooperativeLaunchTooLarge;
    CHECK(cudaLaunchCooperativeKernel((const void *)fine, dim3(1 << 20), dim3(64), arguments, 0,
                                      nullptr) == many);
    CHECK(cudaGetLastError() == many);
    CHECK(says(many, "1048576 blocks of a cooperative launch, limit "));
    CHECK(!*kfcpu_last_fault(cudaErrorInvalidValue));
    kfcpu_geometry nameless = {{0, 1, 1}, {1, 1, 1}, 0, nullptr, 0, nullptr};
    CHECK(kfcpu_execute(&nameless, nullptr, nullptr) == 9);
    CHECK(says(cudaErrorInvalidConfiguration, "kernel <<<(0,1,1), (1,1,1), 0>>>: invalid grid"));
    CHECK_CUDA(cudaDeviceSynchronize());
    return result();
}
