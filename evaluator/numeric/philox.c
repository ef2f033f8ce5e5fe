/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11),
 * and the poison made from it.
 *
 * One round maps (c0, c1, c2, c3) under round key (k0, k1) to (hi(M1 c2) ^ c1 ^ k0, lo(M1 c2),
 * hi(M0 c0) ^ c3 ^ k1, lo(M0 c0)). There are ten rounds. After each, the round key grows by the
 * golden ratio and sqrt(3)-1. The secret is the whole key, so no stream reveals another one without
 * it. Block, purpose, argument and set share the counter, so streams of one secret never overlap.
 */
#include "philox.h"

#include <string.h>

#include "philox_formula.h"

#define M0 KF_PHILOX_M0
#define M1 KF_PHILOX_M1
#define W0 KF_PHILOX_W0
#define W1 KF_PHILOX_W1
/* blocks computed together: enough to hide the latency of a multiplication */
#define LANES 32

void kf_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    kf_philox_block(counter[0], counter[1], counter[2], counter[3], key[0], key[1], out);
}

typedef struct stream {
    uint32_t k0, k1, purpose, argument, set;
} stream;

/* ---- bulk ------------------------------------------------------------------------------------ */

/* LANES blocks are computed together, each in a 64-bit lane, because x86 multiplies 32 by 32 bits
 * there. The multiplication ignores the upper half of a lane. Lane 2j holds block j, lane 2j+1
 * block j + half a vector. The 64-bit unpack instructions then store blocks in order. */

static void one_by_one(stream s, uint64_t first_block, size_t blocks, uint32_t *words)
{
    const uint32_t key[2] = {s.k0, s.k1};
    for (size_t b = 0; b < blocks; b++) {
        uint64_t block = first_block + b;
        const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32) | s.purpose << 16,
                                     s.argument, s.set};
        kf_philox(counter, key, words + 4 * b);
    }
}

#if defined(__x86_64__) && !defined(KFORGE_ONE_VERSION)
#include <immintrin.h>

__attribute__((target("avx2"))) static void groups_avx2(stream s, uint64_t first_block,
                                                        size_t groups, uint32_t *words)
{
    enum { VECTORS = LANES / 4 };
    const __m256i m0 = _mm256_set1_epi64x(M0), m1 = _mm256_set1_epi64x(M1),
                  lanes = _mm256_setr_epi64x(0, 2, 1, 3);
    for (size_t g = 0; g < groups; g++, words += 4 * LANES) {
        __m256i c0[VECTORS], c1[VECTORS], c2[VECTORS], c3[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            c0[v] = _mm256_add_epi64(
                _mm256_set1_epi64x((long long)(first_block + g * LANES + (uint64_t)v * 4)), lanes);
            c1[v] = _mm256_or_si256(_mm256_srli_epi64(c0[v], 32),
                                    _mm256_set1_epi64x((long long)s.purpose << 16));
            c2[v] = _mm256_set1_epi64x(s.argument);
            c3[v] = _mm256_set1_epi64x(s.set);
        }
        uint32_t k0 = s.k0, k1 = s.k1;
        for (int round = 0; round < 10; round++, k0 += W0, k1 += W1) {
            __m256i r0 = _mm256_set1_epi64x(k0), r1 = _mm256_set1_epi64x(k1);
            for (int v = 0; v < VECTORS; v++) {
                __m256i p0 = _mm256_mul_epu32(c0[v], m0), p1 = _mm256_mul_epu32(c2[v], m1);
                c0[v] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[v]), r0);
                c1[v] = p1;
                c2[v] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[v]), r1);
                c3[v] = p0;
            }
        }
        for (int v = 0; v < VECTORS; v++) {
            __m256i front = _mm256_blend_epi32(c0[v], _mm256_slli_epi64(c1[v], 32), 0xaa);
            __m256i back = _mm256_blend_epi32(c2[v], _mm256_slli_epi64(c3[v], 32), 0xaa);
            _mm256_storeu_si256((__m256i *)(void *)(words + 16 * v),
                                _mm256_unpacklo_epi64(front, back));
            _mm256_storeu_si256((__m256i *)(void *)(words + 16 * v + 8),
                                _mm256_unpackhi_epi64(front, back));
        }
    }
}

__attribute__((target("avx512f"))) static void groups_avx512(stream s, uint64_t first_block,
                                                             size_t groups, uint32_t *words)
{
    enum { VECTORS = LANES / 8 };
    const __m512i m0 = _mm512_set1_epi64(M0), m1 = _mm512_set1_epi64(M1),
                  lanes = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    for (size_t g = 0; g < groups; g++, words += 4 * LANES) {
        __m512i c0[VECTORS], c1[VECTORS], c2[VECTORS], c3[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            c0[v] = _mm512_add_epi64(
                _mm512_set1_epi64((long long)(first_block + g * LANES + (uint64_t)v * 8)), lanes);
            c1[v] = _mm512_or_si512(_mm512_srli_epi64(c0[v], 32),
                                    _mm512_set1_epi64((long long)s.purpose << 16));
            c2[v] = _mm512_set1_epi64(s.argument);
            c3[v] = _mm512_set1_epi64(s.set);
        }
        uint32_t k0 = s.k0, k1 = s.k1;
        for (int round = 0; round < 10; round++, k0 += W0, k1 += W1) {
            __m512i r0 = _mm512_set1_epi64(k0), r1 = _mm512_set1_epi64(k1);
            for (int v = 0; v < VECTORS; v++) {
                __m512i p0 = _mm512_mul_epu32(c0[v], m0), p1 = _mm512_mul_epu32(c2[v], m1);
                c0[v] = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(p1, 32), c1[v]), r0);
                c1[v] = p1;
                c2[v] = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(p0, 32), c3[v]), r1);
                c3[v] = p0;
            }
        }
        for (int v = 0; v < VECTORS; v++) {
            __m512i front = _mm512_mask_blend_epi32(0xaaaa, c0[v], _mm512_slli_epi64(c1[v], 32));
            __m512i back = _mm512_mask_blend_epi32(0xaaaa, c2[v], _mm512_slli_epi64(c3[v], 32));
            _mm512_storeu_si512(words + 32 * v, _mm512_unpacklo_epi64(front, back));
            _mm512_storeu_si512(words + 32 * v + 16, _mm512_unpackhi_epi64(front, back));
        }
    }
}

static void philox_groups(stream s, uint64_t first_block, size_t groups, uint32_t *words)
{
    if (__builtin_cpu_supports("avx512f"))
        groups_avx512(s, first_block, groups, words);
    else if (__builtin_cpu_supports("avx2"))
        groups_avx2(s, first_block, groups, words);
    else
        one_by_one(s, first_block, groups * LANES, words);
}
#else
static void philox_groups(stream s, uint64_t first_block, size_t groups, uint32_t *words)
{
    one_by_one(s, first_block, groups * LANES, words);
}
#endif

void kf_random_words(kf_key key, kf_purpose purpose, uint64_t first_block, size_t blocks,
                     uint32_t *words)
{
    stream s = {(uint32_t)key.secret, (uint32_t)(key.secret >> 32), (uint32_t)purpose, key.argument,
                key.set};
    size_t bulk = blocks - blocks % LANES;
    philox_groups(s, first_block, bulk / LANES, words);
    one_by_one(s, first_block + bulk, blocks - bulk, words + 4 * bulk);
}

/* ---- poison: byte i is byte i % 16 of block i / 16 ------------------------------------------- */

/* fits in the first-level cache */
#define CHUNK_BYTES 8192u

/* Computes the poison of bytes [first, first + count), count at most CHUNK_BYTES - 16. Returns its
 * start in `room`. */
static const unsigned char *poison_bytes(kf_key key, uint64_t first, size_t count,
                                         uint32_t room[CHUNK_BYTES / 4])
{
    uint64_t first_block = first / 16;
    size_t skip = first % 16;
    kf_random_words(key, KF_FOR_POISON, first_block, (skip + count + 15) / 16, room);
    return (const unsigned char *)room + skip;
}

/* Returns the size of the next chunk, at most `left` bytes at `first`. All chunks but the first
 * begin at a block. */
static size_t chunk_size(uint64_t first, uint64_t left)
{
    uint64_t most = CHUNK_BYTES - 16 - first % 16;
    return (size_t)(left < most ? left : most);
}

void kf_poison_read(kf_key key, void *bytes, uint64_t first, uint64_t count)
{
    uint32_t room[CHUNK_BYTES / 4];
    for (unsigned char *out = bytes; count > 0;) {
        size_t size = chunk_size(first, count);
        memcpy(out, poison_bytes(key, first, size, room), size);
        out += size, first += size, count -= size;
    }
}

void kf_poison_fill(kf_key key, void *data, uint64_t first, uint64_t count)
{
    kf_poison_read(key, (unsigned char *)data + first, first, count);
}

bool kf_poison_intact(kf_key key, const void *data, uint64_t first, uint64_t count, uint64_t *where)
{
    uint32_t room[CHUNK_BYTES / 4];
    while (count > 0) {
        size_t size = chunk_size(first, count), i = 0;
        const unsigned char *expected = poison_bytes(key, first, size, room),
                            *found = (const unsigned char *)data + first;
        if (memcmp(expected, found, size) != 0) {
            while (expected[i] == found[i]) i++;
            if (where) *where = first + i;
            return false;
        }
        first += size, count -= size;
    }
    return true;
}
