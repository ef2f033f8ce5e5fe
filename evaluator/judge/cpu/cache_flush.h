/* Removes memory from the processor's caches before a batch. */
#ifndef KFORGE_COOL_H
#define KFORGE_COOL_H

#include <stddef.h>

/* Writes back and evicts every cache line of the range, from all caches of all cores that see the
 * same physical memory. */
void kf_cache_flush(const void *data, size_t size);

#endif
