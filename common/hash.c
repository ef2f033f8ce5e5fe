/* SHA-256 with libcrypto's low-level calls. EVP looks up the algorithm by name and allocates for
 * each hash, which takes as long as hashing a kilobyte. */
#define OPENSSL_API_COMPAT 0x10100000L
#include "kforge/hash.h"

#include <openssl/sha.h>
#include <stdint.h>
#include <string.h>

kf_hash kf_hash_bytes(const void *data, size_t size)
{
    kf_hash hash;
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, data, size);
    SHA256_Final(hash.bytes, &context);
    return hash;
}

void kf_hash_hex(const kf_hash *hash, char hex[KF_HASH_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < KF_HASH_SIZE; i++) {
        hex[2 * i] = digits[hash->bytes[i] >> 4];
        hex[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    hex[KF_HASH_HEX - 1] = '\0';
}

void kf_hash_parts_hex(char hex[KF_HASH_HEX], const char *const *parts, const size_t *sizes,
                       size_t count)
{
    SHA256_CTX context;
    kf_hash hash;
    SHA256_Init(&context);
    for (size_t i = 0; i < count; i++) {
        uint64_t size = sizes[i];
        SHA256_Update(&context, &size, sizeof size);
        SHA256_Update(&context, parts[i], sizes[i]);
    }
    SHA256_Final(hash.bytes, &context);
    kf_hash_hex(&hash, hex);
}
