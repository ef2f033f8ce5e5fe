#include "digest.h"

#include <string.h>

/* Multiplies two words, and folds the halves of the product. Both words are masked with secrets (a
 * part of the key, the state so far). The effect of a changed bit depends on the other factor, so
 * without the key no second change can be found that cancels it. A constant factor would not do:
 * there a flipped top bit flips one known bit of the state, whatever the key is. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Returns the next word of the key, by SplitMix64. */
static inline uint64_t next_key(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* independent multiplications, so that the processor overlaps them */
#define LANES 4
/* Most data comes from memory. So many bytes ahead it arrives in time, at twice the speed. */
#define AHEAD 4096

static inline void absorb(uint64_t lane[LANES], const uint64_t mask[LANES],
                          const unsigned char block[16 * LANES])
{
    uint64_t words[2 * LANES];
    memcpy(words, block, sizeof words);
    for (int i = 0; i < LANES; i++)
        lane[i] = mix(words[2 * i] ^ lane[i], words[2 * i + 1] ^ mask[i]) + mask[i];
}

uint64_t kf_digest(uint64_t key, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t lane[LANES], mask[LANES], state = key ^ size;
    for (int i = 0; i < LANES; i++) lane[i] = next_key(&state), mask[i] = next_key(&state);
    for (; size >= 16 * LANES; size -= 16 * LANES, bytes += 16 * LANES) {
        __builtin_prefetch(bytes + AHEAD);
        absorb(lane, mask, bytes);
    }
    unsigned char rest[16 * LANES] = {0};
    memcpy(rest, bytes, size);
    absorb(lane, mask, rest);
    uint64_t digest = next_key(&state);
    for (int i = 0; i < LANES; i++) digest = mix(digest ^ lane[i], next_key(&state));
    return digest;
}
