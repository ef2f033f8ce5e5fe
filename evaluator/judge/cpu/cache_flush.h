/* Making sure that the next batch finds nothing of some memory in a cache. */
#ifndef KFORGE_COOL_H
#define KFORGE_COOL_H

#include <stddef.h>

/* Writes back and evicts every cache line of the range, from all caches of all cores that see the
 * same physical memory. */
void kf_cache_flush(const void *data, size_t size);

#endif
