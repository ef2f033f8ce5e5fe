/* What the CPU device has no meaning for: names and headers, with the words for people. */
#ifndef KFORGE_CPU_UNSUPPORTED_H
#define KFORGE_CPU_UNSUPPORTED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kf_unsupported {
    const char *construct, *advice;
    bool certain; /* no candidate can mean anything else by it */
} kf_unsupported;

extern const kf_unsupported kf_unsupported_assembly, kf_unsupported_device_launch;

/* The construct that a word belongs to, NULL for ordinary words; `scope` tells that `::` follows. */
const kf_unsupported *kf_unsupported_find(const char *word, size_t size, bool scope);
/* The same for the name inside #include <…>; NULL: no header of the CUDA toolkit that is known. */
const kf_unsupported *kf_unsupported_header(const char *name, size_t size);

#endif
