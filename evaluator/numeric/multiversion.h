/* Compiles an inner loop for several x86-64 levels and chooses one at run time. The source has the
 * body once, and each version inlines it for its target. Results do not depend on the version. The
 * bodies use integers, fma and operations that IEEE 754 rounds correctly. No plain addition has a
 * product as an operand, which one target might fuse and another not. */
#ifndef KFORGE_MULTIVERSION_H
#define KFORGE_MULTIVERSION_H

#define KF_BODY static inline __attribute__((always_inline)) void

#if defined(__x86_64__) && !defined(KFORGE_ONE_VERSION)
/* Defines NAME with PARAMETERS as NAME_body(ARGUMENTS), for AVX-512, for AVX2 with FMA, and for any
 * other processor. */
#define KF_MULTIVERSION(NAME, PARAMETERS, ARGUMENTS)                                          \
    __attribute__((target(                                                                    \
        "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))) static void NAME##_avx512 PARAMETERS \
    {                                                                                         \
        NAME##_body ARGUMENTS;                                                                \
    }                                                                                         \
    __attribute__((target("avx2,fma"))) static void NAME##_avx2 PARAMETERS                    \
    {                                                                                         \
        NAME##_body ARGUMENTS;                                                                \
    }                                                                                         \
    static void NAME##_any PARAMETERS                                                         \
    {                                                                                         \
        NAME##_body ARGUMENTS;                                                                \
    }                                                                                         \
    static void NAME PARAMETERS                                                               \
    {                                                                                         \
        if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&       \
            __builtin_cpu_supports("avx512vl"))                                               \
            NAME##_avx512 ARGUMENTS;                                                          \
        else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))             \
            NAME##_avx2 ARGUMENTS;                                                            \
        else                                                                                  \
            NAME##_any ARGUMENTS;                                                             \
    }
#else
#define KF_MULTIVERSION(NAME, PARAMETERS, ARGUMENTS) \
    static void NAME PARAMETERS                      \
    {                                                \
        NAME##_body ARGUMENTS;                       \
    }
#endif

#endif
