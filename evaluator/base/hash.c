#include "kforge/hash.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

kf_hash kf_hash_bytes(const void *data, size_t size)
{
    kf_hash hash;
    SHA256(data, size, hash.bytes);
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

void kf_hash_parts_hex(char hex[KF_HASH_HEX], const char *const *parts, const size_t *sizes, size_t count)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    kf_hash hash = {{0}};
    if (context && EVP_DigestInit_ex(context, EVP_sha256(), NULL)) {
        for (size_t i = 0; i < count; i++) {
            uint64_t size = sizes[i];
            EVP_DigestUpdate(context, &size, sizeof size);
            EVP_DigestUpdate(context, parts[i], sizes[i]);
        }
        EVP_DigestFinal_ex(context, hash.bytes, NULL);
    }
    EVP_MD_CTX_free(context);
    kf_hash_hex(&hash, hex);
}
