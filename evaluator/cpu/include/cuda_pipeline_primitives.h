// Asynchronous copies to shared memory. They are done at once, so commit and wait have no effect.
#pragma once
#include "kfcpu/device.h"

static inline void __pipeline_memcpy_async(void *destination, const void *source, size_t bytes,
                                           size_t zero_fill = 0)
{
    memcpy(destination, source, bytes - zero_fill);
    memset((char *)destination + (bytes - zero_fill), 0, zero_fill);
}
static inline void __pipeline_commit() {}
static inline void __pipeline_wait_prior(size_t) {}
