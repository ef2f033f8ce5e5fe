/* Stands in for libcuda.so.1, libnvidia-ml.so.1 and libnvrtc.so.13, with two GPUs. Their memory
 * holds nothing, and their kernels do nothing. A device opens, and a job begins. No runner starts,
 * since there is no /dev/nvidia4711. The tests check kforge's calls and its messages for the
 * answers. A real driver's answers need a machine with a GPU. fake_driver_rest.c has the rest of
 * the driver.
 *
 *   FAKE_CUDA_ERROR=N               the driver does not start: cuInit returns N
 *   FAKE_CUDA_NONE=1                the driver starts and shows no GPU
 *   FAKE_CUDA_VERSION=12040         the CUDA version of the driver
 *   FAKE_CUDA_CAPABILITY=6.1        the compute capability of both GPUs
 *   FAKE_CUDA_LOSS=FUNCTION:ERROR   from the first call of FUNCTION on, all functions return ERROR:
 *                                   this process has lost the GPU
 *   FAKE_CUDA_GONE=FILE             the loss creates FILE. Once it exists, the driver shows no
 *                                   device to any process
 *   FAKE_CUDA_HANG=FUNCTION         a call of FUNCTION, of libcuda or NVML, does not return
 *   FAKE_CUDA_HANG_AFTER=N          the first N calls of it do return
 *   FAKE_GPU_OWNER=N                ends both GPUs' UUIDs: each test has its own GPUs and locks
 *   FAKE_ECC=1                      each query counts one more uncorrectable error
 *   FAKE_MIG=instance|empty         the GPU shown is a MIG instance; or all GPUs are in MIG mode
 *                                   without an instance
 *   FAKE_NVRTC=12.4                 NVRTC's version
 *   FAKE_NVRTC_REFUSES=1            NVRTC does not know the GPU */
#include "fake_driver.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cuDeviceTotalMem_v2(size_t *bytes, int device);
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *instance, void **device);
int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending);
int nvmlDeviceGetMinorNumber(void *device, unsigned *number);
int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *count);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetUtilizationRates(void *device, unsigned rates[2]);
int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers,
                       const char **texts, const char **names);
int nvrtcDestroyProgram(void **program);
int nvrtcCompileProgram(void *program, int options, const char **list);
int nvrtcGetCUBINSize(void *program, size_t *size);
int nvrtcGetCUBIN(void *program, char *image);
int nvrtcGetProgramLogSize(void *program, size_t *size);
int nvrtcGetProgramLog(void *program, char *text);

static const char *wish(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

static bool wishes(const char *name, const char *value)
{
    return strcmp(wish(name), value) == 0;
}

/* Hangs for good, ignoring signals, like a driver with a GPU that no longer answers. */
static void hang(const char *function)
{
    static int calls;
    if (wishes("FAKE_CUDA_HANG", function) && calls++ >= atoi(wish("FAKE_CUDA_HANG_AFTER")))
        for (;;) pause();
}

/* ---- the driver ------------------------------------------------------------------------------ */

cu_result fake_answer(const char *function)
{
    static cu_result lost;
    hang(function);
    const char *rule = wish("FAKE_CUDA_LOSS"), *colon = strchr(rule, ':');
    if (!lost && colon && strlen(function) == (size_t)(colon - rule) &&
        strncmp(rule, function, strlen(function)) == 0) {
        lost = atoi(colon + 1);
        if (*wish("FAKE_CUDA_GONE"))
            close(open(wish("FAKE_CUDA_GONE"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    return lost;
}

cu_result fake_init(unsigned flags)
{
    hang("cuInit");
    if (*wish("FAKE_CUDA_GONE") && access(wish("FAKE_CUDA_GONE"), F_OK) == 0) return 100;
    return flags ? 1 : atoi(wish("FAKE_CUDA_ERROR"));
}

cu_result fake_version(int *version)
{
    *version = *wish("FAKE_CUDA_VERSION") ? atoi(wish("FAKE_CUDA_VERSION")) : 13010;
    return CU_SUCCESS;
}

cu_result fake_error_name(cu_result result, const char **name)
{
    static const struct {
        cu_result result;
        const char *name;
    } rows[] = {{34, "CUDA_ERROR_STUB_LIBRARY"},
                {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
                {100, "CUDA_ERROR_NO_DEVICE"},
                {200, "CUDA_ERROR_INVALID_IMAGE"},
                {719, "CUDA_ERROR_LAUNCH_FAILED"},
                {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
                {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
                {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
                {999, "CUDA_ERROR_UNKNOWN"}};
    *name = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !*name; i++)
        if (rows[i].result == result) *name = rows[i].name;
    return *name ? CU_SUCCESS : 1;
}

cu_result fake_error_text(cu_result result, const char **text)
{
    *text = result == 100 ? "no CUDA-capable device is detected" : NULL;
    return *text ? CU_SUCCESS : 1;
}

cu_result fake_device_count(int *count)
{
    *count = *wish("FAKE_CUDA_NONE") || wishes("FAKE_MIG", "empty") ? 0 : *wish("FAKE_MIG") ? 1 : 2;
    return CU_SUCCESS;
}

cu_result fake_device_get(cu_device *device, int ordinal)
{
    *device = ordinal;
    return CU_SUCCESS;
}

cu_result fake_device_name(char *name, int length, cu_device device)
{
    snprintf(name, (size_t)length, "Pretend GPU %c%s", 'A' + device,
             *wish("FAKE_MIG") ? " MIG 1g.5gb" : "");
    return CU_SUCCESS;
}

cu_result fake_device_attribute(int *value, int attribute, cu_device device)
{
    int major = 9, minor = device;
    sscanf(wish("FAKE_CUDA_CAPABILITY"), "%d.%d", &major, &minor);
    *value = attribute == CU_ATTRIBUTE_MAJOR      ? major
             : attribute == CU_ATTRIBUTE_MINOR    ? minor
             : attribute == CU_ATTRIBUTE_L2_BYTES ? 1 << 20
                                                  : 1;
    return CU_SUCCESS;
}

cu_result fake_device_uuid(cu_uuid *uuid, cu_device device)
{
    memset(uuid, device + 1, sizeof *uuid);
    for (int i = 0; i < 4 && *wish("FAKE_GPU_OWNER"); i++)
        uuid->bytes[15 - i] = (unsigned char)(atoi(wish("FAKE_GPU_OWNER")) >> 8 * i);
    return CU_SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)(device + 1) << 34;
    return 0;
}

cu_result fake_memory_info(size_t *free_bytes, size_t *total)
{
    *free_bytes = *total = (size_t)1 << 34;
    return fake_answer("cuMemGetInfo_v2");
}

cu_result fake_granularity(size_t *bytes, const cu_allocation *allocation, int option)
{
    (void)allocation, (void)option;
    *bytes = 1 << 21;
    return fake_answer("cuMemGetAllocationGranularity");
}

cu_result fake_event_elapsed(float *milliseconds, cu_event start, cu_event end)
{
    (void)start, (void)end;
    *milliseconds = 0.5f;
    return fake_answer("cuEventElapsedTime");
}

/* ---- NVML ------------------------------------------------------------------------------------ */

static char gpu, second, instance;

int nvmlInit_v2(void)
{
    hang("nvmlInit_v2");
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "580.65.06");
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 1;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &gpu;
    return index ? 2 : 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    bool asked = strncmp(uuid, "MIG-", 4) == 0, is = wishes("FAKE_MIG", "instance");
    *device = is ? &instance : strncmp(uuid, "GPU-02", 6) == 0 ? &second : &gpu;
    return asked == is ? 0 : 6; /* NVML_ERROR_NOT_FOUND */
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *mig, void **device)
{
    *device = &gpu;
    return mig == &instance ? 0 : 2;
}

int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
    *current = *pending = *wish("FAKE_MIG") != 0;
    return device != &instance ? 0 : 2;
}

int nvmlDeviceGetMinorNumber(void *device, unsigned *number)
{
    *number = 4711;
    return device != &instance ? 0 : 3; /* NVML_ERROR_NOT_SUPPORTED: an instance has none */
}

int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *count)
{
    static unsigned long long errors;
    *count = errors;
    errors += *wish("FAKE_ECC") && type == 1 && counter == 0;
    return device != &instance ? 0 : 3;
}

/* $FAKE_THROTTLE: the second GPU's reasons as a number. */
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    *reasons = device == &second ? strtoull(wish("FAKE_THROTTLE"), NULL, 0) : 0;
    return device != &instance ? 0 : 3;
}

/* $FAKE_LOAD: of the second GPU, in percent. */
int nvmlDeviceGetUtilizationRates(void *device, unsigned rates[2])
{
    rates[0] = device == &second ? (unsigned)strtoul(wish("FAKE_LOAD"), NULL, 10) : 0;
    rates[1] = 0;
    return device != &instance ? 0 : 3;
}

/* ---- NVRTC ----------------------------------------------------------------------------------- */

int nvrtcVersion(int *major, int *minor)
{
    *major = 13, *minor = 1;
    sscanf(wish("FAKE_NVRTC"), "%d.%d", major, minor);
    return 0;
}

int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers,
                       const char **texts, const char **names)
{
    (void)source, (void)name, (void)headers, (void)texts, (void)names;
    *program = &gpu;
    return 0;
}

int nvrtcDestroyProgram(void **program)
{
    *program = NULL;
    return 0;
}

int nvrtcCompileProgram(void *program, int options, const char **list)
{
    (void)program, (void)options, (void)list;
    return *wish("FAKE_NVRTC_REFUSES") ? 5 : 0;
}

int nvrtcGetCUBINSize(void *program, size_t *size)
{
    (void)program;
    *size = 1;
    return 0;
}

int nvrtcGetCUBIN(void *program, char *image)
{
    (void)program;
    *image = 0;
    return 0;
}

static const char complaint[] = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";

int nvrtcGetProgramLogSize(void *program, size_t *size)
{
    (void)program;
    *size = sizeof complaint;
    return 0;
}

int nvrtcGetProgramLog(void *program, char *text)
{
    (void)program;
    memcpy(text, complaint, sizeof complaint);
    return 0;
}
