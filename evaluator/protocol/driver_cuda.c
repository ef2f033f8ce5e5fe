#include "driver_cuda.h"

#include "kforge/gpu.h"

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

const char *kf_gpu_remedy(int error)
{
    static const struct {
        int error;
        const char *remedy;
    } rows[] = {
        {34, "that libcuda.so.1 is the toolkit's stub for linking: take its stubs folder out of "
             "LD_LIBRARY_PATH"},
        {46,
         "another process may have it for itself, or nobody may have it: nvidia-smi -c 0 lets all"},
        {KF_GPU_NONE, "is the kernel module loaded (nvidia-smi), are the device files /dev/nvidia* "
                      "given to this container, does "
                      "CUDA_VISIBLE_DEVICES hide them?"},
        {101, "CUDA_VISIBLE_DEVICES may name a GPU that is not there"},
        {214, "its memory is damaged: look into dmesg for Xid, reset the GPU (nvidia-smi -r) or "
              "restart the machine"},
        {220, "NVLink failed: look into dmesg for Xid, reset the GPUs (nvidia-smi -r) or restart "
              "the machine"},
        {802, "start the fabric manager (systemctl start nvidia-fabricmanager), whose version has "
              "to be the driver's"},
        {803, "libcuda.so.1 and the kernel module (/proc/driver/nvidia/version) are of different "
              "versions: reboot after an update "
              "of the "
              "driver; restart a container, so that it gets the host's library"},
        {804, "that libcuda.so.1 is the forward compatibility package's, which this GPU does not "
              "take: take cuda-compat out of "
              "LD_LIBRARY_PATH, or update the driver"},
        {999, "often the module nvidia-uvm is not loaded (modprobe nvidia-uvm); dmesg says more"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].error == error) return rows[i].remedy;
    return NULL;
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
                     "CUDA 11.4 or later",
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
