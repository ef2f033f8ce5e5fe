// Collectives of a block. Threads write to shared memory, one thread works on it, and all read.
// A kernel needs __syncthreads() between two uses of one TempStorage, as on a GPU.
#pragma once
#include "operators.h"

namespace cub
{

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

// A collective's shared memory: the caller's, or its own.
template <class Storage> class KfcpuCollective
{
    static Storage &own()
    {
        __shared__ Storage storage;
        return storage;
    }

  protected:
    Storage &temp_;
    unsigned thread_;

  public:
    using TempStorage = Storage;
    KfcpuCollective() : temp_(own()), thread_(::kfcpu::thread_rank()) {}
    KfcpuCollective(Storage &storage) : temp_(storage), thread_(::kfcpu::thread_rank()) {}
};

// ---- reductions and scans ----

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1,
          int = 0>
class BlockReduce : public KfcpuCollective<KfcpuCells<T, X * Y * Z>>
{
    using Base = KfcpuCollective<KfcpuCells<T, X * Y * Z>>;

  public:
    using Base::Base;
    BlockReduce() = default;
    // The result is valid in thread 0.
    template <class Op> T Reduce(T value, Op op, int valid)
    {
        auto &cells = this->temp_;
        ::new (&cells[this->thread_]) T(value);
        __syncthreads();
        if (this->thread_ != 0) return value;
        for (int step = 1; step < valid; step *= 2)
            for (int i = 0; i + step < valid; i += 2 * step)
                cells[i] = op(cells[i], cells[i + step]);
        return cells[0];
    }
    template <class Op> T Reduce(T value, Op op) { return Reduce(value, op, X * Y * Z); }
    template <int N, class Op> T Reduce(T (&values)[N], Op op)
    {
        return Reduce(ThreadReduce(values, op), op);
    }
    T Sum(T value) { return Reduce(value, ::cub::Sum()); }
    T Sum(T value, int valid) { return Reduce(value, ::cub::Sum(), valid); }
    template <int N> T Sum(T (&values)[N]) { return Reduce(values, ::cub::Sum()); }
};

template <class T, int THREADS> struct KfcpuScanStorage {
    KfcpuCells<T, THREADS> cells;
    KfcpuCells<T, 1> aggregate, prefix;
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan : public KfcpuCollective<KfcpuScanStorage<T, X * Y * Z>>
{
    enum { THREADS = X * Y * Z };
    using Base = KfcpuCollective<KfcpuScanStorage<T, THREADS>>;

    // Leaves the inclusive scan of the threads' values in the cells. With a prefix, it is before
    // the first value.
    template <class Op> void scan(const T &value, Op op)
    {
        auto &cells = this->temp_.cells;
        ::new (&cells[this->thread_]) T(value);
        __syncthreads();
        if (this->thread_ == 0) {
            for (int i = 1; i < THREADS; i++) cells[i] = op(cells[i - 1], cells[i]);
            ::new (&this->temp_.aggregate[0]) T(cells[THREADS - 1]);
        }
        __syncthreads();
    }
    // Asks for the prefix, as CUB does: in the first warp, and the first thread's answer counts.
    template <class Callback> T ask(Callback &callback)
    {
        if (this->thread_ < 32) {
            T prefix = callback(this->temp_.aggregate[0]);
            if (this->thread_ == 0) ::new (&this->temp_.prefix[0]) T(prefix);
        }
        __syncthreads();
        return this->temp_.prefix[0];
    }
    // Writes the results of one thread. `start`: NULL, or a value before all others.
    template <int N, class Op>
    void finish(T (&in)[N], T (&out)[N], Op op, const T *start, bool exclusive)
    {
        bool any = start || this->thread_ > 0;
        T total = this->thread_ > 0 ? this->temp_.cells[this->thread_ - 1] : start ? *start : in[0];
        if (start && this->thread_ > 0) total = op(*start, total);
        for (int i = 0; i < N; i++) {
            T value = in[i];
            if (exclusive) out[i] = total;
            total = any ? T(op(total, value)) : value;
            any = true;
            if (!exclusive) out[i] = total;
        }
    }
    template <int N, class Op>
    void run(T (&in)[N], T (&out)[N], Op op, const T *start, bool exclusive, T *aggregate)
    {
        scan(ThreadReduce(in, op), op);
        if (aggregate) *aggregate = this->temp_.aggregate[0];
        finish(in, out, op, start, exclusive);
    }
    template <int N, class Op, class Callback>
    void run_after(T (&in)[N], T (&out)[N], Op op, Callback &callback, bool exclusive)
    {
        scan(ThreadReduce(in, op), op);
        T prefix = ask(callback);
        finish(in, out, op, &prefix, exclusive);
    }
    template <class Op> void run(T in, T &out, Op op, const T *start, bool exclusive, T *aggregate)
    {
        T from[1] = {in}, to[1];
        run(from, to, op, start, exclusive, aggregate);
        out = to[0];
    }
    template <class Op, class Callback>
    void run_after(T in, T &out, Op op, Callback &callback, bool exclusive)
    {
        T from[1] = {in}, to[1];
        run_after(from, to, op, callback, exclusive);
        out = to[0];
    }
    // A callback is called with the aggregate; an aggregate is assigned to.
    template <class C>
    static constexpr bool is_callback =
        std::is_invocable_r<T, C &, T>::value && !std::is_same<std::decay_t<C>, T>::value;

  public:
    using Base::Base;
    BlockScan() = default;

    void ExclusiveSum(T in, T &out) { ExclusiveScan(in, out, T(), ::cub::Sum()); }
    void InclusiveSum(T in, T &out) { InclusiveScan(in, out, ::cub::Sum()); }
    template <int N> void ExclusiveSum(T (&in)[N], T (&out)[N])
    {
        ExclusiveScan(in, out, T(), ::cub::Sum());
    }
    template <int N> void InclusiveSum(T (&in)[N], T (&out)[N])
    {
        InclusiveScan(in, out, ::cub::Sum());
    }
    // `last`: the aggregate, or a callback for the prefix.
    template <class Last> void ExclusiveSum(T in, T &out, Last &last)
    {
        if constexpr (is_callback<Last>)
            run_after(in, out, ::cub::Sum(), last, true);
        else
            ExclusiveScan(in, out, T(), ::cub::Sum(), last);
    }
    template <class Last> void InclusiveSum(T in, T &out, Last &last)
    {
        InclusiveScan(in, out, ::cub::Sum(), last);
    }
    template <int N, class Last> void ExclusiveSum(T (&in)[N], T (&out)[N], Last &last)
    {
        if constexpr (is_callback<Last>)
            run_after(in, out, ::cub::Sum(), last, true);
        else
            ExclusiveScan(in, out, T(), ::cub::Sum(), last);
    }
    template <int N, class Last> void InclusiveSum(T (&in)[N], T (&out)[N], Last &last)
    {
        InclusiveScan(in, out, ::cub::Sum(), last);
    }

    template <class Op> void InclusiveScan(T in, T &out, Op op)
    {
        run(in, out, op, nullptr, false, nullptr);
    }
    template <int N, class Op> void InclusiveScan(T (&in)[N], T (&out)[N], Op op)
    {
        run(in, out, op, nullptr, false, nullptr);
    }
    template <class Op, class Last> void InclusiveScan(T in, T &out, Op op, Last &last)
    {
        if constexpr (is_callback<Last>)
            run_after(in, out, op, last, false);
        else
            run(in, out, op, nullptr, false, &last);
    }
    template <int N, class Op, class Last>
    void InclusiveScan(T (&in)[N], T (&out)[N], Op op, Last &last)
    {
        if constexpr (is_callback<Last>)
            run_after(in, out, op, last, false);
        else
            run(in, out, op, nullptr, false, &last);
    }
    // Without an initial value, the first result is not specified. (in, out, initial, op) and
    // (in, out, op, aggregate or callback) differ in the operator's place.
    template <class Op> void ExclusiveScan(T in, T &out, Op op)
    {
        run(in, out, op, nullptr, true, nullptr);
    }
    template <int N, class Op> void ExclusiveScan(T (&in)[N], T (&out)[N], Op op)
    {
        run(in, out, op, nullptr, true, nullptr);
    }
    template <class A, class B> void ExclusiveScan(T in, T &out, A a, B &&b)
    {
        exclusive(in, out, a, b);
    }
    template <int N, class A, class B> void ExclusiveScan(T (&in)[N], T (&out)[N], A a, B &&b)
    {
        exclusive(in, out, a, b);
    }
    template <class Op> void ExclusiveScan(T in, T &out, T initial, Op op, T &aggregate)
    {
        run(in, out, op, &initial, true, &aggregate);
    }
    template <int N, class Op>
    void ExclusiveScan(T (&in)[N], T (&out)[N], T initial, Op op, T &aggregate)
    {
        run(in, out, op, &initial, true, &aggregate);
    }

  private:
    template <class In, class Out, class A, class B> void exclusive(In &in, Out &out, A &a, B &b)
    {
        if constexpr (std::is_invocable<B &, T, T>::value) {
            T initial = a;
            run(in, out, b, &initial, true, nullptr);
        } else if constexpr (is_callback<B>) {
            run_after(in, out, a, b, true);
        } else {
            run(in, out, a, nullptr, true, &b);
        }
    }
};

// ---- loads, stores, exchanges ----

template <class T, int N, class Iterator>
void LoadDirectBlocked(int thread, Iterator in, T (&items)[N])
{
    for (int i = 0; i < N; i++) items[i] = in[thread * N + i];
}
template <class T, int N, class Iterator>
void LoadDirectBlocked(int thread, Iterator in, T (&items)[N], int valid)
{
    for (int i = 0; i < N; i++)
        if (thread * N + i < valid) items[i] = in[thread * N + i];
}
template <class T, int N, class Iterator, class Default>
void LoadDirectBlocked(int thread, Iterator in, T (&items)[N], int valid, Default other)
{
    for (int i = 0; i < N; i++)
        items[i] = thread * N + i < valid ? T(in[thread * N + i]) : T(other);
}
template <class T, int N> void LoadDirectBlockedVectorized(int thread, T *in, T (&items)[N])
{
    LoadDirectBlocked(thread, in, items);
}
template <int THREADS, class T, int N, class Iterator>
void LoadDirectStriped(int thread, Iterator in, T (&items)[N])
{
    for (int i = 0; i < N; i++) items[i] = in[i * THREADS + thread];
}
template <int THREADS, class T, int N, class Iterator>
void LoadDirectStriped(int thread, Iterator in, T (&items)[N], int valid)
{
    for (int i = 0; i < N; i++)
        if (i * THREADS + thread < valid) items[i] = in[i * THREADS + thread];
}
template <int THREADS, class T, int N, class Iterator, class Default>
void LoadDirectStriped(int thread, Iterator in, T (&items)[N], int valid, Default other)
{
    for (int i = 0; i < N; i++)
        items[i] = i * THREADS + thread < valid ? T(in[i * THREADS + thread]) : T(other);
}
template <class T, int N, class Iterator>
void StoreDirectBlocked(int thread, Iterator out, T (&items)[N])
{
    for (int i = 0; i < N; i++) out[thread * N + i] = items[i];
}
template <class T, int N, class Iterator>
void StoreDirectBlocked(int thread, Iterator out, T (&items)[N], int valid)
{
    for (int i = 0; i < N; i++)
        if (thread * N + i < valid) out[thread * N + i] = items[i];
}
template <class T, int N> void StoreDirectBlockedVectorized(int thread, T *out, T (&items)[N])
{
    StoreDirectBlocked(thread, out, items);
}
template <int THREADS, class T, int N, class Iterator>
void StoreDirectStriped(int thread, Iterator out, T (&items)[N])
{
    for (int i = 0; i < N; i++) out[i * THREADS + thread] = items[i];
}
template <int THREADS, class T, int N, class Iterator>
void StoreDirectStriped(int thread, Iterator out, T (&items)[N], int valid)
{
    for (int i = 0; i < N; i++)
        if (i * THREADS + thread < valid) out[i * THREADS + thread] = items[i];
}

struct KfcpuNoStorage {
    unsigned char unused;
};

template <class T, int X, int N, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int Y = 1,
          int Z = 1, int = 0>
class BlockLoad : public KfcpuCollective<KfcpuNoStorage>
{
    using Base = KfcpuCollective<KfcpuNoStorage>;

  public:
    using Base::Base;
    BlockLoad() = default;
    template <class Iterator, class... More> void Load(Iterator in, T (&items)[N], More... more)
    {
        if constexpr (ALGORITHM == BLOCK_LOAD_STRIPED)
            LoadDirectStriped<X * Y * Z>((int)this->thread_, in, items, more...);
        else
            LoadDirectBlocked((int)this->thread_, in, items, more...);
    }
};

template <class T, int X, int N, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int Y = 1,
          int Z = 1, int = 0>
class BlockStore : public KfcpuCollective<KfcpuNoStorage>
{
    using Base = KfcpuCollective<KfcpuNoStorage>;

  public:
    using Base::Base;
    BlockStore() = default;
    template <class Iterator, class... More> void Store(Iterator out, T (&items)[N], More... more)
    {
        if constexpr (ALGORITHM == BLOCK_STORE_STRIPED)
            StoreDirectStriped<X * Y * Z>((int)this->thread_, out, items, more...);
        else
            StoreDirectBlocked((int)this->thread_, out, items, more...);
    }
};

template <class T, int X, int N, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange : public KfcpuCollective<KfcpuCells<T, X * Y * Z * N>>
{
    enum { THREADS = X * Y * Z };
    using Base = KfcpuCollective<KfcpuCells<T, THREADS * N>>;
    int blocked(int i) const { return (int)this->thread_ * N + i; }
    int striped(int i) const { return i * THREADS + (int)this->thread_; }
    int warp_striped(int i) const
    {
        int lane = (int)this->thread_ % 32, first = (int)this->thread_ - lane;
        int width = THREADS - first < 32 ? THREADS - first : 32;
        return first * N + i * width + lane;
    }
    template <class From, class To, class U> void move(T (&in)[N], U (&out)[N], From from, To to)
    {
        for (int i = 0; i < N; i++) ::new (&this->temp_[from(i)]) T(in[i]);
        __syncthreads();
        for (int i = 0; i < N; i++) out[i] = this->temp_[to(i)];
    }

  public:
    using Base::Base;
    BlockExchange() = default;
#define KFCPU_EXCHANGE_ITEMS(name, from, to)                                              \
    template <class U> void name(T(&in)[N], U(&out)[N])                                   \
    {                                                                                     \
        move(                                                                             \
            in, out, [this](int i) { return from(i); }, [this](int i) { return to(i); }); \
    }                                                                                     \
    void name(T(&items)[N])                                                               \
    {                                                                                     \
        name(items, items);                                                               \
    }
    KFCPU_EXCHANGE_ITEMS(StripedToBlocked, striped, blocked)
    KFCPU_EXCHANGE_ITEMS(BlockedToStriped, blocked, striped)
    KFCPU_EXCHANGE_ITEMS(WarpStripedToBlocked, warp_striped, blocked)
    KFCPU_EXCHANGE_ITEMS(BlockedToWarpStriped, blocked, warp_striped)
#undef KFCPU_EXCHANGE_ITEMS
    template <class U, class Rank> void ScatterToBlocked(T (&in)[N], U (&out)[N], Rank (&ranks)[N])
    {
        move(
            in, out, [&](int i) { return (int)ranks[i]; }, [this](int i) { return blocked(i); });
    }
    template <class U, class Rank> void ScatterToStriped(T (&in)[N], U (&out)[N], Rank (&ranks)[N])
    {
        move(
            in, out, [&](int i) { return (int)ranks[i]; }, [this](int i) { return striped(i); });
    }
    template <class Rank> void ScatterToBlocked(T (&items)[N], Rank (&ranks)[N])
    {
        ScatterToBlocked(items, items, ranks);
    }
    template <class Rank> void ScatterToStriped(T (&items)[N], Rank (&ranks)[N])
    {
        ScatterToStriped(items, items, ranks);
    }
};

// ---- sorts ----

template <class Key, class Value, int COUNT> struct KfcpuSortStorage {
    KfcpuCells<Key, COUNT> keys;
    KfcpuCells<Value, COUNT> values;
    unsigned order[2][COUNT];
};

// A stable sort by merging, in one thread, of items that are blocked over the threads.
template <class Key, class Value, int THREADS, int N>
class KfcpuBlockSort : public KfcpuCollective<KfcpuSortStorage<Key, Value, THREADS * N>>
{
    enum { COUNT = THREADS * N };
    using Base = KfcpuCollective<KfcpuSortStorage<Key, Value, COUNT>>;

    template <class Less> const unsigned *merge(Less less, int count)
    {
        unsigned *from = this->temp_.order[0], *to = this->temp_.order[1];
        for (int i = 0; i < COUNT; i++) from[i] = (unsigned)i;
        for (int run = 1; run < count; run *= 2) {
            for (int low = 0; low < count; low += 2 * run) {
                int middle = low + run < count ? low + run : count;
                int end = low + 2 * run < count ? low + 2 * run : count;
                int a = low, b = middle;
                for (int i = low; i < end; i++) {
                    bool second = a == middle || (b < end && less(this->temp_.keys[from[b]],
                                                                  this->temp_.keys[from[a]]));
                    to[i] = from[second ? b++ : a++];
                }
            }
            std::swap(from, to);
        }
        return from;
    }

  protected:
    template <class V, class Less>
    void sort(Key (&keys)[N], V *values, Less less, bool striped, int count = COUNT)
    {
        constexpr bool pairs = !std::is_same<Value, NullType>::value;
        auto &temp = this->temp_;
        for (int i = 0; i < N; i++) {
            ::new (&temp.keys[this->thread_ * N + i]) Key(keys[i]);
            if constexpr (pairs) ::new (&temp.values[this->thread_ * N + i]) Value(values[i]);
        }
        __syncthreads();
        if (this->thread_ == 0) {
            const unsigned *order = merge(less, count);
            if (order == temp.order[1]) memcpy(temp.order[0], order, (size_t)count * sizeof *order);
        }
        __syncthreads();
        for (int i = 0; i < N; i++) {
            int at = striped ? i * THREADS + (int)this->thread_ : (int)this->thread_ * N + i;
            if (at >= count) continue;
            keys[i] = temp.keys[temp.order[0][at]];
            if constexpr (pairs) values[i] = temp.values[temp.order[0][at]];
        }
    }

  public:
    using Base::Base;
    KfcpuBlockSort() = default;
};

template <class Key, int X, int N, class Value = NullType, int = 4, bool = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS,
          cudaSharedMemConfig = cudaSharedMemBankSizeFourByte, int Y = 1, int Z = 1, int = 0>
class BlockRadixSort : public KfcpuBlockSort<Key, Value, X * Y * Z, N>
{
    using Base = KfcpuBlockSort<Key, Value, X * Y * Z, N>;
    enum { BITS = 8 * sizeof(Key) };
    template <bool descending, class V>
    void by_bits(Key (&keys)[N], V *values, int begin, int end, bool striped)
    {
        this->sort(
            keys, values,
            [=](const Key &a, const Key &b) {
                return ::kfcpu::library::ordered_bits<Key, descending>(a, begin, end) <
                       ::kfcpu::library::ordered_bits<Key, descending>(b, begin, end);
            },
            striped);
    }

  public:
    using Base::Base;
    BlockRadixSort() = default;
#define KFCPU_SORT_ITEMS(name, descending, striped)                            \
    void name(Key(&keys)[N], int begin = 0, int end = BITS)                    \
    {                                                                          \
        by_bits<descending>(keys, (Value *)nullptr, begin, end, striped);      \
    }                                                                          \
    void name(Key(&keys)[N], Value(&values)[N], int begin = 0, int end = BITS) \
    {                                                                          \
        by_bits<descending>(keys, values, begin, end, striped);                \
    }
    KFCPU_SORT_ITEMS(Sort, false, false)
    KFCPU_SORT_ITEMS(SortDescending, true, false)
    KFCPU_SORT_ITEMS(SortBlockedToStriped, false, true)
    KFCPU_SORT_ITEMS(SortDescendingBlockedToStriped, true, true)
#undef KFCPU_SORT_ITEMS
};

template <class Key, int X, int N, class Value = NullType, int Y = 1, int Z = 1>
class BlockMergeSort : public KfcpuBlockSort<Key, Value, X * Y * Z, N>
{
    using Base = KfcpuBlockSort<Key, Value, X * Y * Z, N>;

  public:
    using Base::Base;
    BlockMergeSort() = default;
    template <class Less> void Sort(Key (&keys)[N], Less less)
    {
        this->sort(keys, (Value *)nullptr, less, false);
    }
    template <class Less> void Sort(Key (&keys)[N], Less less, int valid, Key)
    {
        this->sort(keys, (Value *)nullptr, less, false, valid);
    }
    template <class Less> void Sort(Key (&keys)[N], Value (&values)[N], Less less)
    {
        this->sort(keys, values, less, false);
    }
    template <class Less> void Sort(Key (&keys)[N], Value (&values)[N], Less less, int valid, Key)
    {
        this->sort(keys, values, less, false, valid);
    }
    template <class Less> void StableSort(Key (&keys)[N], Less less) { Sort(keys, less); }
    template <class Less> void StableSort(Key (&keys)[N], Value (&values)[N], Less less)
    {
        Sort(keys, values, less);
    }
};

// ---- histograms and heads ----

template <class T, int X, int N, int BINS, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int Y = 1,
          int Z = 1, int = 0>
class BlockHistogram : public KfcpuCollective<KfcpuNoStorage>
{
    using Base = KfcpuCollective<KfcpuNoStorage>;

  public:
    using Base::Base;
    BlockHistogram() = default;
    template <class Counter> void InitHistogram(Counter histogram[BINS])
    {
        for (int i = (int)this->thread_; i < BINS; i += X * Y * Z) histogram[i] = 0;
    }
    template <class Counter> void Composite(T (&items)[N], Counter histogram[BINS])
    {
        for (int i = 0; i < N; i++)
            ::kfcpu::change_atomically(&histogram[items[i]],
                                       [](Counter old) { return Counter(old + 1); });
    }
    template <class Counter> void Histogram(T (&items)[N], Counter histogram[BINS])
    {
        InitHistogram(histogram);
        __syncthreads();
        Composite(items, histogram);
    }
};

template <class T, int X, int Y = 1, int Z = 1, int = 0>
class BlockDiscontinuity : public KfcpuCollective<KfcpuCells<T, 2 * X * Y * Z>>
{
    enum { THREADS = X * Y * Z };
    using Base = KfcpuCollective<KfcpuCells<T, 2 * THREADS>>;
    template <int N> void share(T (&items)[N])
    {
        ::new (&this->temp_[this->thread_]) T(items[0]);
        ::new (&this->temp_[THREADS + this->thread_]) T(items[N - 1]);
        __syncthreads();
    }
    template <int N, class Flag, class Op>
    void heads(Flag (&flags)[N], T (&items)[N], Op op, const T *before)
    {
        share(items);
        const T *left = this->thread_ ? &this->temp_[THREADS + this->thread_ - 1] : before;
        for (int i = N - 1; i > 0; i--) flags[i] = op(items[i - 1], items[i]);
        flags[0] = left ? Flag(op(*left, items[0])) : Flag(1);
    }
    template <int N, class Flag, class Op>
    void tails(Flag (&flags)[N], T (&items)[N], Op op, const T *after)
    {
        share(items);
        const T *right = this->thread_ + 1 < THREADS ? &this->temp_[this->thread_ + 1] : after;
        for (int i = 0; i < N - 1; i++) flags[i] = op(items[i], items[i + 1]);
        flags[N - 1] = right ? Flag(op(items[N - 1], *right)) : Flag(1);
    }

  public:
    using Base::Base;
    BlockDiscontinuity() = default;
    template <int N, class Flag, class Op> void FlagHeads(Flag (&flags)[N], T (&items)[N], Op op)
    {
        heads(flags, items, op, nullptr);
    }
    template <int N, class Flag, class Op>
    void FlagHeads(Flag (&flags)[N], T (&items)[N], Op op, T before)
    {
        heads(flags, items, op, &before);
    }
    template <int N, class Flag, class Op> void FlagTails(Flag (&flags)[N], T (&items)[N], Op op)
    {
        tails(flags, items, op, nullptr);
    }
    template <int N, class Flag, class Op>
    void FlagTails(Flag (&flags)[N], T (&items)[N], Op op, T after)
    {
        tails(flags, items, op, &after);
    }
};

} // namespace cub
