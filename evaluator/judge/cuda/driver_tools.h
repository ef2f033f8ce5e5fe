/* NVRTC and NVML, loaded at run time. Both are optional: without NVRTC the judge's kernels come
 * from its cache, and without NVML clocks and throttle reasons are unknown. */
#ifndef KFORGE_DRIVER_TOOLS_H
#define KFORGE_DRIVER_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"
#include "launch_cpu.h"

typedef struct kf_source_file {
    const char *name, *text;
    size_t size;
} kf_source_file;

/* Compiles files[0], which may include the other files by name, to a cubin for sm_MAJORMINOR. NULL:
 * the error names the missing library, or holds the compiler's first message. The caller frees the
 * cubin. */
char *kf_nvrtc_compile(const kf_source_file *files, size_t count, int major, int minor,
                       const char *const *options, size_t option_count, size_t *size,
                       kf_error *error);
/* Returns the version, "13.0"; "" without NVRTC. */
const char *kf_nvrtc_version(void);

typedef struct kf_nvml kf_nvml;
/* Opens NVML for the device with this UUID. "GPU-…" is a GPU. "MIG-…" is an instance, and NVML is
 * opened for its GPU. NULL without NVML, or for an unknown UUID. */
kf_nvml *kf_nvml_open(const char *uuid);
void kf_nvml_close(kf_nvml *nvml);
/* Return the SM clock (NAN if unknown) and the throttle reasons (0 if unknown). */
double kf_nvml_clock_mhz(kf_nvml *nvml);
uint64_t kf_nvml_throttle(kf_nvml *nvml);
/* Returns N of /dev/nvidiaN; -1 if unknown. */
int kf_nvml_minor(kf_nvml *nvml);
/* True if the GPU has fallen off the bus or needs a reset. False if unknown. */
bool kf_nvml_is_lost(kf_nvml *nvml);
/* Returns the uncorrectable memory errors since the driver was loaded; 0 if unknown. */
uint64_t kf_nvml_broken_words(kf_nvml *nvml);
bool kf_nvml_driver(kf_nvml *nvml, char *text, size_t size);
/* Returns the number of GPUs; 0 if unknown. `places`: of the first `most` GPUs. *which: the index
 * of this GPU. */
size_t kf_nvml_places(kf_nvml *nvml, kf_gpu_place *places, size_t most, size_t *which);

#endif
