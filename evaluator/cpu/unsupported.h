/* Names and headers of CUDA features that the CPU device does not have. */
#ifndef KFORGE_CPU_UNSUPPORTED_H
#define KFORGE_CPU_UNSUPPORTED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kf_unsupported {
    const char *construct, *advice;
    bool certain; /* the name has no other possible meaning */
} kf_unsupported;

/* The folder of the empty headers that stand in the place of headers of unsupported features. A
 * candidate may include them, and fails only where it uses their names. */
#define KF_UNSUPPORTED_FOLDER "/kforge-unsupported/"
/* The text of an empty header: namespaces that a using directive may name. */
#define KF_UNSUPPORTED_TEXT                                                                     \
    "#pragma once\nnamespace nvcuda { namespace wmma {} }\nnamespace cub {}\nnamespace thrust " \
    "{}\n"                                                                                      \
    "namespace cuda { namespace std {} }\nnamespace cutlass {}\nnamespace cute {}\n"

extern const kf_unsupported kf_unsupported_assembly, kf_unsupported_device_launch;

/* Returns the feature that a word belongs to, NULL for ordinary words. `scope`: `::` follows the
 * word. */
const kf_unsupported *kf_unsupported_find(const char *word, size_t size, bool scope);
/* True for libraries that the device has in part. The name in their namespaces decides. */
bool kf_unsupported_has_parts(const kf_unsupported *what);
/* Returns the feature that the header NAME of #include <NAME> belongs to, NULL for other
 * headers. */
const kf_unsupported *kf_unsupported_header(const char *name, size_t size);

#endif
