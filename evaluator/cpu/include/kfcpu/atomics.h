// Atomic functions on global and shared memory, in their plain, _block and _system forms. They
// return the old value. A spinning thread repeats operations that do not change memory, so these
// count more towards a yield (sync.h).
#pragma once
#include <string.h>
#include <type_traits>
#include "sync.h"

namespace kfcpu
{

template <size_t N> struct word;
template <> struct word<1> {
    using type = uint8_t;
};
template <> struct word<2> {
    using type = uint16_t;
};
template <> struct word<4> {
    using type = uint32_t;
};
template <> struct word<8> {
    using type = uint64_t;
};
template <class T> using word_of = typename word<sizeof(T)>::type;

template <class T, class Change> static inline auto change_atomically(T *address, Change change)
{
    using W = word_of<T>;
    W *cell = reinterpret_cast<W *>(address);
    W old_bits = __atomic_load_n(cell, __ATOMIC_RELAXED), new_bits;
    T old;
    do {
        memcpy(&old, &old_bits, sizeof old);
        T next = change(old);
        memcpy(&new_bits, &next, sizeof next);
    } while (!__atomic_compare_exchange_n(cell, &old_bits, new_bits, true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    spun(old_bits == new_bits ? SPIN_SUSPECT : 1);
    return old;
}

} // namespace kfcpu

// Defines one function in its three scopes.
#define KFCPU_SCOPES(name, type, parameters, ...)                                             \
    static inline type name parameters __VA_ARGS__ static inline type name##_block parameters \
        __VA_ARGS__ static inline type name##_system parameters __VA_ARGS__

#define KFCPU_INTEGER(type)                                                                   \
    KFCPU_SCOPES(atomicAdd, type, (type * address, type value), {                             \
        kfcpu::spun(value ? 1 : kfcpu::SPIN_SUSPECT);                                         \
        return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST);                          \
    })                                                                                        \
    KFCPU_SCOPES(atomicSub, type, (type * address, type value), {                             \
        kfcpu::spun(value ? 1 : kfcpu::SPIN_SUSPECT);                                         \
        return __atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST);                          \
    })                                                                                        \
    KFCPU_SCOPES(atomicMin, type, (type * address, type value), {                             \
        return kfcpu::change_atomically(address,                                              \
                                        [=](type old) { return old < value ? old : value; }); \
    })                                                                                        \
    KFCPU_SCOPES(atomicMax, type, (type * address, type value), {                             \
        return kfcpu::change_atomically(address,                                              \
                                        [=](type old) { return old > value ? old : value; }); \
    })                                                                                        \
    KFCPU_SCOPES(atomicAnd, type, (type * address, type value), {                             \
        kfcpu::spun(kfcpu::SPIN_SUSPECT / 4);                                                 \
        return __atomic_fetch_and(address, value, __ATOMIC_SEQ_CST);                          \
    })                                                                                        \
    KFCPU_SCOPES(atomicOr, type, (type * address, type value), {                              \
        kfcpu::spun(value ? 1 : kfcpu::SPIN_SUSPECT);                                         \
        return __atomic_fetch_or(address, value, __ATOMIC_SEQ_CST);                           \
    })                                                                                        \
    KFCPU_SCOPES(atomicXor, type, (type * address, type value), {                             \
        kfcpu::spun(1);                                                                       \
        return __atomic_fetch_xor(address, value, __ATOMIC_SEQ_CST);                          \
    })                                                                                        \
    KFCPU_EXCHANGE(type)                                                                      \
    KFCPU_SWAP(type)

#define KFCPU_EXCHANGE(type)                                        \
    KFCPU_SCOPES(atomicExch, type, (type * address, type value), {  \
        type old;                                                   \
        __atomic_exchange(address, &value, &old, __ATOMIC_SEQ_CST); \
        kfcpu::spun(old == value ? kfcpu::SPIN_SUSPECT : 1);        \
        return old;                                                 \
    })

#define KFCPU_SWAP(type)                                                                           \
    KFCPU_SCOPES(atomicCAS, type, (type * address, type compare, type value), {                    \
        bool done = __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_SEQ_CST, \
                                                __ATOMIC_SEQ_CST);                                 \
        kfcpu::spun(done ? 1 : kfcpu::SPIN_SUSPECT);                                               \
        return compare;                                                                            \
    })

KFCPU_INTEGER(int)
KFCPU_INTEGER(unsigned int)
KFCPU_INTEGER(long)
KFCPU_INTEGER(unsigned long)
KFCPU_INTEGER(long long)
KFCPU_INTEGER(unsigned long long)
KFCPU_SWAP(unsigned short)
KFCPU_EXCHANGE(float)
KFCPU_EXCHANGE(double)

#define KFCPU_FLOAT(type)                                                                \
    KFCPU_SCOPES(atomicAdd, type, (type * address, type value), {                        \
        return kfcpu::change_atomically(address, [=](type old) { return old + value; }); \
    })
KFCPU_FLOAT(float)
KFCPU_FLOAT(double)

KFCPU_SCOPES(atomicInc, unsigned, (unsigned *address, unsigned limit), {
    return kfcpu::change_atomically(address,
                                    [=](unsigned old) { return old >= limit ? 0 : old + 1; });
})
KFCPU_SCOPES(atomicDec, unsigned, (unsigned *address, unsigned limit), {
    return kfcpu::change_atomically(
        address, [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
})

// The vector forms of compute capability 9.0. Each element is atomic by itself.
KFCPU_SCOPES(atomicAdd, float2, (float2 * address, float2 value), {
    return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
})
KFCPU_SCOPES(atomicAdd, float4, (float4 * address, float4 value), {
    return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y),
            atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w)};
})
