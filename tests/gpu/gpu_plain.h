/* Measuring plainly, without any of the judge's defences: a binary of our own in this process,
 * between two CUDA events around a long batch, on as many sets of buffers as the L2 cache calls
 * for. Never for a stranger's candidate: it runs in no sandbox. */
#ifndef KFORGE_GPU_PLAIN_H
#define KFORGE_GPU_PLAIN_H

#include "driver_cuda.h"
#include "kforge/judge.h"

typedef void (*plain_entry)(void *const *buffers, const uint64_t *scalars, cu_stream stream);

plain_entry plain_load(const char *binary); /* NULL: it can't be loaded. It stays loaded */
/* Seconds of a call, the median of seven batches; `call` is about how long one takes. NaN, having
 * said why. */
double plain_seconds(kf_judge *judge, plain_entry entry, const kf_problem *problem, double call);

#endif
