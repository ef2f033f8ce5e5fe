/* Checks of a GPU before anything runs on it, for `doctor` and the judge. (Of kf_judge.) */
#ifndef KFORGE_GPU_H
#define KFORGE_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu_remedy.h"

/* True if a GPU is in MIG mode without an instance, so that the driver shows no GPU at all. `text`
 * then names the GPU, followed by "; " and what to do. */
bool kf_gpu_without_instance(char *text, size_t size);

/* ---- a driver that does not answer (driver_watch.c) ------------------------------------------ */

/* Seconds that a call into the driver may take. Without the persistence daemon the first call
 * starts every GPU of the machine, which takes some seconds for each. */
#define KF_DRIVER_SECONDS 60

/* Sets the function that ends the process when the driver hangs. A thread watches for a call that
 * has not returned for KF_DRIVER_SECONDS (or $KFORGE_DRIVER_SECONDS). The thread then calls
 * `handler` with one line that names the call and says what to do. The handler must end the process
 * without waiting for the driver (_exit). Set it before the first use of the driver. */
void kf_gpu_on_silence(void (*handler)(const char *text));
/* Marks the begin and the end of calls into libcuda or NVML. `call` must be a constant. The first
 * thread that enters, the judge's, is watched; other threads are not. The marks take a nanosecond
 * and must not be nested. */
void kf_gpu_enter(const char *call);
void kf_gpu_leave(void);

#endif
