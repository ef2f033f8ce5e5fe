/* Hardware counters on a GPU, in a runner of its own. */
#ifndef KFORGE_COUNTERS_CUDA_H
#define KFORGE_COUNTERS_CUDA_H

#include "counting.h"
#include "device_cuda.h"

/* Functions of kf_device_operations: `expect_count` and `count`. */
bool kf_cuda_expect_count(kf_device *device, kf_runner_pool *pool, const char *wanted);
/* Makes of a place for a runner one for counting (environment, paths). */
bool kf_cuda_count_place(kf_cuda_device *gpu, kf_runner_place *place, kf_error *error);
cJSON *kf_cuda_count(kf_device *device, kf_counting *counting, kf_error *error);
/* Does the driver let only administrators count? By its own word, /proc/driver/nvidia/params, which
 * may be NULL. Pure. */
bool kf_counters_restricted(const char *params);

#endif
