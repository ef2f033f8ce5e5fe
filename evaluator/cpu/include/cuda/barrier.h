// cuda::barrier, memcpy_async and cuda::pipeline. Copies are done when the call returns, so that
// waiting for them only has to wait for the other threads.
#pragma once
#include "atomic.h"

namespace cuda
{

template <size_t Alignment> struct aligned_size_t {
    size_t value;
    explicit aligned_size_t(size_t size) : value(size) {}
    operator size_t() const { return value; }
};

template <thread_scope scope = thread_scope_system> class barrier
{
    ptrdiff_t expected_, pending_;
    unsigned phase_;

  public:
    using arrival_token = unsigned;
    barrier() = default;
    explicit barrier(ptrdiff_t count) : expected_(count), pending_(count), phase_(0) {}
    barrier(const barrier &) = delete;
    friend void init(barrier *b, ptrdiff_t count) { ::new (b) barrier(count); }
    arrival_token arrive(ptrdiff_t count = 1)
    {
        unsigned phase = __atomic_load_n(&phase_, __ATOMIC_SEQ_CST);
        if (__atomic_sub_fetch(&pending_, count, __ATOMIC_SEQ_CST) == 0) {
            __atomic_store_n(&pending_, expected_, __ATOMIC_SEQ_CST);
            __atomic_store_n(&phase_, phase + 1, __ATOMIC_SEQ_CST);
        }
        return phase;
    }
    void wait(arrival_token phase) const
    {
        while (__atomic_load_n(&phase_, __ATOMIC_SEQ_CST) == phase) ::kfcpu::yield();
    }
    bool try_wait(arrival_token phase) const
    {
        ::kfcpu::spun(::kfcpu::SPIN_SUSPECT);
        return __atomic_load_n(&phase_, __ATOMIC_SEQ_CST) != phase;
    }
    void arrive_and_wait() { wait(arrive()); }
    void arrive_and_drop()
    {
        __atomic_sub_fetch(&expected_, 1, __ATOMIC_SEQ_CST);
        arrive();
    }
    static constexpr ptrdiff_t max() { return (1 << 20) - 1; }
};

template <thread_scope, unsigned stages> struct pipeline_shared_state {
    unsigned unused;
};

// In a block, all threads produce and consume.
template <thread_scope scope> class pipeline
{
  public:
    void producer_acquire() {}
    void producer_commit() {}
    void consumer_wait()
    {
        if (scope == thread_scope_block) __syncthreads();
    }
    void consumer_release()
    {
        if (scope == thread_scope_block) __syncthreads();
    }
    bool quit() { return true; }
};
inline pipeline<thread_scope_thread> make_pipeline()
{
    return {};
}
template <thread_scope scope, unsigned stages>
pipeline<scope> make_pipeline(const ::cooperative_groups::thread_block &,
                              pipeline_shared_state<scope, stages> *)
{
    return {};
}
template <unsigned> void pipeline_consumer_wait_prior(pipeline<thread_scope_thread> &) {}
template <unsigned, thread_scope scope> void pipeline_consumer_wait_prior(pipeline<scope> &pipe)
{
    pipe.consumer_wait();
}

template <class T, class Size, class Sync>
void memcpy_async(T *to, const T *from, Size size, Sync &)
{
    memcpy(to, from, (size_t)size);
}
template <class Size, class Sync> void memcpy_async(void *to, const void *from, Size size, Sync &)
{
    memcpy(to, from, (size_t)size);
}
// The threads of the group share the work.
template <class Group, class Size, class Sync>
auto memcpy_async(const Group &group, void *to, const void *from, Size size, Sync &)
    -> decltype(group.thread_rank(), void())
{
    size_t all = (size_t)size, threads = (size_t)group.size(), rank = (size_t)group.thread_rank();
    size_t part = (all / 16 + threads - 1) / threads * 16, first = part * rank;
    size_t end = rank + 1 == threads || first + part > all ? all : first + part;
    if (first < end) memcpy((char *)to + first, (const char *)from + first, end - first);
}

} // namespace cuda
