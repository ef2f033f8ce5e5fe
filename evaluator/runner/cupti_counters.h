/* Counts one call on the GPU with CUPTI's range profiler, in a runner that the judge started for
 * counting. */
#ifndef KFORGE_RUNNER_COUNTERS_H
#define KFORGE_RUNNER_COUNTERS_H

#include "driver_cuda.h"
#include "counters_wire.h"

/* Loads CUPTI if the environment names it, and does all work that does not touch the GPU. Call it
 * before the second filter. kf_count_calls reports failures. */
void kf_count_prepare(const kf_cuda *cuda, cu_context context, cu_stream stream);
/* Calls `call` once for its device time (kernel_work.h), and once in each pass, each time after
 * flushing the L2. Fills all records. Each call
 * must launch the same kernels. Makes at most `passes` passes, and counts as many metrics as fit
 * into them, in the order of the request, at least one. For more than one pass, a call must have
 * been made before: its launches give the number of ranges. */
void kf_count_calls(void (*call)(void *context), void *context, uint32_t passes,
                    kf_count_records *records);

#endif
