/* NVRTC and NVML, loaded when they are wanted. Neither has to be there: without NVRTC the judge's
 * kernels come from its cache, without NVML clocks and throttle reasons are unknown. */
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

/* Compiles files[0], which may include the others by name, to a cubin for sm_MAJORMINOR. malloc'd;
 * NULL with an error that names what is missing, or holds the compiler's first complaint. */
char *kf_nvrtc_compile(const kf_source_file *files, size_t count, int major, int minor,
                       const char *const *options, size_t option_count, size_t *size,
                       kf_error *error);
/* "13.0", or "" where there is no NVRTC. */
const char *kf_nvrtc_version(void);

typedef struct kf_nvml kf_nvml;
/* For the device with this UUID ("GPU-…"; of a MIG instance, "MIG-…", for the GPU that it is a part
 * of); NULL where NVML is not there or does not know it. */
kf_nvml *kf_nvml_open(const char *uuid);
void kf_nvml_close(kf_nvml *nvml);
/* NAN and 0 where unknown. */
double kf_nvml_clock_mhz(kf_nvml *nvml);
uint64_t kf_nvml_throttle(kf_nvml *nvml);
int kf_nvml_minor(kf_nvml *nvml); /* N of /dev/nvidiaN, -1 unknown */
/* fallen off the bus, or to be reset; false where unknown */
bool kf_nvml_is_lost(kf_nvml *nvml);
/* memory errors beyond correction since the driver was loaded; 0 unknown */
uint64_t kf_nvml_broken_words(kf_nvml *nvml);
bool kf_nvml_driver(kf_nvml *nvml, char *text, size_t size);
/* How many GPUs there are (0 unknown), the places of the first `most` of them, and which one this
 * is. */
size_t kf_nvml_places(kf_nvml *nvml, kf_gpu_place *places, size_t most, size_t *which);

#endif
