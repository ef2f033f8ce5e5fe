#include "digest.h"

#include <string.h>

#define MULTIPLIER 0x9e3779b97f4a7c15u

static inline uint64_t mix(uint64_t state, uint64_t word)
{
    state = (state << 27 | state >> 37) ^ word;
    return state * MULTIPLIER;
}

uint64_t kf_digest(uint64_t key, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t lane[8]; /* so many multiplications are under way at once */
    for (int i = 0; i < 8; i++) lane[i] = key + (uint64_t)i * MULTIPLIER;
    for (; size >= 64; size -= 64, bytes += 64) {
        uint64_t words[8];
        memcpy(words, bytes, sizeof words);
        for (int i = 0; i < 8; i++) lane[i] = mix(lane[i], words[i]);
    }
    uint64_t rest[8] = {0};
    memcpy(rest, bytes, size);
    for (int i = 0; i < 8; i++) lane[i] = mix(lane[i], rest[i]);
    uint64_t state = key ^ size;
    for (int i = 0; i < 8; i++) state = mix(state, lane[i] ^ lane[i] >> 29);
    return state ^ state >> 32;
}
