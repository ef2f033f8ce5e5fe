#include "error_codes.h"

#include <stddef.h>

kf_status kf_cuda_error_status(int code, const char **name)
{
    static const struct {
        int code;
        kf_status status;
        const char *name;
    } rows[] = {
        {1, KF_LAUNCH_FAILURE, "cudaErrorInvalidValue"},
        {2, KF_OUT_OF_MEMORY, "cudaErrorMemoryAllocation"},
        {3, KF_LAUNCH_FAILURE, "cudaErrorInitializationError"},
        {4, KF_CRASH, "cudaErrorCudartUnloading"},
        {9, KF_LAUNCH_FAILURE, "cudaErrorInvalidConfiguration"},
        {13, KF_LAUNCH_FAILURE, "cudaErrorInvalidSymbol"},
        {35, KF_LAUNCH_FAILURE, "cudaErrorInsufficientDriver"},
        {46, KF_LAUNCH_FAILURE, "cudaErrorDevicesUnavailable"},
        {98, KF_LAUNCH_FAILURE, "cudaErrorInvalidDeviceFunction"},
        {100, KF_LAUNCH_FAILURE, "cudaErrorNoDevice"},
        {101, KF_LAUNCH_FAILURE, "cudaErrorInvalidDevice"},
        {200, KF_LAUNCH_FAILURE, "cudaErrorInvalidKernelImage"},
        {201, KF_LAUNCH_FAILURE, "cudaErrorDeviceUninitialized"},
        {209, KF_LAUNCH_FAILURE, "cudaErrorNoKernelImageForDevice"},
        {214, KF_CRASH, "cudaErrorECCUncorrectable"},
        {218, KF_LAUNCH_FAILURE, "cudaErrorInvalidPtx"},
        {220, KF_CRASH, "cudaErrorNvlinkUncorrectable"},
        {222, KF_LAUNCH_FAILURE, "cudaErrorUnsupportedPtxVersion"},
        {304, KF_LAUNCH_FAILURE, "cudaErrorOperatingSystem"},
        {400, KF_LAUNCH_FAILURE, "cudaErrorInvalidResourceHandle"},
        {401, KF_LAUNCH_FAILURE, "cudaErrorIllegalState"},
        {500, KF_LAUNCH_FAILURE, "cudaErrorSymbolNotFound"},
        {600, KF_LAUNCH_FAILURE, "cudaErrorNotReady"},
        {700, KF_CRASH, "cudaErrorIllegalAddress"},
        {701, KF_LAUNCH_FAILURE, "cudaErrorLaunchOutOfResources"},
        {702, KF_TIMEOUT, "cudaErrorLaunchTimeout"},
        {709, KF_CRASH, "cudaErrorContextIsDestroyed"},
        {710, KF_CRASH, "cudaErrorAssert"},
        {714, KF_CRASH, "cudaErrorHardwareStackError"},
        {715, KF_CRASH, "cudaErrorIllegalInstruction"},
        {716, KF_CRASH, "cudaErrorMisalignedAddress"},
        {717, KF_CRASH, "cudaErrorInvalidAddressSpace"},
        {718, KF_CRASH, "cudaErrorInvalidPc"},
        {719, KF_CRASH, "cudaErrorLaunchFailure"},
        {720, KF_LAUNCH_FAILURE, "cudaErrorCooperativeLaunchTooLarge"},
        {800, KF_LAUNCH_FAILURE, "cudaErrorNotPermitted"},
        {801, KF_LAUNCH_FAILURE, "cudaErrorNotSupported"},
        {802, KF_LAUNCH_FAILURE, "cudaErrorSystemNotReady"},
        {803, KF_LAUNCH_FAILURE, "cudaErrorSystemDriverMismatch"},
        {804, KF_LAUNCH_FAILURE, "cudaErrorCompatNotSupportedOnDevice"},
        {900, KF_LAUNCH_FAILURE, "cudaErrorStreamCaptureUnsupported"},
        {901, KF_LAUNCH_FAILURE, "cudaErrorStreamCaptureInvalidated"},
        {904, KF_LAUNCH_FAILURE, "cudaErrorStreamCaptureUnjoined"},
        {906, KF_LAUNCH_FAILURE, "cudaErrorStreamCaptureImplicit"},
        {999, KF_LAUNCH_FAILURE, "cudaErrorUnknown"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code) {
            *name = rows[i].name;
            return rows[i].status;
        }
    *name = "a CUDA error";
    return KF_LAUNCH_FAILURE;
}

bool kf_cuda_error_is_machine(int code)
{
    static const int codes[] = {35, 46, 100, 214, 220, 304, 802, 803, 804, 999};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code) return true;
    return false;
}
