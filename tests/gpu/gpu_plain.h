/* Measures plainly, without any of the judge's defences: a trusted binary in this process, between
 * two CUDA events around a long batch, on as many sets of buffers as the L2 cache needs. Never use
 * it for an untrusted candidate: it has no sandbox. */
#ifndef KFORGE_GPU_PLAIN_H
#define KFORGE_GPU_PLAIN_H

#include "driver_cuda.h"
#include "kforge/judge.h"

typedef void (*plain_entry)(void *const *buffers, const uint64_t *scalars, cu_stream stream);

plain_entry plain_load(const char *binary); /* NULL: it can't be loaded. It stays loaded */
/* Returns the seconds of a call, the median of seven batches. `call` is about the time of one.
 * Returns NaN and prints the reason on failure. */
double plain_seconds(kf_judge *judge, plain_entry entry, const kf_problem *problem, double call);

#endif
