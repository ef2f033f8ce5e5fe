/* The elementary formulas of the input distributions, from random words to numbers, shared by CPU
 * and CUDA.
 *
 * Results are bit-identical everywhere. The formulas use only integer operations, IEEE 754 add,
 * multiply and divide, and explicit fma. No plain addition has a product as an operand, unless the
 * product is exact, so a compiler may contract a*b+c to fma. Polynomials are Chebyshev
 * interpolations in single precision. They need not be accurate logarithms and sines, only the same
 * everywhere.
 *
 * Compared on an H200 (nvcc 13.0, default flags) with gcc: 2^25 normals, 2^24 refined normals,
 * powers and hashed words are equal in every bit. Compile CUDA without -use_fast_math (-prec-div
 * stays true, and subnormals are not flushed to zero).
 */
#ifndef KFORGE_INPUTS_FORMULA_H
#define KFORGE_INPUTS_FORMULA_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define KF_FORMULA static __device__ __forceinline__
#else
#define KF_FORMULA static inline __attribute__((always_inline))
#endif

KF_FORMULA float kf_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

KF_FORMULA uint32_t kf_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Return a number in [0, 1), in steps of 2^-24, or of 2^-53 from two words. */
KF_FORMULA float kf_unit_float(uint32_t word)
{
    return (float)(int32_t)(word >> 8) * 0x1p-24f;
}
KF_FORMULA double kf_unit_double(uint32_t w0, uint32_t w1)
{
    return (double)(int64_t)((uint64_t)(w0 >> 5) << 26 | w1 >> 6) * 0x1p-53;
}

/* Returns ln u for u in [2^-24, 1], with an absolute error below 6e-8 |ln u| + 1e-6: u = 2^e m with
 * m in [sqrt(1/2), sqrt(2)), f = m - 1, ln u = e ln 2 + f + f^2 P(f). */
KF_FORMULA float kf_log_unit(float u)
{
    int32_t shifted = (int32_t)kf_bits_of_float(u) - 0x3f3504f3; /* bits of sqrt(1/2) */
    int32_t e = shifted >> 23;
    float f = kf_float_of_bits((uint32_t)((shifted & 0x7fffff) + 0x3f3504f3)) - 1.0f;
    float p = fmaf(0.0900420249f, f, -0.142577946f);
    p = fmaf(p, f, 0.148064598f);
    p = fmaf(p, f, -0.165750474f);
    p = fmaf(p, f, 0.199731052f);
    p = fmaf(p, f, -0.250016093f);
    p = fmaf(p, f, 0.333336592f);
    p = fmaf(p, f, -0.49999994f);
    return fmaf((float)e, 0.693147182f, fmaf(f * f, p, f));
}

/* Returns sqrt(t) for t >= 0, with a relative error below 5e-6: t / sqrt(t) from a guess that
 * halves the exponent, and two Newton steps. sqrtf may set errno, which stops compilers from
 * vectorising the loop. */
KF_FORMULA float kf_root(float t)
{
    float y = kf_float_of_bits(0x5f3759dfu - (kf_bits_of_float(t) >> 1)), half = 0.5f * t;
    y = y * fmaf(-half * y, y, 1.5f);
    y = y * fmaf(-half * y, y, 1.5f);
    return t * y;
}

/* Turns two words into two independent standard normals, |z| <= 5.77 (Box and Muller 1958). The
 * radius is sqrt(-2 ln u), u = (w0>>8 + 1) 2^-24. The angle is a quarter turn times (w1>>30) + x. x
 * in [-1/2, 1/2) comes from the other 30 bits, so sine and cosine only need |x| <= 1/2. */
KF_FORMULA void kf_normal_pair(uint32_t w0, uint32_t w1, float *z0, float *z1)
{
    float u = (float)(int32_t)((w0 >> 8) + 1u) * 0x1p-24f;
    float radius = kf_root(-2.0f * kf_log_unit(u));
    float x = (float)((int32_t)(w1 << 2) >> 8) * 0x1p-24f;
    float y = x * x;
    float s =
        fmaf(fmaf(fmaf(-0.0046021631f, y, 0.0796802193f), y, -0.64596349f), y, 1.57079637f) * x;
    float c = fmaf(fmaf(fmaf(-0.020408256f, y, 0.253598601f), y, -1.23369706f), y, 1.0f);
    /* rotates by q quarter turns: swaps for odd q, then sets signs */
    uint32_t q = w1 >> 30, swap = 0u - (q & 1u), cb = kf_bits_of_float(c), sb = kf_bits_of_float(s);
    uint32_t cosine = (cb & ~swap) | (sb & swap), sine = (sb & ~swap) | (cb & swap);
    cosine ^= ((q + 1u) & 2u) << 30; /* negative for q = 1, 2 */
    sine ^= (q & 2u) << 30;          /* negative for q = 2, 3 */
    *z0 = radius * kf_float_of_bits(cosine);
    *z1 = radius * kf_float_of_bits(sine);
}

/* Fills the low bits of a single-precision normal from another word: |relative change| <= 2^-24. */
KF_FORMULA double kf_refine_normal(float z, uint32_t word)
{
    return fma((double)z, (double)(int32_t)word * 0x1p-55, (double)z);
}

/* Returns floor(w range / 2^64) for the 64-bit w = (high, low) and 0 < range: uniform in [0, range)
 * up to 2^-64 range. */
KF_FORMULA uint64_t kf_below(uint32_t high, uint32_t low, uint64_t range)
{
    if (range <= 0xffffffffu) return ((uint64_t)high * range + ((uint64_t)low * range >> 32)) >> 32;
#ifdef __CUDACC__
    return __umul64hi((uint64_t)high << 32 | low, range);
#else
    return (uint64_t)((unsigned __int128)((uint64_t)high << 32 | low) * range >> 64);
#endif
}

/* Returns x^s for x in (0, 1] and s > 0, with a relative error of about 1e-15 s: exp(s ln x), both
 * as series. ln m = 2 artanh((m-1)/(m+1)). */
KF_FORMULA double kf_power_unit(double x, double s)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t shifted = (int64_t)bits - 0x3fe6a09e667f3bcd; /* bits of sqrt(1/2) */
    int64_t e = shifted >> 52;
    bits = (uint64_t)((shifted & 0xfffffffffffff) + 0x3fe6a09e667f3bcd);
    double m, t, t2, p;
    memcpy(&m, &bits, sizeof m);
    t = (m - 1.0) / (m + 1.0);
    t2 = t * t;
    p = 2.0 / 21;
    for (int k = 19; k >= 1; k -= 2) p = fma(p, t2, 2.0 / k);
    double exponent = s * fma((double)e, 0.69314718055994530942, t * p);
    if (exponent < -700) return 0;
    double n = rint(exponent * 1.4426950408889634074),
           r = fma(n, -0.69314718055994530942, exponent);
    p = 1;
    for (int k = 14; k >= 1; k--) p = fma(p, r / k, 1.0);
    return ldexp(p, (int)n);
}

/* Mixes all bits of x under a round key: the round function of the Feistel network, in the form of
 * MurmurHash3's finaliser. */
KF_FORMULA uint32_t kf_feistel_round(uint32_t x, uint32_t key)
{
    x ^= key;
    x *= 0x85ebca6bu;
    x ^= x >> 15;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* Returns a word for a 64-bit number under a key. Cheaper than a Philox block for single numbers.
 */
KF_FORMULA uint32_t kf_hash_word(uint64_t number, const uint32_t keys[8])
{
    uint32_t high = kf_feistel_round((uint32_t)(number >> 32), keys[0]);
    uint32_t x = kf_feistel_round((uint32_t)number + high, keys[1]);
    return kf_feistel_round(kf_feistel_round(x, keys[2]), keys[3]);
}

/* ---- ascending numbers: a random partition, computed for each place alone ----------------------
 *
 * A binary tree over the places of a row shares out the numbers [0, 2^64). Each node divides its
 * part between its two halves. The left share is uniform around its mean, and has the variance of
 * the share of n uniform numbers. So the numbers ascend like sorted draws. A few of them say little
 * about the others. */

/* A node: the part [low, low + length) of the numbers for the places from `begin`. */
typedef struct kf_branch {
    uint64_t low, length, begin, node;
} kf_branch;

KF_FORMULA kf_branch kf_branch_root(void)
{
    kf_branch root = {0, 0xffffffffffffffffu, 0, 1};
    return root;
}

KF_FORMULA uint32_t kf_branch_word(uint32_t row_word, uint64_t node, const uint32_t keys[8])
{
    uint32_t x = kf_feistel_round((uint32_t)node ^ row_word, keys[4]);
    return kf_feistel_round(x + (uint32_t)(node >> 32), keys[5]);
}

/* Returns the share of the left half, of `left` of `count` places, in units of 2^-32. `uneven`
 * lets sizes differ on every level. The largest of 2^20 rows is then some 200 times the mean: more
 * would take a thread that walks its row past the time limit. */
KF_FORMULA uint32_t kf_branch_share(uint64_t left, uint64_t count, int level, int uneven,
                                    uint32_t word)
{
    /* sqrt(3/4) 2^-level/2: a uniform number of this half width has the binomial's variance */
    uint64_t width = (level & 1 ? 2630119584u : 3719550786u) >> (level >> 1);
    uint64_t share = count == 2 * left ? 0x80000000u : (left << 24) / count << 8;
    uint64_t room = share < 0x100000000u - share ? share : 0x100000000u - share;
    if (uneven) width = 0x40000000u; /* shares of 1/4 to 3/4 */
    if (width >= room) width = room - 1;
    return (uint32_t)(share - width + ((uint64_t)(uint32_t)(2 * width) * word >> 32));
}

/* Returns floor(length share / 2^32). */
KF_FORMULA uint64_t kf_branch_part(uint64_t length, uint32_t share)
{
    return (length >> 32) * share + ((length & 0xffffffffu) * share >> 32);
}

/* Goes down from `level` to the half that holds `place`, of a row of n places. */
KF_FORMULA void kf_branch_descend(kf_branch *at, uint64_t place, uint64_t n, int level, int uneven,
                                  uint32_t row_word, const uint32_t keys[8])
{
    uint64_t half = (uint64_t)1 << (level - 1), count = n - at->begin;
    uint64_t right = place >> (level - 1) & 1;
    if (count > 2 * half) count = 2 * half;
    if (count > half) {
        uint32_t word = kf_branch_word(row_word, at->node, keys);
        uint64_t part =
            kf_branch_part(at->length, kf_branch_share(half, count, level, uneven, word));
        if (right) at->low += part, at->begin += half;
        at->length = right ? at->length - part : part;
    }
    at->node = 2 * at->node + right;
}

/* Returns the number of a leaf. */
KF_FORMULA uint64_t kf_branch_number(const kf_branch *leaf, uint32_t row_word,
                                     const uint32_t keys[8])
{
    return leaf->low + kf_branch_part(leaf->length, kf_branch_word(row_word, leaf->node, keys));
}

/* True if a place of a triangular matrix is zero. */
KF_FORMULA int kf_outside_triangle(int upper, int lower, uint64_t row, uint64_t column)
{
    return (upper && row > column) || (lower && row < column);
}
/* Returns u in [0, 1) for a place of a square matrix, equal for (row, column) and (column, row). */
KF_FORMULA double kf_square_unit(uint64_t matrix, uint64_t n, uint64_t row, uint64_t column,
                                 const uint32_t keys[8])
{
    uint64_t low = row < column ? row : column, high = row < column ? column : row;
    return (double)kf_hash_word(matrix * n * n + low * n + high, keys) * 0x1p-32;
}

/* Returns element `index` of a permutation of 0 … n-1: eight Feistel rounds on 2 `half_bits` bits
 * (2^(2 half_bits) >= n), repeated until the result is below n (cycle walking, Black and Rogaway
 * 2002). On average at most four repetitions are needed. */
KF_FORMULA uint64_t kf_permuted(uint64_t index, uint64_t n, int half_bits, const uint32_t keys[8])
{
    uint32_t mask = (1u << half_bits) - 1;
    do {
        uint32_t left = (uint32_t)(index >> half_bits), right = (uint32_t)index & mask;
        for (int round = 0; round < 8; round++) {
            uint32_t next = left ^ (kf_feistel_round(right, keys[round]) & mask);
            left = right;
            right = next;
        }
        index = (uint64_t)left << half_bits | right;
    } while (index >= n);
    return index;
}

#endif
