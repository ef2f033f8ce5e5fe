// CUDA's vector types, with the same names, members and alignments (CUDA C++ Programming Guide,
// "Built-in Vector Types").
#pragma once

#define KFCPU_VECTOR(type, base, align1, align2, align3, align4)                   \
    struct align1 type##1                                                          \
    {                                                                              \
        base x;                                                                    \
    };                                                                             \
    struct align2 type##2                                                          \
    {                                                                              \
        base x, y;                                                                 \
    };                                                                             \
    struct align3 type##3                                                          \
    {                                                                              \
        base x, y, z;                                                              \
    };                                                                             \
    struct align4 type##4                                                          \
    {                                                                              \
        base x, y, z, w;                                                           \
    };                                                                             \
    static inline constexpr type##1 make_##type##1(base x)                         \
    {                                                                              \
        return {x};                                                                \
    }                                                                              \
    static inline constexpr type##2 make_##type##2(base x, base y)                 \
    {                                                                              \
        return {x, y};                                                             \
    }                                                                              \
    static inline constexpr type##3 make_##type##3(base x, base y, base z)         \
    {                                                                              \
        return {x, y, z};                                                          \
    }                                                                              \
    static inline constexpr type##4 make_##type##4(base x, base y, base z, base w) \
    {                                                                              \
        return {x, y, z, w};                                                       \
    }

KFCPU_VECTOR(char, signed char, , alignas(2), , alignas(4))
KFCPU_VECTOR(uchar, unsigned char, , alignas(2), , alignas(4))
KFCPU_VECTOR(short, short, , alignas(4), , alignas(8))
KFCPU_VECTOR(ushort, unsigned short, , alignas(4), , alignas(8))
KFCPU_VECTOR(int, int, , alignas(8), , alignas(16))
KFCPU_VECTOR(uint, unsigned int, , alignas(8), , alignas(16))
KFCPU_VECTOR(long, long int, , alignas(16), , alignas(16))
KFCPU_VECTOR(ulong, unsigned long int, , alignas(16), , alignas(16))
KFCPU_VECTOR(longlong, long long int, , alignas(16), , alignas(16))
KFCPU_VECTOR(ulonglong, unsigned long long int, , alignas(16), , alignas(16))
KFCPU_VECTOR(float, float, , alignas(8), , alignas(16))
KFCPU_VECTOR(double, double, , alignas(16), , alignas(16))
#undef KFCPU_VECTOR

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
        : x(vx), y(vy), z(vz)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
