// Sources ask for CUDA's runtime by the include guards of its headers.
#include "check.h"
#include <cuda_fp16.h>

#if !defined(__CUDA_RUNTIME_H__) || !defined(__CUDA_RUNTIME_API_H__) ||                            \
    !defined(__DRIVER_TYPES_H__) || !defined(__VECTOR_TYPES_H__) ||                                \
    !defined(__DEVICE_TYPES_H__) || !defined(__HOST_DEFINES_H__) ||                                \
    !defined(__LIBRARY_TYPES_H__) || !defined(__MATH_FUNCTIONS_H__) || !defined(__SM_90_RT_H__) || \
    !defined(__CUDA_FP16_H__)
#error a guard is missing
#endif

int main()
{
    OK(cudaSetDeviceFlags(cudaDeviceBlockingSync));
    unsigned flags = 0;
    OK(cudaGetDeviceFlags(&flags));
    CHECK((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync &&
          (flags & ~cudaDeviceMask) == 0);
    return 0;
}
