// cuda::atomic and cuda::atomic_ref. All orders are sequentially consistent.
#pragma once
#include "std/all.h"

namespace cuda
{

using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;

// The operations on a value somewhere. A thread that repeats one without an effect lets others run.
template <class T, class Self> class KfcpuAtomic
{
    using Word = ::kfcpu::word_of<T>;
    Word *word() const
    {
        return reinterpret_cast<Word *>(static_cast<const Self *>(this)->place());
    }
    template <class Change> T change(Change by) const
    {
        return ::kfcpu::change_atomically(static_cast<const Self *>(this)->place(), by);
    }
    static T from(Word bits)
    {
        T value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    static Word to(T value)
    {
        Word bits;
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }

  public:
    using value_type = T;
    static constexpr bool is_always_lock_free = true;
    bool is_lock_free() const { return true; }
    T load(memory_order = memory_order_seq_cst) const
    {
        ::kfcpu::spun(::kfcpu::SPIN_SUSPECT);
        return from(__atomic_load_n(word(), __ATOMIC_SEQ_CST));
    }
    void store(T value, memory_order = memory_order_seq_cst) const
    {
        __atomic_store_n(word(), to(value), __ATOMIC_SEQ_CST);
    }
    T exchange(T value, memory_order = memory_order_seq_cst) const
    {
        ::kfcpu::spun(::kfcpu::SPIN_SUSPECT);
        return from(__atomic_exchange_n(word(), to(value), __ATOMIC_SEQ_CST));
    }
    bool compare_exchange_strong(T &expected, T value, memory_order = memory_order_seq_cst,
                                 memory_order = memory_order_seq_cst) const
    {
        Word old = to(expected);
        bool done = __atomic_compare_exchange_n(word(), &old, to(value), false, __ATOMIC_SEQ_CST,
                                                __ATOMIC_SEQ_CST);
        ::kfcpu::spun(done ? 1 : ::kfcpu::SPIN_SUSPECT);
        if (!done) expected = from(old);
        return done;
    }
    bool compare_exchange_weak(T &expected, T value, memory_order a = memory_order_seq_cst,
                               memory_order b = memory_order_seq_cst) const
    {
        return compare_exchange_strong(expected, value, a, b);
    }
#define KFCPU_FETCH(name, expression)                             \
    T name(T value, memory_order = memory_order_seq_cst) const    \
    {                                                             \
        return change([=](T old) -> T { return T(expression); }); \
    }
    KFCPU_FETCH(fetch_add, old + value)
    KFCPU_FETCH(fetch_sub, old - value)
    KFCPU_FETCH(fetch_and, old &value)
    KFCPU_FETCH(fetch_or, old | value)
    KFCPU_FETCH(fetch_xor, old ^ value)
    KFCPU_FETCH(fetch_min, value < old ? value : old)
    KFCPU_FETCH(fetch_max, old < value ? value : old)
#undef KFCPU_FETCH
    T operator+=(T value) const
    {
        return T(fetch_add(value) + value);
    }
    T operator-=(T value) const
    {
        return T(fetch_sub(value) - value);
    }
    T operator&=(T value) const
    {
        return T(fetch_and(value) & value);
    }
    T operator|=(T value) const
    {
        return T(fetch_or(value) | value);
    }
    T operator^=(T value) const
    {
        return T(fetch_xor(value) ^ value);
    }
    T operator++() const
    {
        return T(fetch_add(T(1)) + T(1));
    }
    T operator--() const
    {
        return T(fetch_sub(T(1)) - T(1));
    }
    T operator++(int) const
    {
        return fetch_add(T(1));
    }
    T operator--(int) const
    {
        return fetch_sub(T(1));
    }
    operator T() const
    {
        return load();
    }
    void wait(T old, memory_order = memory_order_seq_cst) const
    {
        while (to(load()) == to(old)) ::kfcpu::yield();
    }
    void notify_one() const {}
    void notify_all() const {}
};

template <class T, thread_scope scope = thread_scope_system>
class atomic : public KfcpuAtomic<T, atomic<T, scope>>
{
    template <class, class> friend class KfcpuAtomic;
    alignas(sizeof(T)) T value_;
    T *place() const { return const_cast<T *>(&value_); }

  public:
    atomic() = default;
    constexpr atomic(T value) : value_(value) {}
    atomic(const atomic &) = delete;
    T operator=(T value)
    {
        this->store(value);
        return value;
    }
};

template <class T, thread_scope scope = thread_scope_system>
class atomic_ref : public KfcpuAtomic<T, atomic_ref<T, scope>>
{
    template <class, class> friend class KfcpuAtomic;
    T *place_;
    T *place() const { return place_; }

  public:
    explicit atomic_ref(T &value) : place_(&value) {}
    atomic_ref(const atomic_ref &) = default;
    T operator=(T value) const
    {
        this->store(value);
        return value;
    }
};

inline void atomic_thread_fence(memory_order, thread_scope = thread_scope_system)
{
    __threadfence();
}

namespace std
{
template <class T> using atomic = ::cuda::atomic<T, thread_scope_system>;
template <class T> using atomic_ref = ::cuda::atomic_ref<T, thread_scope_system>;
inline void atomic_thread_fence(memory_order)
{
    __threadfence();
}
} // namespace std

} // namespace cuda
