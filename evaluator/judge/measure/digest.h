/* A fast digest of memory with a key, to detect that an input was changed. It is not cryptographic.
 * To fool it a candidate would have to know the key, which only the judge has, new for each job. */
#ifndef KFORGE_DIGEST_H
#define KFORGE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

uint64_t kf_digest(uint64_t key, const void *data, size_t size);

#endif
