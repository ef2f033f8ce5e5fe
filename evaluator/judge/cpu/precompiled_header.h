/* The CPU device's header, precompiled for this machine.
 *
 * A precompiled header is 30 to 70 MB, and fits one compiler, one processor and one set of flags.
 * An installation has none: the first build that needs one makes it in the user's cache,
 * CACHE/headers/KEY/VARIANT/kforge_cpu.h.gch, in about 4 s. Every later build is 1.3 s shorter.
 * A build folder has its own, made with the programs.
 */
#ifndef KFORGE_PRECOMPILED_HEADER_H
#define KFORGE_PRECOMPILED_HEADER_H

#include <stdbool.h>
#include <stddef.h>

/* The sets of flags, or of headers, that kforge-cpucc has a header for. */
typedef enum kf_header_variant {
    KF_HEADER_PLAIN,
    /* For sources that use CUDA alone: without most of the C++ library. */
    KF_HEADER_LIGHT,
    KF_HEADER_FAST,
    KF_HEADER_ASAN,
    KF_HEADER_VARIANTS
} kf_header_variant;

/* Returns the folder for kforge-cpucc --precompiled, malloc'd, and makes the header in it where it
 * is missing. `cxx20`: for -std=c++20, which no build folder has. Processes and threads that need
 * the same header wait for the first of them. NULL: build without, because the installation has its
 * own, `cache` is NULL, or the header cannot be made. */
char *kf_precompiled_header(const char *cache, kf_header_variant variant, bool cxx20);

/* Returns the object of a shim, malloc'd, from CACHE/headers/KEY/shims. Compiles it where it is
 * missing, in a jail without a candidate. NULL: compile the text with the candidate. */
char *kf_compiled_shim(const char *cache, const char *text, size_t *size);

#endif
