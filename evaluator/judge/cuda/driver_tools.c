#include "driver_tools.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "kforge/gpu.h"

/* ---- NVRTC ----------------------------------------------------------------------------------- */

typedef struct _nvrtcProgram *program_t;

static struct {
    void *library;
    int (*version)(int *major, int *minor);
    int (*create)(program_t *program, const char *source, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*destroy)(program_t *program);
    int (*compile)(program_t program, int options, const char *const *list);
    int (*cubin_size)(program_t program, size_t *size);
    int (*cubin)(program_t program, char *image);
    int (*log_size)(program_t program, size_t *size);
    int (*log)(program_t program, char *text);
    char words[32];
} nvrtc;

static void load_nvrtc(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so"};
    const char *home = getenv("CUDA_HOME");
    const char *folders[] = {"", home ? home : "", "/usr/local/cuda"};
    for (size_t f = 0; f < 3 && !nvrtc.library; f++)
        for (size_t n = 0; n < 4 && !nvrtc.library; n++) {
            char path[4200];
            if (f && !folders[f][0]) continue;
            snprintf(path, sizeof path, f ? "%s/lib64/%s" : "%s%s", folders[f], names[n]);
            nvrtc.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    if (!nvrtc.library) return;
    const struct {
        const char *symbol;
        void *slot;
    } symbols[] = {
        {"nvrtcVersion", &nvrtc.version},
        {"nvrtcCreateProgram", &nvrtc.create},
        {"nvrtcDestroyProgram", &nvrtc.destroy},
        {"nvrtcCompileProgram", &nvrtc.compile},
        {"nvrtcGetCUBINSize", &nvrtc.cubin_size},
        {"nvrtcGetCUBIN", &nvrtc.cubin},
        {"nvrtcGetProgramLogSize", &nvrtc.log_size},
        {"nvrtcGetProgramLog", &nvrtc.log},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *function = dlsym(nvrtc.library, symbols[i].symbol);
        if (!function) {
            dlclose(nvrtc.library);
            nvrtc.library = NULL;
            return;
        }
        memcpy(symbols[i].slot, &function, sizeof function);
    }
    int major = 0, minor = 0;
    nvrtc.version(&major, &minor);
    snprintf(nvrtc.words, sizeof nvrtc.words, "%d.%d", major, minor);
}

static bool have_nvrtc(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_nvrtc);
    return nvrtc.library != NULL;
}

const char *kf_nvrtc_version(void)
{
    have_nvrtc();
    return nvrtc.words;
}

static char *first_error(program_t program)
{
    size_t size = 0;
    if (nvrtc.log_size(program, &size) || !size) return NULL;
    char *log = malloc(size + 1);
    if (!log || nvrtc.log(program, log)) return log;
    log[size] = '\0';
    char *line = strstr(log, "error");
    while (line && line > log && line[-1] != '\n') line--;
    if (line && line != log) memmove(log, line, strlen(line) + 1);
    log[strcspn(log, "\n")] = '\0';
    return log;
}

char *kf_nvrtc_compile(const kf_source_file *files, size_t count, int major, int minor,
                       const char *const *options, size_t option_count, size_t *size,
                       kf_error *error)
{
    const char *texts[16], *names[16], *list[80];
    char architecture[48];
    if (!have_nvrtc()) {
        kf_fail(error, KF_ERROR_MACHINE,
                "libnvrtc.so (CUDA 11.4 or later) is missing: install the CUDA toolkit, or point "
                "CUDA_HOME or LD_LIBRARY_PATH to it");
        return NULL;
    }
    if (count > 17 || option_count > 70) {
        kf_fail(error, KF_ERROR_INTERNAL, "too many files or options for NVRTC");
        return NULL;
    }
    for (size_t i = 1; i < count; i++) texts[i - 1] = files[i].text, names[i - 1] = files[i].name;
    snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
    size_t used = 0;
    list[used++] = architecture;
    for (size_t i = 0; i < option_count; i++) list[used++] = options[i];
    program_t program;
    if (nvrtc.create(&program, files[0].text, files[0].name, (int)count - 1, texts, names)) {
        kf_fail(error, KF_ERROR_MACHINE, "NVRTC %s takes no program", nvrtc.words);
        return NULL;
    }
    char *image = NULL;
    if (nvrtc.compile(program, (int)used, list)) {
        kf_autofree char *complaint = first_error(program);
        char remedy[160] = "";
        /* The version is too old, or too new: CUDA 13 dropped compute capability 7.0. */
        if (complaint && strstr(complaint, "gpu-architecture"))
            snprintf(remedy, sizeof remedy,
                     "; point CUDA_HOME and LD_LIBRARY_PATH to a toolkit that knows compute "
                     "capability %d.%d",
                     major, minor);
        kf_fail(error, KF_ERROR_MACHINE,
                "NVRTC %s does not compile the judge's kernels for sm_%d%d: %s%s", nvrtc.words,
                major, minor, complaint ? complaint : "no message", remedy);
    } else if (nvrtc.cubin_size(program, size) || !*size || !(image = malloc(*size)) ||
               nvrtc.cubin(program, image)) {
        free(image);
        image = NULL;
        kf_fail(error, KF_ERROR_MACHINE, "NVRTC %s gives no machine code for sm_%d%d", nvrtc.words,
                major, minor);
    }
    nvrtc.destroy(&program);
    return image;
}

/* ---- NVML ------------------------------------------------------------------------------------ */

struct kf_nvml {
    void *library, *device;
    int (*shutdown)(void);
    int (*clock)(void *device, unsigned type, unsigned *mhz);
    int (*throttle)(void *device, unsigned long long *reasons);
    int (*minor)(void *device, unsigned *number);
    int (*driver)(char *version, unsigned length);
    int (*memory_errors)(void *device, int type, int counter, unsigned long long *count);
    int (*count_all)(unsigned *count);
    int (*get)(unsigned index, void **device);
    int (*index)(void *device, unsigned *index);
    int (*processors)(void *device, unsigned words, unsigned long *set);
};

enum { NVML_GPU_IS_LOST = 15, NVML_RESET_REQUIRED = 16 };

static int leave_with(int result)
{
    kf_gpu_leave();
    return result;
}

/* Marks a call into NVML, which calls the driver. */
#define NVML(name, call) (kf_gpu_enter(name), leave_with(call))

kf_nvml *kf_nvml_open(const char *uuid)
{
    kf_autofree kf_nvml *nvml = calloc(1, sizeof *nvml);
    if (!nvml || !(nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL))) return NULL;
    int (*start)(void), (*find)(const char *text, void **device),
        (*whole)(void *instance, void **device);
    *(void **)&start = dlsym(nvml->library, "nvmlInit_v2");
    *(void **)&find = dlsym(nvml->library, "nvmlDeviceGetHandleByUUID");
    *(void **)&whole = dlsym(nvml->library, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
    *(void **)&nvml->memory_errors = dlsym(nvml->library, "nvmlDeviceGetTotalEccErrors");
    *(void **)&nvml->shutdown = dlsym(nvml->library, "nvmlShutdown");
    *(void **)&nvml->clock = dlsym(nvml->library, "nvmlDeviceGetClockInfo");
    *(void **)&nvml->throttle = dlsym(nvml->library, "nvmlDeviceGetCurrentClocksThrottleReasons");
    *(void **)&nvml->minor = dlsym(nvml->library, "nvmlDeviceGetMinorNumber");
    *(void **)&nvml->driver = dlsym(nvml->library, "nvmlSystemGetDriverVersion");
    *(void **)&nvml->count_all = dlsym(nvml->library, "nvmlDeviceGetCount_v2");
    *(void **)&nvml->get = dlsym(nvml->library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&nvml->index = dlsym(nvml->library, "nvmlDeviceGetIndex");
    *(void **)&nvml->processors = dlsym(nvml->library, "nvmlDeviceGetCpuAffinity");
    if (!start || !find || !nvml->shutdown || NVML("nvmlInit_v2", start())) {
        dlclose(nvml->library);
        return NULL;
    }
    bool found = NVML("nvmlDeviceGetHandleByUUID", find(uuid, &nvml->device)) == 0;
    if (found && strncmp(uuid, "MIG-", 4) == 0)
        found = whole && whole(nvml->device, &nvml->device) == 0;
    if (!found) {
        NVML("nvmlShutdown", nvml->shutdown());
        dlclose(nvml->library);
        return NULL;
    }
    return kf_steal(&nvml);
}

void kf_nvml_close(kf_nvml *nvml)
{
    if (!nvml) return;
    NVML("nvmlShutdown", nvml->shutdown());
    dlclose(nvml->library);
    free(nvml);
}

double kf_nvml_clock_mhz(kf_nvml *nvml)
{
    unsigned mhz;
    const unsigned sm = 1; /* NVML_CLOCK_SM */
    return nvml && nvml->clock &&
                   NVML("nvmlDeviceGetClockInfo", nvml->clock(nvml->device, sm, &mhz)) == 0
               ? mhz
               : (double)NAN;
}

uint64_t kf_nvml_throttle(kf_nvml *nvml)
{
    unsigned long long reasons;
    return nvml && nvml->throttle &&
                   NVML("nvmlDeviceGetCurrentClocksThrottleReasons",
                        nvml->throttle(nvml->device, &reasons)) == 0
               ? reasons
               : 0;
}

int kf_nvml_minor(kf_nvml *nvml)
{
    unsigned number;
    return nvml && nvml->minor &&
                   NVML("nvmlDeviceGetMinorNumber", nvml->minor(nvml->device, &number)) == 0
               ? (int)number
               : -1;
}

bool kf_nvml_is_lost(kf_nvml *nvml)
{
    unsigned mhz;
    int said = nvml && nvml->clock
                   ? NVML("nvmlDeviceGetClockInfo", nvml->clock(nvml->device, 1, &mhz))
                   : 0;
    return said == NVML_GPU_IS_LOST || said == NVML_RESET_REQUIRED;
}

uint64_t kf_nvml_broken_words(kf_nvml *nvml)
{
    unsigned long long count;
    /* NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC */
    const int uncorrected = 1, since_load = 0;
    return nvml && nvml->memory_errors &&
                   NVML("nvmlDeviceGetTotalEccErrors",
                        nvml->memory_errors(nvml->device, uncorrected, since_load, &count)) == 0
               ? count
               : 0;
}

/* NVML fills an array of unsigned long with one bit for each processor, the layout of a
 * cpu_set_t. */
size_t kf_nvml_places(kf_nvml *nvml, kf_gpu_place *places, size_t most, size_t *which)
{
    unsigned count = 0, own = 0, number;
    void *device;
    if (!nvml || !nvml->count_all || !nvml->get || !nvml->index ||
        NVML("nvmlDeviceGetCount_v2", nvml->count_all(&count)) ||
        NVML("nvmlDeviceGetIndex", nvml->index(nvml->device, &own)))
        return 0;
    for (unsigned i = 0; i < count && i < most; i++) {
        unsigned long bits[sizeof(cpu_set_t) / sizeof(unsigned long)] = {0};
        CPU_ZERO(&places[i].near);
        places[i].number = -1;
        if (NVML("nvmlDeviceGetHandleByIndex_v2", nvml->get(i, &device))) continue;
        if (nvml->processors &&
            NVML("nvmlDeviceGetCpuAffinity",
                 nvml->processors(device, sizeof bits / sizeof *bits, bits)) == 0)
            memcpy(&places[i].near, bits, sizeof bits);
        if (nvml->minor && NVML("nvmlDeviceGetMinorNumber", nvml->minor(device, &number)) == 0)
            places[i].number = (int)number;
    }
    *which = own;
    return count;
}

bool kf_gpu_without_instance(char *text, size_t size)
{
    unsigned count = 0, current, pending;
    void *device, *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    int (*start)(void), (*stop)(void), (*count_all)(unsigned *count),
        (*get)(unsigned index, void **device);
    int (*mode)(void *device, unsigned *current, unsigned *pending);
    *(void **)&start = dlsym(library, "nvmlInit_v2");
    *(void **)&stop = dlsym(library, "nvmlShutdown");
    *(void **)&count_all = dlsym(library, "nvmlDeviceGetCount_v2");
    *(void **)&get = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&mode = dlsym(library, "nvmlDeviceGetMigMode");
    bool found = false;
    if (start && stop && count_all && get && mode && NVML("nvmlInit_v2", start()) == 0) {
        if (count_all(&count)) count = 0;
        for (unsigned i = 0; i < count && !found; i++) {
            found = get(i, &device) == 0 && mode(device, &current, &pending) == 0 && current;
            if (found)
                snprintf(text, size,
                         "GPU %u is in MIG mode and no instance of it is visible; nvidia-smi -L "
                         "lists them, nvidia-smi mig -i %u "
                         "-cgi … -C makes one, "
                         "nvidia-smi -i %u -mig 0 ends the mode",
                         i, i, i);
        }
        stop();
    }
    dlclose(library);
    return found;
}

bool kf_nvml_driver(kf_nvml *nvml, char *text, size_t size)
{
    return nvml && nvml->driver &&
           NVML("nvmlSystemGetDriverVersion", nvml->driver(text, (unsigned)size)) == 0;
}
