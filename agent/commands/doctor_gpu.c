/* Facts about GPUs from the CUDA driver, which is loaded at run time. Names and numbers are those
 * of cuda.h and nvml.h: https://docs.nvidia.com/cuda/cuda-driver-api/ and
 * https://docs.nvidia.com/deploy/nvml-api/. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "kforge/gpu.h"

typedef struct driver {
    void *library;
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*count)(int *devices);
    int (*name)(char *text, int size, int device);
    int (*memory)(size_t *bytes, int device);
    int (*attribute)(int *value, int attribute, int device);
    int (*error_string)(int error, const char **text);
} driver;

#define CAPABILITY_MAJOR 75
#define CAPABILITY_MINOR 76

static bool load(driver *d)
{
    const struct {
        void *place;
        const char *name;
    } functions[] = {
        {&d->init, "cuInit"},
        {&d->driver_version, "cuDriverGetVersion"},
        {&d->count, "cuDeviceGetCount"},
        {&d->name, "cuDeviceGetName"},
        {&d->memory, "cuDeviceTotalMem_v2"},
        {&d->attribute, "cuDeviceGetAttribute"},
        {&d->error_string, "cuGetErrorString"},
    };
    d->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!d->library) return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(d->library, functions[i].name);
        if (!symbol) return false;
        memcpy(functions[i].place, &symbol, sizeof symbol);
    }
    return true;
}

/* Reads the version of the kernel driver, which differs from CUDA's: "580.65.06". */
static void driver_release(char text[96])
{
    text[0] = '\0';
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*start)(void) = NULL, (*stop)(void) = NULL, (*version)(char *, unsigned) = NULL;
    void *symbols[3] = {0};
    if (library) {
        symbols[0] = dlsym(library, "nvmlInit_v2");
        symbols[1] = dlsym(library, "nvmlShutdown");
        symbols[2] = dlsym(library, "nvmlSystemGetDriverVersion");
    }
    memcpy(&start, &symbols[0], sizeof start);
    memcpy(&stop, &symbols[1], sizeof stop);
    memcpy(&version, &symbols[2], sizeof version);
    if (!start || !stop || !version) return;
    kf_gpu_enter("nvmlInit_v2");
    bool started = start() == 0;
    if (started && version(text, 96) != 0) text[0] = '\0';
    if (started) stop();
    kf_gpu_leave();
}

static void describe(kf_doctor *doctor, const driver *d, int count)
{
    int version = 0;
    char release[96];
    driver_release(release);
    d->driver_version(&version);
    for (int i = 0; i < count; i++) {
        char name[128] = "?";
        size_t bytes = 0;
        int major = 0, minor = 0;
        d->name(name, sizeof name, i);
        d->memory(&bytes, i);
        d->attribute(&major, CAPABILITY_MAJOR, i);
        d->attribute(&minor, CAPABILITY_MINOR, i);
        bool old = major < KF_GPU_MIN_MAJOR;
        kf_doctor_add(doctor, "gpu", old ? KF_FACT_MISSING : KF_FACT_GOOD,
                      old ? "kforge needs compute capability 7.0 or later" : "",
                      "cuda:%d %s, %.0f GiB, compute capability %d.%d, CUDA %d.%d%s%s", i, name,
                      (double)bytes / (1 << 30), major, minor, version / 1000, version % 1000 / 10,
                      release[0] ? ", driver " : "", release);
    }
}

/* Adds a fact and returns true if a missing MIG instance is the reason why the driver shows no GPU
 * or does not start. */
static bool no_instance(kf_doctor *doctor)
{
    char text[512], *todo = kf_gpu_without_instance(text, sizeof text) ? strstr(text, "; ") : NULL;
    if (!todo) return false;
    *todo = '\0';
    kf_doctor_add(doctor, "gpu", KF_FACT_MISSING, todo + 2, "the driver shows no GPU: %s", text);
    return true;
}

int kf_doctor_gpu(kf_doctor *doctor)
{
    driver d = {0};
    if (!load(&d)) {
        kf_doctor_add(
            doctor, "gpu", KF_FACT_MISSING,
            "install NVIDIA's driver; without one, kernels run on the CPU device (--device cpu)",
            d.library ? "libcuda.so.1 is too old: it lacks functions of CUDA 11"
                      : "no NVIDIA driver: libcuda.so.1 was not found");
        return 0;
    }
    int count = 0;
    kf_gpu_enter("cuInit");
    int error = d.init(0);
    if (error == 0) error = d.count(&count);
    kf_gpu_leave();
    if (error == KF_GPU_NONE && no_instance(doctor)) return 0;
    if (error != 0) {
        const char *text = NULL;
        if (d.error_string(error, &text) != 0 || !text) text = "unknown error";
        const char *remedy = kf_gpu_remedy(error);
        kf_doctor_add(doctor, "gpu", error == KF_GPU_NONE ? KF_FACT_MISSING : KF_FACT_FAULT,
                      remedy ? remedy : "check nvidia-smi, and the kernel log with dmesg",
                      "the CUDA driver does not start: %s (error %d)", text, error);
        return 0;
    }
    if (count == 0 && !no_instance(doctor))
        kf_doctor_add(doctor, "gpu", KF_FACT_MISSING,
                      "check whether CUDA_VISIBLE_DEVICES hides them",
                      "the driver works, but shows no GPU");
    describe(doctor, &d, count);
    if (count && access("/dev/cpu_dma_latency", W_OK) != 0)
        kf_doctor_add(
            doctor, "timing", KF_FACT_MISSING,
            "run as root, or give kforge's user write access to /dev/cpu_dma_latency (a udev rule)",
            "processors may sleep while a GPU is timed: intervals get wider or take longer");
    return count;
}
