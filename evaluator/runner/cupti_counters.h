/* Counting what a call does on the GPU, with CUPTI's range profiler; only in a runner that the
 * judge started for it. */
#ifndef KFORGE_RUNNER_COUNTERS_H
#define KFORGE_RUNNER_COUNTERS_H

#include "driver_cuda.h"
#include "counters_wire.h"

/* Before the second filter: loads CUPTI where the environment names it, and does all that leaves
 * the GPU alone. What fails is told by kf_count_calls. */
void kf_count_prepare(const kf_cuda *cuda, cu_context context, cu_stream stream);
/* Calls `call` once a pass, after emptying the L2, and fills header and KF_COUNT_LAUNCHES launches.
 * The kernels of one call must be the same each time. At most `passes` passes are made: of the
 * metrics, in the order in which they were asked for, as many are counted as fit into these, at
 * least one. Where that is more than one, such a call must have been made ahead: its launches say
 * for how many there has to be room. */
void kf_count_calls(void (*call)(void *context), void *context, uint32_t passes,
                    kf_count_header *header, kf_count_launch *launches);

#endif
