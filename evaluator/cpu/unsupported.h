/* Names and headers of CUDA features that the CPU device does not have. */
#ifndef KFORGE_CPU_UNSUPPORTED_H
#define KFORGE_CPU_UNSUPPORTED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kf_unsupported {
    const char *construct, *advice;
    bool certain; /* the name has no other possible meaning */
} kf_unsupported;

extern const kf_unsupported kf_unsupported_assembly, kf_unsupported_device_launch;

/* Returns the feature that a word belongs to, NULL for ordinary words. `scope`: `::` follows the
 * word. */
const kf_unsupported *kf_unsupported_find(const char *word, size_t size, bool scope);
/* Returns the feature that the header NAME of #include <NAME> belongs to, NULL for other
 * headers. */
const kf_unsupported *kf_unsupported_header(const char *name, size_t size);

#endif
