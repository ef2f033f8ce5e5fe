/* Hardware counters of one call on a GPU, in a runner of its own. */
#ifndef KFORGE_COUNTERS_CUDA_H
#define KFORGE_COUNTERS_CUDA_H

#include "counting.h"
#include "device_cuda.h"

/* Operations `expect_count` and `count` of the device. */
bool kf_cuda_expect_count(kf_device *device, kf_runner_pool *pool, const char *wanted, bool lines);
/* Changes the place of a runner for counting (environment, paths). Does nothing for another kind of
 * runner. */
bool kf_cuda_count_place(kf_cuda_device *gpu, kf_runner_place *place, kf_error *error);
cJSON *kf_cuda_count(kf_device *device, kf_counting *counting, kf_error *error);
/* True if only administrators may count. `params`: the text of /proc/driver/nvidia/params, or NULL.
 * Pure. */
bool kf_counters_restricted(const char *params);

#endif
