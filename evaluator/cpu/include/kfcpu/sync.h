// Barriers, fences and warp operations.
#pragma once
#include <string.h>
#include <type_traits>
#include "builtins.h"

namespace kfcpu
{

// Returns the number of threadIdx in the block. thread_number counts threads as they start, which
// differs while warps start in another order (kfcpu_reverse).
static inline unsigned thread_rank()
{
    if (__builtin_expect(!kfcpu_self->reversed, 1)) return thread_number;
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

static inline unsigned lane()
{
    return thread_number % KFCPU_WARP;
}

static inline uint64_t warp(unsigned mask, int op, uint64_t value, unsigned source)
{
    return switching([&](unsigned thread) { return kfcpu_warp(thread, mask, op, value, source); });
}

// Counts an operation that a spinning thread repeats. After enough of them the other threads get a
// turn.
enum { SPIN_LIMIT = 4096, SPIN_SUSPECT = 64 };
static __attribute__((noinline, cold, unused)) void yield()
{
    switching([](unsigned thread) { kfcpu_yield(thread); });
}
static inline void spun(unsigned weight)
{
    kfcpu_view *view = kfcpu_self;
    if (__builtin_expect((view->spin += weight) >= SPIN_LIMIT, 0)) yield();
}

// Values of up to 8 bytes pass between lanes as an integer.
template <class T> static inline uint64_t pack(T value)
{
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value,
                  "warp operations take values of at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> static inline T unpack(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> static inline T shuffle(unsigned mask, T value, unsigned source)
{
    return unpack<T>(warp(mask, KFCPU_SHUFFLE, pack(value), source));
}

} // namespace kfcpu

static inline void __syncthreads()
{
    kfcpu::switching([](unsigned thread) { kfcpu::pass(thread); });
}
static inline int __syncthreads_count(int predicate)
{
    uint32_t arrived;
    return kfcpu::switching(
        [&](unsigned thread) { return kfcpu_barrier_count(thread, predicate, &arrived); });
}
static inline int __syncthreads_and(int predicate)
{
    uint32_t arrived;
    int count = kfcpu::switching(
        [&](unsigned thread) { return kfcpu_barrier_count(thread, predicate, &arrived); });
    return (uint32_t)count == arrived;
}
static inline int __syncthreads_or(int predicate)
{
    return __syncthreads_count(predicate) != 0;
}
static inline void __barrier_sync(unsigned)
{
    __syncthreads();
}

static inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    kfcpu::spun(kfcpu::SPIN_SUSPECT);
}
static inline void __threadfence_block()
{
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    kfcpu::spun(kfcpu::SPIN_SUSPECT);
}
static inline void __threadfence_system()
{
    __threadfence();
}
static inline void __nanosleep(unsigned)
{
    kfcpu::yield();
}

static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    kfcpu::warp(mask, KFCPU_SYNC, 0, 0);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    return (unsigned)kfcpu::warp(mask, KFCPU_BALLOT, predicate != 0, 0);
}
static inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}
static inline int __all_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}
static inline int __uni_sync(unsigned mask, int predicate)
{
    unsigned yes = __ballot_sync(mask, predicate), no = __ballot_sync(mask, !predicate);
    return !yes || !no;
}
static inline unsigned __activemask()
{
    return kfcpu::switching([](unsigned thread) { return kfcpu_active_mask(thread); });
}

template <class T>
static inline T __shfl_sync(unsigned mask, T value, int source, int width = KFCPU_WARP)
{
    unsigned segment = kfcpu::lane() & ~(width - 1u);
    return kfcpu::shuffle(mask, value, segment | ((unsigned)source & (width - 1u)));
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = KFCPU_WARP)
{
    unsigned lane = kfcpu::lane(), position = lane & (width - 1u);
    return kfcpu::shuffle(mask, value, delta > position ? lane : lane - delta);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = KFCPU_WARP)
{
    unsigned lane = kfcpu::lane(), position = lane & (width - 1u);
    return kfcpu::shuffle(mask, value, delta >= (unsigned)width - position ? lane : lane + delta);
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int other, int width = KFCPU_WARP)
{
    unsigned lane = kfcpu::lane(), source = (lane ^ (unsigned)other) % KFCPU_WARP;
    return kfcpu::shuffle(mask, value, source > (lane | (width - 1u)) ? lane : source);
}
template <class T> static inline unsigned __match_any_sync(unsigned mask, T value)
{
    return (unsigned)kfcpu::warp(mask, KFCPU_MATCH_ANY, kfcpu::pack(value), 0);
}
template <class T> static inline unsigned __match_all_sync(unsigned mask, T value, int *predicate)
{
    unsigned same = (unsigned)kfcpu::warp(mask, KFCPU_MATCH_ALL, kfcpu::pack(value), 0);
    *predicate = same != 0;
    return same;
}

#define KFCPU_REDUCE(name, type, op)                            \
    static inline type name(unsigned mask, type value)          \
    {                                                           \
        return (type)kfcpu::warp(mask, op, (uint32_t)value, 0); \
    }
KFCPU_REDUCE(__reduce_add_sync, unsigned, KFCPU_ADD)
KFCPU_REDUCE(__reduce_add_sync, int, KFCPU_ADD)
KFCPU_REDUCE(__reduce_min_sync, unsigned, KFCPU_MIN_UNSIGNED)
KFCPU_REDUCE(__reduce_min_sync, int, KFCPU_MIN_SIGNED)
KFCPU_REDUCE(__reduce_max_sync, unsigned, KFCPU_MAX_UNSIGNED)
KFCPU_REDUCE(__reduce_max_sync, int, KFCPU_MAX_SIGNED)
KFCPU_REDUCE(__reduce_and_sync, unsigned, KFCPU_BITS_AND)
KFCPU_REDUCE(__reduce_or_sync, unsigned, KFCPU_BITS_OR)
KFCPU_REDUCE(__reduce_xor_sync, unsigned, KFCPU_BITS_XOR)
#undef KFCPU_REDUCE
