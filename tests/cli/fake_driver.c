/* Stands in for libcuda.so.1 and libnvidia-ml.so.1 where `doctor` looks for a GPU: two GPUs, or the error in $FAKE_CUDA_ERROR. It can tell only that
 * doctor calls what it should and words the answers; whether the driver answers so is for a machine with a GPU. */
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGetName(char *text, int size, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuGetErrorString(int error, const char **text);
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *text, unsigned size);

int cuInit(unsigned flags)
{
    const char *error = getenv("FAKE_CUDA_ERROR");
    return flags ? 1 : error ? atoi(error) : 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13010;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = getenv("FAKE_CUDA_NONE") ? 0 : 2;
    return 0;
}

int cuDeviceGetName(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "Pretend GPU %c", 'A' + device);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)(device + 1) << 34;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 75 ? 9 : attribute == 76 ? device : -1;
    return 0;
}

int cuGetErrorString(int error, const char **text)
{
    *text = error == 100 ? "no CUDA-capable device is detected" : NULL;
    return *text ? 0 : 1;
}

int nvmlInit_v2(void)
{
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
