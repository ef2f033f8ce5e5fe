/* SHA-256 (FIPS 180-4) through libcrypto, for content addresses: sources, binaries, tasks, blobs.
 */
#ifndef KFORGE_HASH_H
#define KFORGE_HASH_H

#include <stddef.h>

#define KF_HASH_SIZE 32
#define KF_HASH_HEX 65 /* 64 hexadecimal digits and the terminating NUL */

typedef struct kf_hash {
    unsigned char bytes[KF_HASH_SIZE];
} kf_hash;

kf_hash kf_hash_bytes(const void *data, size_t size);
void kf_hash_hex(const kf_hash *hash, char hex[KF_HASH_HEX]);
/* The hex digest at once, for strings put together from parts: every part is framed by its length,
 * so ("ab","c") ≠ ("a","bc"). */
void kf_hash_parts_hex(char hex[KF_HASH_HEX], const char *const *parts, const size_t *sizes,
                       size_t count);

#endif
