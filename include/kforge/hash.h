/* SHA-256 (FIPS 180-4) through libcrypto, for content addresses: sources, binaries, tasks, blobs.
 * Thread-safe. */
#ifndef KFORGE_HASH_H
#define KFORGE_HASH_H

#include <stddef.h>

#define KF_HASH_SIZE 32
/* 64 hexadecimal digits and a NUL */
#define KF_HASH_HEX 65

typedef struct kf_hash {
    unsigned char bytes[KF_HASH_SIZE];
} kf_hash;

kf_hash kf_hash_bytes(const void *data, size_t size);
void kf_hash_hex(const kf_hash *hash, char hex[KF_HASH_HEX]);
/* Hashes a list of parts. The length of each part goes before it, so ("ab","c") and ("a","bc")
 * differ. Without memory in libcrypto the digest is all zeros. */
void kf_hash_parts_hex(char hex[KF_HASH_HEX], const char *const *parts, const size_t *sizes,
                       size_t count);

#endif
