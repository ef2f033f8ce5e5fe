/* Turns preprocessed CUDA C into C++ that the host compiler accepts. Pure: text in, text out; linear time; a fuzz target.
 *
 * What changes (include/kfcpu_stub.h has the other half):
 *   kernel<T><<<grid, block>>>(x)      (::kfcpu::configure(grid, block) ? (void)0 : kernel<T>(x))
 *   __global__ void k(float *x) {…}    __global__ void k(float *x) { struct kfcpu_body { static void run(float *x) {…} }; … }
 *                                      the kernel itself becomes a stub that hands its body and its arguments to the launch, so templates,
 *                                      overloads, function pointers and type-erased launches need nothing more
 *   extern __shared__ float s[];       a reference to the block's dynamic shared memory; at namespace scope it is put into the functions
 *                                      that use it
 *   #pragma unroll                     #pragma GCC unroll before a loop, dropped elsewhere
 *   __noinline__, static __shared__    __attribute__((noinline)), __shared__
 * Line numbers stay what they were: everything new goes on existing lines.
 *
 * Constructs that this device has no meaning for are findings. A certain one (inline PTX, a launch in device code) is reported at once;
 * the others are names that mean something unsupported unless the candidate defines them itself: they count when the compiler complains about
 * them.
 */
#ifndef KFORGE_CPU_REWRITE_H
#define KFORGE_CPU_REWRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/buffer.h"
#include "kforge/error.h"

#define KF_REWRITE_FINDINGS 16

typedef struct kf_rewrite_finding {
    char file[256];
    long line;
    const char *construct; /* static */
    const char *advice;    /* static: what to do about it */
    bool certain;
    char word[64]; /* the name it was seen by; "" for a certain one. An uncertain one is to blame for errors that mention this. */
} kf_rewrite_finding;

typedef struct kf_rewrite_result {
    kf_buffer text;
    kf_rewrite_finding findings[KF_REWRITE_FINDINGS]; /* in the order of the text; further ones are dropped */
    size_t finding_count;
    size_t kernels, launches;
} kf_rewrite_result;

/* Rewrites. Malformed code is passed on for the compiler to complain about. Errors: KF_ERROR_LIMIT (text too long), KF_ERROR_MEMORY. The
 * caller frees the result in either case. `sanitize`: static shared memory becomes allocations, which AddressSanitizer guards everywhere
 * (it has no guards around the statics of templates). */
bool kf_rewrite(const char *text, size_t size, bool sanitize, kf_rewrite_result *result, kf_error *error);
void kf_rewrite_free(kf_rewrite_result *result);

#endif
