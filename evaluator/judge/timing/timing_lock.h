/* The lock of a device: one process of a machine times on it at a time. The lock is a file in /tmp,
 * which all users share. It is locked while a workload is measured. If the process ends, the kernel
 * unlocks it. */
#ifndef KFORGE_TIMING_LOCK_H
#define KFORGE_TIMING_LOCK_H

#include <stdbool.h>

#include "kforge/error.h"

/* Returns a descriptor for the lock of the device with this name (a GPU's UUID, "cpu"), or -1 with
 * an error. close() unlocks it too. */
int kf_timing_lock_open(const char *name, kf_error *error);
/* Waits for the lock. False with KF_ERROR_BUSY once *stop (may be NULL) is set. */
bool kf_timing_lock_take(int lock, const volatile int *stop, kf_error *error);
void kf_timing_lock_give_back(int lock);
/* True if no process has the lock. */
bool kf_timing_lock_is_free(int lock);

#endif
