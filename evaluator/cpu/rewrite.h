/* Turns preprocessed CUDA C into C++ that the host compiler accepts. A pure function from text to
 * text, in linear time, and a target of the fuzzer.
 *
 * The edits (include/kfcpu_stub.h is the other half):
 *   kernel<T><<<grid, block>>>(x)
 *       (::kfcpu::configure(grid, block) ? (void)0 : kernel<T>(x))
 *   __global__ void k(float *x) {…}
 *       __global__ void k(float *x) { struct kfcpu_body { static void run(float *x) {…} }; … }
 *       The kernel becomes a stub that passes its body and its arguments to the launch. So
 *       templates, overloads, function pointers and launches by address need no further edits.
 *   extern __shared__ float s[];
 *       A reference to the block's dynamic shared memory. A declaration at namespace scope moves
 *       into the functions that use it.
 *   #pragma unroll
 *       #pragma GCC unroll before a loop, removed elsewhere.
 *   asm("ptx" : …) in device code
 *       A call of a function with __attribute__((error)): the compiler refuses it where it is used.
 *   __noinline__, static __shared__
 *       __attribute__((noinline)), __shared__
 * New text goes on existing lines, so line numbers stay.
 *
 * Unsupported constructs are findings. A certain finding (a launch in device code) is reported
 * at once. The other findings are names that usually mean an unsupported feature. The
 * candidate may define them itself, so they count only if the compiler complains about them. */
#ifndef KFORGE_CPU_REWRITE_H
#define KFORGE_CPU_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/buffer.h"
#include "kforge/error.h"

#define KF_REWRITE_FINDINGS 48
/* The name of a finding that explains any unknown name. */
#define KF_REWRITE_ANY_NAME "*"

typedef struct kf_rewrite_finding {
    char file[256];
    long line;
    const char *construct; /* static */
    const char *advice;    /* static: how to avoid the construct */
    bool certain;
    /* The name that gave the finding, "" if it is certain. An uncertain finding explains a compiler
     * error that mentions this name. */
    char word[64];
} kf_rewrite_finding;

/* Device code that uses a function or a variable of the host. `line` 0: no use. */
typedef struct kf_host_use {
    char file[256];
    long line;
    char name[64], user[64]; /* of the host, and of the kernel or device function */
    bool function;
} kf_host_use;

/* A part of the new text that is a copy of the old one. The rest is new. */
typedef struct kf_rewrite_copy {
    uint32_t to, from, size;
} kf_rewrite_copy;

typedef struct kf_rewrite_result {
    kf_buffer text;
    /* In the order of the new text. Messages of the compiler find their places by it
     * (rewrite_places.h). */
    kf_rewrite_copy *copies;
    size_t copy_count;
    /* In the order of the text; further findings are dropped. */
    kf_rewrite_finding findings[KF_REWRITE_FINDINGS];
    size_t finding_count;
    size_t kernels, launches;
    kf_host_use host_use; /* the first one (rewrite_host.h) */
    /* Kernels without a statement. */
    size_t empty_kernels;
} kf_rewrite_result;

/* Rewrites the text. Malformed code passes through, so that the compiler reports it. Errors:
 * KF_ERROR_LIMIT (text too long), KF_ERROR_MEMORY. The caller frees the result in either case.
 * `sanitize`: turns static shared memory into allocations, because AddressSanitizer does not guard
 * the static variables of templates. */
bool kf_rewrite(const char *text, size_t size, bool sanitize, kf_rewrite_result *result,
                kf_error *error);
void kf_rewrite_free(kf_rewrite_result *result);

#endif
