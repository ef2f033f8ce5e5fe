/* The right to time on a device, which one process of a machine has at a time: a file in /tmp,
 * because that is where all users look, locked for as long as a workload is measured. The kernel
 * gives the lock back when its holder dies. */
#ifndef KFORGE_TIMING_LOCK_H
#define KFORGE_TIMING_LOCK_H

#include <stdbool.h>

#include "kforge/error.h"

/* A descriptor for the lock of the device with this name (a GPU's UUID); -1 with an error. close()
 * gives it back, too. */
int kf_timing_lock_open(const char *name, kf_error *error);
/* Waits for it; false with KF_ERROR_BUSY once *stop (may be NULL) is set. */
bool kf_timing_lock_take(int lock, const volatile int *stop, kf_error *error);
void kf_timing_lock_give_back(int lock);
/* Does nobody have it now? */
bool kf_timing_lock_is_free(int lock);

#endif
