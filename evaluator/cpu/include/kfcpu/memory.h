// Loads and stores with cache hints (plain loads and stores on this device), address spaces,
// clocks.
#pragma once
#include "sync.h"

template <class T> static inline T __ldg(const T *p)
{
    return *p;
}
template <class T> static inline T __ldca(const T *p)
{
    return *p;
}
template <class T> static inline T __ldcs(const T *p)
{
    return *p;
}
template <class T> static inline T __ldlu(const T *p)
{
    return *p;
}
template <class T> static inline T __ldcg(const T *p)
{
    kfcpu::spun(1);
    T value;
    // Reads memory again on every call, because threads poll with this function.
    __asm__ volatile("" ::: "memory");
    value = *p;
    __asm__ volatile("" ::: "memory");
    return value;
}
template <class T> static inline T __ldcv(const T *p)
{
    kfcpu::spun(kfcpu::SPIN_SUSPECT);
    __asm__ volatile("" ::: "memory");
    T value = *p;
    __asm__ volatile("" ::: "memory");
    return value;
}
template <class T> static inline void __stwb(T *p, std::common_type_t<T> value)
{
    *p = value;
}
template <class T> static inline void __stcg(T *p, std::common_type_t<T> value)
{
    *p = value;
}
template <class T> static inline void __stcs(T *p, std::common_type_t<T> value)
{
    *p = value;
}
template <class T> static inline void __stwt(T *p, std::common_type_t<T> value)
{
    *p = value;
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline size_t __cvta_generic_to_shared(const void *p)
{
    return (size_t)p;
}
static inline size_t __cvta_generic_to_global(const void *p)
{
    return (size_t)p;
}
static inline unsigned __isGlobal(const void *)
{
    return 1;
}

// Counts at the rate of cudaDevAttrClockRate, 1 GHz.
static inline long long clock64()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}
// The rewriter puts this in the place of clock() where device code may run. The host's clock() has
// another unit.
static inline clock_t kfcpu_clock()
{
    return kfcpu_in_kernel() ? (clock_t)clock64() : clock();
}
static inline unsigned long long __nv_globaltimer()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
}

static inline __attribute__((noreturn)) void __trap()
{
    kfcpu_trap(kfcpu::thread_number, 719, "__trap()");
}
static inline void __brkpt() {}
static inline void __prof_trigger(int) {}
#define __builtin_assume(condition) KFCPU_ASSUME(condition)
