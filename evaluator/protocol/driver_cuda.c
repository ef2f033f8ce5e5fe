#include "driver_cuda.h"

#include "gpu_remedy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct entry {
    const char *symbol;
    size_t offset;
} entries[] = {
#define X(name, symbol, parameters, arguments) {symbol, offsetof(kf_cuda, name)},
    KF_CUDA_FUNCTIONS(X)
#undef X
};

void kf_cuda_describe(const kf_cuda *cuda, cu_result result, char *text, size_t size)
{
    const char *name = NULL, *words = NULL;
    if (cuda->error_name) cuda->error_name(result, &name);
    if (cuda->error_text) cuda->error_text(result, &words);
    snprintf(text, size, "%s: %s (%d)", name ? name : "a CUDA error",
             words ? words : "no description", result);
}

bool kf_cuda_load(kf_cuda *cuda, char *text, size_t size)
{
    *cuda = (kf_cuda){.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (!cuda->library) {
        snprintf(text, size,
                 "no NVIDIA driver: libcuda.so.1 cannot be loaded (%s); install the driver, or in "
                 "a container pass the GPU through",
                 dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *function = dlsym(cuda->library, entries[i].symbol);
        if (!function) {
            snprintf(text, size,
                     "the NVIDIA driver is too old: libcuda.so.1 has no %s; update it to one for "
                     "CUDA 11.7 or later",
                     entries[i].symbol);
            return false;
        }
        memcpy((char *)cuda + entries[i].offset, &function, sizeof function);
    }
    cu_result result = cuda->init(0);
    if (result == CU_SUCCESS) return true;
    char words[256];
    kf_cuda_describe(cuda, result, words, sizeof words);
    const char *remedy = kf_gpu_remedy(result);
    snprintf(text, size, "the NVIDIA driver does not start: cuInit says %s; %s", words,
             remedy ? remedy : "look whether nvidia-smi works and /dev/nvidia* exist");
    return false;
}

bool kf_cuda_folder(const kf_cuda *cuda, char *folder, size_t size)
{
    Dl_info info;
    char real[4096];
    if (!dladdr((void *)cuda->init, &info) || !info.dli_fname || !realpath(info.dli_fname, real))
        return false;
    char *slash = strrchr(real, '/');
    if (!slash || slash == real || (size_t)(slash - real) >= size) return false;
    *slash = '\0';
    snprintf(folder, size, "%s", real);
    return true;
}
