/* A quick keyed digest of memory, to notice that an input was changed. Not cryptographic: what a
 * candidate would have to know to fool it, the key, is the judge's and fresh for each job. */
#ifndef KFORGE_DIGEST_H
#define KFORGE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

uint64_t kf_digest(uint64_t key, const void *data, size_t size);

#endif
