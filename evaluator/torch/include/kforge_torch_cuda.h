// PyTorch as CUDA extensions see it, on the CPU device: kforge-cpucc takes the place of nvcc, and a
// tensor of the processor that of one on a GPU. Included before an extension's first line.
// PyTorch's own headers must not take the compiler for nvcc; they have been read when is_cuda
// becomes another word.
#pragma once
// CUDA_KERNEL_ASSERT of PyTorch calls this function of glibc. kforge's <assert.h> does not declare
// it.
extern "C" void __assert_fail(const char *, const char *, unsigned, const char *) noexcept
    __attribute__((noreturn));
#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include <torch/extension.h>
#pragma pop_macro("__CUDACC__")
#include <cuda_runtime.h>

namespace c10
{
namespace cuda
{
struct CUDAStream {
    CUDAStream() {}
    operator cudaStream_t() const { return nullptr; }
    cudaStream_t stream() const { return nullptr; }
    void synchronize() const { cudaStreamSynchronize(nullptr); }
    DeviceIndex device_index() const { return 0; }
};
inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1)
{
    return CUDAStream();
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1)
{
    return CUDAStream();
}
inline DeviceIndex current_device()
{
    return 0;
}
inline DeviceIndex device_count()
{
    return 1;
}
struct CUDAGuard {
    template <class T> explicit CUDAGuard(T) {}
};
struct OptionalCUDAGuard {
    OptionalCUDAGuard() {}
    template <class T> explicit OptionalCUDAGuard(T) {}
};
inline void kforge_check(cudaError_t status, const char *file, int line)
{
    TORCH_CHECK(status == cudaSuccess, "CUDA error: ", cudaGetErrorString(status), " (", file, ":",
                line, ")");
}
} // namespace cuda
} // namespace c10
namespace at
{
namespace cuda
{
using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::OptionalCUDAGuard;
inline cudaDeviceProp *getCurrentDeviceProperties()
{
    static cudaDeviceProp properties;
    static bool known = cudaGetDeviceProperties(&properties, 0) == cudaSuccess;
    (void)known;
    return &properties;
}
inline cudaDeviceProp *getDeviceProperties(int)
{
    return getCurrentDeviceProperties();
}
inline bool is_available()
{
    return true;
}
} // namespace cuda
} // namespace at

#define C10_CUDA_CHECK(EXPRESSION) ::c10::cuda::kforge_check((EXPRESSION), __FILE__, __LINE__)
#define AT_CUDA_CHECK(EXPRESSION) C10_CUDA_CHECK(EXPRESSION)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define is_cuda is_cpu
#define kCUDA kCPU
