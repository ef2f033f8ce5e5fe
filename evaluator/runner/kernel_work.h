/* Measures the device time of one call, kernel by kernel, from CUPTI's activity records, and finds
 * the file that launched each kernel. Used by both runners on a GPU. */
#ifndef KFORGE_KERNEL_WORK_H
#define KFORGE_KERNEL_WORK_H

#include <stdint.h>

#include "counters_wire.h"
#include "cupti.h"

/* Finds CUPTI's functions in a library that dlopen returned, and registers buffers for its records.
 * Call it before the second system call filter. kf_work_measure reports failures. */
void kf_work_open(void *library);
/* The same in a process without another subscriber of CUPTI: subscribes to launches, too. Takes
 * the CUPTI that is loaded, else the file that KF_COUNT_LIBRARY names. Does nothing without that
 * variable. */
void kf_work_prepare(void);
/* Remembers the file that launches a kernel. The subscriber calls it for each launch. */
void kf_work_launched(uint32_t number, const cupti_callback *callback);
/* Makes one call between two waits of `synchronize`. Sets the header's fields for device time, and
 * KF_COUNT_WORKS rows. */
void kf_work_measure(void (*call)(void *context), void *context, cu_result (*synchronize)(void),
                     kf_count_header *header, kf_count_work *works);

#endif
