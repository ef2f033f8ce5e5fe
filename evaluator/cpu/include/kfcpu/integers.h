// Integer intrinsics, min and max.
#pragma once
#include <stdint.h>
#include <stdlib.h>

// CUDA C++ defines min and max for every pair of arithmetic types. Mixed types convert as in its
// headers.
#define KFCPU_MINMAX(type)                           \
    static inline constexpr type min(type a, type b) \
    {                                                \
        return b < a ? b : a;                        \
    }                                                \
    static inline constexpr type max(type a, type b) \
    {                                                \
        return a < b ? b : a;                        \
    }
KFCPU_MINMAX(int)
KFCPU_MINMAX(unsigned int)
KFCPU_MINMAX(long)
KFCPU_MINMAX(unsigned long)
KFCPU_MINMAX(long long)
KFCPU_MINMAX(unsigned long long)
#undef KFCPU_MINMAX
#define KFCPU_MIXED(a_type, b_type, type)                \
    static inline constexpr type min(a_type a, b_type b) \
    {                                                    \
        return min((type)a, (type)b);                    \
    }                                                    \
    static inline constexpr type max(a_type a, b_type b) \
    {                                                    \
        return max((type)a, (type)b);                    \
    }
KFCPU_MIXED(int, unsigned int, unsigned int)
KFCPU_MIXED(unsigned int, int, unsigned int)
KFCPU_MIXED(long, unsigned long, unsigned long)
KFCPU_MIXED(unsigned long, long, unsigned long)
KFCPU_MIXED(long long, unsigned long long, unsigned long long)
KFCPU_MIXED(unsigned long long, long long, unsigned long long)
KFCPU_MIXED(int, long, long)
KFCPU_MIXED(long, int, long)
KFCPU_MIXED(int, long long, long long)
KFCPU_MIXED(long long, int, long long)
KFCPU_MIXED(unsigned int, unsigned long, unsigned long)
KFCPU_MIXED(unsigned long, unsigned int, unsigned long)
KFCPU_MIXED(unsigned int, long, long)
KFCPU_MIXED(long, unsigned int, long)
KFCPU_MIXED(int, unsigned long, unsigned long)
KFCPU_MIXED(unsigned long, int, unsigned long)
KFCPU_MIXED(unsigned int, unsigned long long, unsigned long long)
KFCPU_MIXED(unsigned long long, unsigned int, unsigned long long)
#undef KFCPU_MIXED
static inline unsigned umin(unsigned a, unsigned b)
{
    return min(a, b);
}
static inline unsigned umax(unsigned a, unsigned b)
{
    return max(a, b);
}
static inline long long llmin(long long a, long long b)
{
    return min(a, b);
}
static inline long long llmax(long long a, long long b)
{
    return max(a, b);
}
static inline unsigned long long ullmin(unsigned long long a, unsigned long long b)
{
    return min(a, b);
}
static inline unsigned long long ullmax(unsigned long long a, unsigned long long b)
{
    return max(a, b);
}

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
static inline int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
static inline unsigned __brev(unsigned x)
{
    x = __builtin_bswap32(x);
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    return (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
}
static inline unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
// Returns the position of the n-th set bit, counted from `base` upwards (n > 0) or downwards (n <
// 0). Returns all ones if there are fewer bits.
static inline unsigned __fns(unsigned mask, unsigned base, int n)
{
    if (n == 0) return mask >> base & 1 ? base : 0xffffffffu;
    int step = n > 0 ? 1 : -1, left = n > 0 ? n : -n;
    for (int i = (int)base; i >= 0 && i < 32; i += step)
        if ((mask >> i & 1) && --left == 0) return (unsigned)i;
    return 0xffffffffu;
}
// Chooses four bytes from the eight of x (low) and y (high) by the selector's nibbles. Bit 3 of a
// nibble replicates the sign.
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    uint64_t bytes = (uint64_t)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned nibble = selector >> (4 * i) & 15,
                 byte = (unsigned)(bytes >> (8 * (nibble & 7))) & 255;
        if (nibble & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * i);
    }
    return result;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}
static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift)
{
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift)
{
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

static inline int __mulhi(int a, int b)
{
    return (int)((int64_t)a * b >> 32);
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
static inline long long __mul64hi(long long a, long long b)
{
    return (long long)((__int128)a * b >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __mul24(int a, int b)
{
    return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8));
}
static inline unsigned __umul24(unsigned a, unsigned b)
{
    return (a & 0xffffffu) * (b & 0xffffffu);
}
static inline int mul24(int a, int b)
{
    return __mul24(a, b);
}
static inline unsigned umul24(unsigned a, unsigned b)
{
    return __umul24(a, b);
}
static inline int mulhi(int a, int b)
{
    return __mulhi(a, b);
}
static inline unsigned umulhi(unsigned a, unsigned b)
{
    return __umulhi(a, b);
}
static inline unsigned __sad(int a, int b, unsigned c)
{
    return c + (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a);
}
static inline unsigned __usad(unsigned a, unsigned b, unsigned c)
{
    return c + (a > b ? a - b : b - a);
}
static inline int __hadd(int a, int b)
{
    return (int)(((int64_t)a + b) >> 1);
}
static inline int __rhadd(int a, int b)
{
    return (int)(((int64_t)a + b + 1) >> 1);
}
static inline unsigned __uhadd(unsigned a, unsigned b)
{
    return (unsigned)(((uint64_t)a + b) >> 1);
}
static inline unsigned __urhadd(unsigned a, unsigned b)
{
    return (unsigned)(((uint64_t)a + b + 1) >> 1);
}

// Dot products of packed bytes and half-words.
#define KFCPU_DP4A(result, a_type, b_type, word)                      \
    static inline result __dp4a(word a, word b, result c)             \
    {                                                                 \
        for (int i = 0; i < 4; i++)                                   \
            c += (result)((a_type)((unsigned)a >> (8 * i))) *         \
                 (result)((b_type)((unsigned)b >> (8 * i)));          \
        return c;                                                     \
    }                                                                 \
    static inline result __dp2a_lo(word a, word b, result c)          \
    {                                                                 \
        for (int i = 0; i < 2; i++)                                   \
            c += (result)((a_type##_wide)((unsigned)a >> (16 * i))) * \
                 (result)((b_type)((unsigned)b >> (8 * i)));          \
        return c;                                                     \
    }                                                                 \
    static inline result __dp2a_hi(word a, word b, result c)          \
    {                                                                 \
        for (int i = 0; i < 2; i++)                                   \
            c += (result)((a_type##_wide)((unsigned)a >> (16 * i))) * \
                 (result)((b_type)((unsigned)b >> (8 * i + 16)));     \
        return c;                                                     \
    }
typedef int16_t int8_t_wide;
typedef uint16_t uint8_t_wide;
KFCPU_DP4A(int, int8_t, int8_t, int)
KFCPU_DP4A(unsigned, uint8_t, uint8_t, unsigned)
#undef KFCPU_DP4A

// Arithmetic on the bytes (suffix 4) or half-words (suffix 2) of a word: NAME##2 and NAME##4, with
// an expression over a and b.
namespace kfcpu
{
template <class E, class F> static inline auto by_element(unsigned x, unsigned y, F f)
{
    unsigned result = 0;
    const unsigned bits = 8 * sizeof(E), mask = (1u << bits) - 1;
    for (unsigned i = 0; i < 32; i += bits)
        result |= ((unsigned)f((int)(E)(x >> i), (int)(E)(y >> i)) & mask) << i;
    return result;
}
template <class E> static inline int saturate_to(int value)
{
    const int low = (E)-1 < 0 ? -(1 << (8 * sizeof(E) - 1)) : 0,
              high = low + (1 << (8 * sizeof(E))) - 1;
    return value < low ? low : value > high ? high : value;
}
} // namespace kfcpu
// Templates, because g++ would else instantiate what each of them calls in every compilation.
#define KFCPU_SIMD1(name, e2, e4, expression2, expression4)                    \
    template <class = void> static inline auto name##2(unsigned x, unsigned y) \
    {                                                                          \
        return kfcpu::by_element<e2>(x, y, [](int a, int b) {                  \
            (void)a;                                                           \
            (void)b;                                                           \
            return expression2;                                                \
        });                                                                    \
    }                                                                          \
    template <class = void> static inline auto name##4(unsigned x, unsigned y) \
    {                                                                          \
        return kfcpu::by_element<e4>(x, y, [](int a, int b) {                  \
            (void)a;                                                           \
            (void)b;                                                           \
            return expression4;                                                \
        });                                                                    \
    }
#define KFCPU_SIMD_S(name, expression) KFCPU_SIMD1(name, int16_t, int8_t, expression, expression)
#define KFCPU_SIMD_U(name, expression) KFCPU_SIMD1(name, uint16_t, uint8_t, expression, expression)
KFCPU_SIMD_U(__vadd, a + b)
KFCPU_SIMD_U(__vsub, a - b)
KFCPU_SIMD1(__vaddss, int16_t, int8_t, kfcpu::saturate_to<int16_t>(a + b),
            kfcpu::saturate_to<int8_t>(a + b))
KFCPU_SIMD1(__vsubss, int16_t, int8_t, kfcpu::saturate_to<int16_t>(a - b),
            kfcpu::saturate_to<int8_t>(a - b))
KFCPU_SIMD1(__vaddus, uint16_t, uint8_t, kfcpu::saturate_to<uint16_t>(a + b),
            kfcpu::saturate_to<uint8_t>(a + b))
KFCPU_SIMD1(__vsubus, uint16_t, uint8_t, kfcpu::saturate_to<uint16_t>(a - b),
            kfcpu::saturate_to<uint8_t>(a - b))
KFCPU_SIMD_S(__vmaxs, a > b ? a : b)
KFCPU_SIMD_U(__vmaxu, a > b ? a : b)
KFCPU_SIMD_S(__vmins, a < b ? a : b)
KFCPU_SIMD_U(__vminu, a < b ? a : b)
KFCPU_SIMD_S(__vabsdiffs, a > b ? a - b : b - a)
KFCPU_SIMD_U(__vabsdiffu, a > b ? a - b : b - a)
KFCPU_SIMD_S(__vavgs, (a + b + (a + b >= 0)) >> 1)
KFCPU_SIMD_U(__vavgu, (a + b + 1) >> 1)
KFCPU_SIMD_U(__vcmpeq, a == b ? -1 : 0)
KFCPU_SIMD_U(__vcmpne, a != b ? -1 : 0)
KFCPU_SIMD_S(__vcmpgts, a > b ? -1 : 0)
KFCPU_SIMD_U(__vcmpgtu, a > b ? -1 : 0)
KFCPU_SIMD_S(__vcmplts, a < b ? -1 : 0)
KFCPU_SIMD_U(__vcmpltu, a < b ? -1 : 0)
KFCPU_SIMD_U(__vseteq, a == b)
KFCPU_SIMD_S(__vsetgts, a > b)
KFCPU_SIMD_U(__vsetgtu, a > b)
#undef KFCPU_SIMD1
#undef KFCPU_SIMD_S
#undef KFCPU_SIMD_U
static inline unsigned __vneg4(unsigned x)
{
    return __vsub4(0, x);
}
static inline unsigned __vneg2(unsigned x)
{
    return __vsub2(0, x);
}
static inline unsigned __vabs4(unsigned x)
{
    return __vmaxs4(x, __vsub4(0, x));
}
static inline unsigned __vabs2(unsigned x)
{
    return __vmaxs2(x, __vsub2(0, x));
}
static inline unsigned __vsadu4(unsigned x, unsigned y)
{
    unsigned difference = __vabsdiffu4(x, y);
    return (difference & 255) + (difference >> 8 & 255) + (difference >> 16 & 255) +
           (difference >> 24);
}
