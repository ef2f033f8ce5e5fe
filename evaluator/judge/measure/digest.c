#include "digest.h"

#include <string.h>

/* Pairs of words are multiplied, both masked with what only the judge knows (parts of the key, the
 * state so far), and the halves of the product folded. What a changed bit does to the product hangs
 * on the other factor, so nobody without the key can find a second change that cancels it.
 * Multiplying by a constant would not do: there a flipped top bit flips one known bit of the state,
 * whatever the key is. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* SplitMix64: words of the key that look unrelated. */
static inline uint64_t next_key(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#define LANES 4 /* so many multiplications are under way at once */

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
    for (; size >= 16 * LANES; size -= 16 * LANES, bytes += 16 * LANES) absorb(lane, mask, bytes);
    unsigned char rest[16 * LANES] = {0};
    memcpy(rest, bytes, size);
    absorb(lane, mask, rest);
    uint64_t digest = next_key(&state);
    for (int i = 0; i < LANES; i++) digest = mix(digest ^ lane[i], next_key(&state));
    return digest;
}
