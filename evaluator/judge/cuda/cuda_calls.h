/* Calls into the driver that every file of the CUDA device makes: checking a result, memory for the
 * judge's own work, and waiting for the judge's stream. */
#ifndef KFORGE_CUDA_CALLS_H
#define KFORGE_CUDA_CALLS_H

#include "device_cuda.h"

/* True if `result` is CU_SUCCESS. Else *error names the device, `doing` and the driver's message.
 */
bool kf_cuda_check(const kf_cuda_device *gpu, cu_result result, const char *doing, kf_error *error);

/* Makes `scratch` at least `bytes` large. If it grows, its contents are lost. */
bool kf_cuda_scratch_need(kf_cuda_device *gpu, kf_cuda_scratch *scratch, size_t bytes,
                          kf_error *error);

/* Ends an occupation (occupy_cuda.c), which reveals the inputs. Nothing without one. */
void kf_cuda_occupy_end(kf_cuda_device *gpu);
/* Ends an occupation before an operation that waits for all kernels. The batch does not count then.
 */
void kf_cuda_occupy_break(kf_cuda_device *gpu);

/* Waits until the judge's stream is idle. */
bool kf_cuda_wait(kf_cuda_device *gpu, const char *doing, kf_error *error);

#endif
