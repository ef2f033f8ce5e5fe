/* Counting what a call does on the GPU, with CUPTI's range profiler; only in a runner that the judge started for it. */
#ifndef KFORGE_RUNNER_COUNTERS_H
#define KFORGE_RUNNER_COUNTERS_H

#include "../judge/driver_cuda.h"
#include "counters_wire.h"

/* Environment of such a runner: the library's path, and the metrics' names with commas between them. */
#define KF_COUNT_LIBRARY "COUNTERS_LIBRARY"
#define KF_COUNT_NAMES "COUNTERS_METRICS"

/* Before the second filter: loads CUPTI where the environment names it, and does all that leaves the GPU alone. What fails is told by kf_count_calls. */
void kf_count_prepare(const kf_cuda *cuda, cu_context context, cu_stream stream);
/* Calls `call` once a pass, after emptying the L2, and fills header and KF_COUNT_LAUNCHES launches. The kernels of one call must be the same each time. */
void kf_count_calls(void (*call)(void *context), void *context, kf_count_header *header, kf_count_launch *launches);

#endif
