// Algorithms over device memory, called from the host. Each takes temporary storage: a first call
// with a null pointer says how many bytes it needs.
#pragma once
#include "iterators.h"

namespace cub
{

// Cuts parts from the temporary storage. While it has none, it counts bytes.
struct KfcpuStorage {
    void *memory;
    size_t *bytes;
    size_t used;
    KfcpuStorage(void *given, size_t &size) : memory(given), bytes(&size), used(0) {}
    template <class T> T *take(size_t count)
    {
        size_t start = (used + 255) / 256 * 256;
        used = start + count * sizeof(T);
        return memory ? reinterpret_cast<T *>((char *)memory + start) : nullptr;
    }
    // True if the call is over: it only asked for the size, or the storage is too small.
    bool done(cudaError_t *error)
    {
        *error = memory && *bytes < used ? cudaErrorInvalidValue : cudaSuccess;
        if (!memory) *bytes = used ? used : 1;
        return !memory || *error != cudaSuccess;
    }
};

#define KFCPU_TEMPORARY                     \
    KfcpuStorage storage(temporary, bytes); \
    cudaError_t error
#define KFCPU_ALLOCATED \
    if (storage.done(&error)) return error

namespace kfcpu_details
{
using namespace ::kfcpu::library;

template <class T> struct limits {
    static T lowest() { return std::numeric_limits<T>::lowest(); }
    static T max() { return std::numeric_limits<T>::max(); }
};
template <> struct limits<__half> {
    static __half lowest() { return __ushort_as_half(0xfbff); }
    static __half max() { return __ushort_as_half(0x7bff); }
};
template <> struct limits<__nv_bfloat16> {
    static __nv_bfloat16 lowest() { return __ushort_as_bfloat16(0xff7f); }
    static __nv_bfloat16 max() { return __ushort_as_bfloat16(0x7f7f); }
};
} // namespace kfcpu_details

// ---- reductions ----

struct DeviceReduce {
    template <class In, class Out, class Num, class Op, class Init>
    static cudaError_t Reduce(void *temporary, size_t &bytes, In in, Out out, Num n, Op op,
                              Init init, cudaStream_t stream = nullptr)
    {
        using T = kfcpu_details::result_of<Op, Init, kfcpu_details::value_of<In>>;
        KFCPU_TEMPORARY;
        T *partial = storage.take<T>(kfcpu_details::MAX_PARTS);
        KFCPU_ALLOCATED;
        return kfcpu_details::reduce(stream, in, (size_t)n, out, op, init, partial);
    }
    template <class In, class Out, class Num>
    static cudaError_t Sum(void *temporary, size_t &bytes, In in, Out out, Num n,
                           cudaStream_t stream = nullptr)
    {
        using T = kfcpu_details::output_value<Out, kfcpu_details::value_of<In>>;
        return Reduce(temporary, bytes, in, out, n, ::cub::Sum(), T(), stream);
    }
    template <class In, class Out, class Num>
    static cudaError_t Min(void *temporary, size_t &bytes, In in, Out out, Num n,
                           cudaStream_t stream = nullptr)
    {
        using T = kfcpu_details::value_of<In>;
        return Reduce(temporary, bytes, in, out, n, ::cub::Min(), kfcpu_details::limits<T>::max(),
                      stream);
    }
    template <class In, class Out, class Num>
    static cudaError_t Max(void *temporary, size_t &bytes, In in, Out out, Num n,
                           cudaStream_t stream = nullptr)
    {
        using T = kfcpu_details::value_of<In>;
        return Reduce(temporary, bytes, in, out, n, ::cub::Max(),
                      kfcpu_details::limits<T>::lowest(), stream);
    }
    template <class In, class Out, class Num>
    static cudaError_t ArgMin(void *temporary, size_t &bytes, In in, Out out, Num n,
                              cudaStream_t stream = nullptr)
    {
        return arg(temporary, bytes, in, out, n, ::cub::ArgMin(), stream);
    }
    template <class In, class Out, class Num>
    static cudaError_t ArgMax(void *temporary, size_t &bytes, In in, Out out, Num n,
                              cudaStream_t stream = nullptr)
    {
        return arg(temporary, bytes, in, out, n, ::cub::ArgMax(), stream);
    }
    // The extreme value and its index, apart.
    template <class In, class Extremum, class Index>
    static cudaError_t ArgMin(void *temporary, size_t &bytes, In in, Extremum value, Index index,
                              int64_t n, cudaStream_t stream = nullptr)
    {
        return arg_apart(temporary, bytes, in, value, index, n, ::cub::ArgMin(), stream);
    }
    template <class In, class Extremum, class Index>
    static cudaError_t ArgMax(void *temporary, size_t &bytes, In in, Extremum value, Index index,
                              int64_t n, cudaStream_t stream = nullptr)
    {
        return arg_apart(temporary, bytes, in, value, index, n, ::cub::ArgMax(), stream);
    }
    template <class In, class Out, class Num, class Op, class Transform, class Init>
    static cudaError_t TransformReduce(void *temporary, size_t &bytes, In in, Out out, Num n, Op op,
                                       Transform transform, Init init,
                                       cudaStream_t stream = nullptr)
    {
        using T = kfcpu_details::result_of<Transform, kfcpu_details::value_of<In>>;
        return Reduce(temporary, bytes, TransformInputIterator<T, Transform, In>(in, transform),
                      out, n, op, init, stream);
    }
    template <class Keys, class Unique, class Values, class Sums, class Count, class Op, class Num>
    static cudaError_t ReduceByKey(void *temporary, size_t &bytes, Keys keys, Unique unique,
                                   Values values, Sums sums, Count count, Op op, Num n,
                                   cudaStream_t stream = nullptr)
    {
        using T = kfcpu_details::value_of<Values>;
        KFCPU_TEMPORARY;
        KFCPU_ALLOCATED;
        return kfcpu_details::launch(stream, 1, [=](unsigned) mutable {
            int64_t runs = 0;
            for (int64_t i = 0; i < (int64_t)n;) {
                int64_t first = i++;
                T total = values[first];
                for (; i < (int64_t)n && keys[i] == keys[first]; i++) total = op(total, values[i]);
                unique[runs] = keys[first];
                sums[runs++] = total;
            }
            *count = runs;
        });
    }

  private:
    template <class In, class Out, class Num, class Op>
    static cudaError_t arg(void *temporary, size_t &bytes, In in, Out out, Num n, Op op,
                           cudaStream_t stream)
    {
        using Pair =
            kfcpu_details::output_value<Out, KeyValuePair<int, kfcpu_details::value_of<In>>>;
        KFCPU_TEMPORARY;
        KFCPU_ALLOCATED;
        return kfcpu_details::launch(stream, 1, [=](unsigned) mutable {
            Pair best(1, n > 0 ? in[0] : typename Pair::Value());
            best.key = 0;
            for (Num i = 1; i < n; i++)
                best = op(best, Pair(typename Pair::Key(i), typename Pair::Value(in[i])));
            *out = best;
        });
    }
    template <class In, class Extremum, class Index, class Op>
    static cudaError_t arg_apart(void *temporary, size_t &bytes, In in, Extremum value, Index index,
                                 int64_t n, Op op, cudaStream_t stream)
    {
        using Pair = KeyValuePair<int64_t, kfcpu_details::value_of<In>>;
        KFCPU_TEMPORARY;
        KFCPU_ALLOCATED;
        return kfcpu_details::launch(stream, 1, [=](unsigned) mutable {
            Pair best(0, in[0]);
            for (int64_t i = 1; i < n; i++) best = op(best, Pair(i, in[i]));
            *value = best.value;
            *index = best.key;
        });
    }
};

struct DeviceSegmentedReduce {
    template <class In, class Out, class Begin, class End, class Op, class Init>
    static cudaError_t Reduce(void *temporary, size_t &bytes, In in, Out out, int64_t segments,
                              Begin begin, End end, Op op, Init init, cudaStream_t stream = nullptr)
    {
        using T = kfcpu_details::result_of<Op, Init, kfcpu_details::value_of<In>>;
        KFCPU_TEMPORARY;
        KFCPU_ALLOCATED;
        // A segment may be long: parts have few of them.
        size_t n = (size_t)segments, parts = n < 64 ? n : 64;
        if (!n) return cudaSuccess;
        return kfcpu_details::launch(stream, (unsigned)parts, [=](unsigned part) mutable {
            for (size_t s = n * part / parts; s < n * (part + 1) / parts; s++) {
                size_t first = (size_t)begin[s], last = (size_t)end[s];
                T total = init;
                if (first < last) total = op(total, kfcpu_details::fold<T>(in, first, last, op));
                out[s] = total;
            }
        });
    }
    template <class In, class Out, class Begin, class End>
    static cudaError_t Sum(void *temporary, size_t &bytes, In in, Out out, int64_t segments,
                           Begin begin, End end, cudaStream_t stream = nullptr)
    {
        using T = kfcpu_details::output_value<Out, kfcpu_details::value_of<In>>;
        return Reduce(temporary, bytes, in, out, segments, begin, end, ::cub::Sum(), T(), stream);
    }
    template <class In, class Out, class Begin, class End>
    static cudaError_t Min(void *temporary, size_t &bytes, In in, Out out, int64_t segments,
                           Begin begin, End end, cudaStream_t stream = nullptr)
    {
        using T = kfcpu_details::value_of<In>;
        return Reduce(temporary, bytes, in, out, segments, begin, end, ::cub::Min(),
                      kfcpu_details::limits<T>::max(), stream);
    }
    template <class In, class Out, class Begin, class End>
    static cudaError_t Max(void *temporary, size_t &bytes, In in, Out out, int64_t segments,
                           Begin begin, End end, cudaStream_t stream = nullptr)
    {
        using T = kfcpu_details::value_of<In>;
        return Reduce(temporary, bytes, in, out, segments, begin, end, ::cub::Max(),
                      kfcpu_details::limits<T>::lowest(), stream);
    }
};

// ---- scans ----

struct DeviceScan {
    template <class In, class Out, class Op, class Init, class Num>
    static cudaError_t ExclusiveScan(void *temporary, size_t &bytes, In in, Out out, Op op,
                                     Init init, Num n, cudaStream_t stream = nullptr)
    {
        return scan<true, true>(temporary, bytes, in, out, op, init, n, stream);
    }
    template <class In, class Op, class Init, class Num,
              class = std::enable_if_t<std::is_integral<Num>::value>>
    static cudaError_t ExclusiveScan(void *temporary, size_t &bytes, In in, Op op, Init init, Num n,
                                     cudaStream_t stream = nullptr)
    {
        return scan<true, true>(temporary, bytes, in, in, op, init, n, stream);
    }
    template <class In, class Out, class Op, class Num>
    static cudaError_t InclusiveScan(void *temporary, size_t &bytes, In in, Out out, Op op, Num n,
                                     cudaStream_t stream = nullptr)
    {
        return scan<false, false>(temporary, bytes, in, out, op, 0, n, stream);
    }
    template <class In, class Out, class Op, class Init, class Num>
    static cudaError_t InclusiveScanInit(void *temporary, size_t &bytes, In in, Out out, Op op,
                                         Init init, Num n, cudaStream_t stream = nullptr)
    {
        return scan<false, true>(temporary, bytes, in, out, op, init, n, stream);
    }
    template <class In, class Out, class Num>
    static cudaError_t ExclusiveSum(void *temporary, size_t &bytes, In in, Out out, Num n,
                                    cudaStream_t stream = nullptr)
    {
        return scan<true, true>(temporary, bytes, in, out, ::cub::Sum(),
                                kfcpu_details::value_of<In>(), n, stream);
    }
    template <class In, class Out, class Num>
    static cudaError_t InclusiveSum(void *temporary, size_t &bytes, In in, Out out, Num n,
                                    cudaStream_t stream = nullptr)
    {
        return scan<false, false>(temporary, bytes, in, out, ::cub::Sum(), 0, n, stream);
    }
    // In place.
    template <class Data, class Num, class = std::enable_if_t<std::is_integral<Num>::value>>
    static cudaError_t ExclusiveSum(void *temporary, size_t &bytes, Data data, Num n,
                                    cudaStream_t stream = nullptr)
    {
        return ExclusiveSum(temporary, bytes, data, data, n, stream);
    }
    template <class Data, class Num, class = std::enable_if_t<std::is_integral<Num>::value>>
    static cudaError_t InclusiveSum(void *temporary, size_t &bytes, Data data, Num n,
                                    cudaStream_t stream = nullptr)
    {
        return InclusiveSum(temporary, bytes, data, data, n, stream);
    }
    template <class Keys, class In, class Out, class Num>
    static cudaError_t InclusiveSumByKey(void *temporary, size_t &bytes, Keys keys, In in, Out out,
                                         Num n, cudaStream_t stream = nullptr)
    {
        return by_key<false>(temporary, bytes, keys, in, out, ::cub::Sum(),
                             kfcpu_details::value_of<In>(), n, stream);
    }
    template <class Keys, class In, class Out, class Num>
    static cudaError_t ExclusiveSumByKey(void *temporary, size_t &bytes, Keys keys, In in, Out out,
                                         Num n, cudaStream_t stream = nullptr)
    {
        return by_key<true>(temporary, bytes, keys, in, out, ::cub::Sum(),
                            kfcpu_details::value_of<In>(), n, stream);
    }

  private:
    template <bool exclusive, bool with_start, class In, class Out, class Op, class Init, class Num>
    static cudaError_t scan(void *temporary, size_t &bytes, In in, Out out, Op op, Init init, Num n,
                            cudaStream_t stream)
    {
        using Value = kfcpu_details::value_of<In>;
        using T = kfcpu_details::result_of<Op, std::conditional_t<with_start, Init, Value>, Value>;
        KFCPU_TEMPORARY;
        T *partial = storage.take<T>(kfcpu_details::MAX_PARTS);
        KFCPU_ALLOCATED;
        return kfcpu_details::scan<T, exclusive, with_start>(stream, in, out, (size_t)n, op, init,
                                                             partial);
    }
    template <bool exclusive, class Keys, class In, class Out, class Op, class Init, class Num>
    static cudaError_t by_key(void *temporary, size_t &bytes, Keys keys, In in, Out out, Op op,
                              Init init, Num n, cudaStream_t stream)
    {
        using T = kfcpu_details::value_of<In>;
        KFCPU_TEMPORARY;
        KFCPU_ALLOCATED;
        return kfcpu_details::launch(stream, 1, [=](unsigned) mutable {
            T total = init;
            for (int64_t i = 0; i < (int64_t)n; i++) {
                if (i && !(keys[i] == keys[i - 1])) total = init;
                T value = in[i];
                if (exclusive) out[i] = total;
                total = op(total, value);
                if (!exclusive) out[i] = total;
            }
        });
    }
};

// ---- sorts ----

namespace kfcpu_details
{
// Sorts segments of a range. Without offsets, all is one segment.
template <bool descending, class Key, class Value>
cudaError_t sort(void *temporary, size_t &bytes, const Key *keys, Key *keys_out,
                 const Value *values, Value *values_out, int64_t n, int begin, int end,
                 cudaStream_t stream)
{
    constexpr bool pairs = !std::is_same<Value, NullType>::value;
    KFCPU_TEMPORARY;
    Key *other = storage.take<Key>((size_t)n);
    Value *other_values = storage.take<Value>(pairs ? (size_t)n : 0);
    KFCPU_ALLOCATED;
    return launch(stream, 1, [=](unsigned) {
        Key *const key_to[2] = {keys_out, other};
        Value *const value_to[2] = {values_out, other_values};
        radix_sort<descending>(keys, values, key_to, value_to, (size_t)n, begin, end);
    });
}
template <bool descending, class Key, class Value>
cudaError_t sort(void *temporary, size_t &bytes, DoubleBuffer<Key> &keys,
                 DoubleBuffer<Value> &values, int64_t n, int begin, int end, cudaStream_t stream)
{
    constexpr bool pairs = !std::is_same<Value, NullType>::value;
    KFCPU_TEMPORARY;
    KFCPU_ALLOCATED;
    // The last of an even number of passes ends in the current buffer.
    int to = (end - begin + 7) / 8 % 2 ? keys.selector ^ 1 : keys.selector;
    int values_to = (end - begin + 7) / 8 % 2 ? values.selector ^ 1 : values.selector;
    if (end <= begin) return cudaSuccess;
    Key *from = keys.Current(), *key_to[2] = {keys.d_buffers[to], keys.d_buffers[to ^ 1]};
    Value *values_from = pairs ? values.Current() : nullptr;
    Value *value_to[2] = {values.d_buffers[values_to], values.d_buffers[values_to ^ 1]};
    keys.selector = to;
    if (pairs) values.selector = values_to;
    return launch(stream, 1, [=](unsigned) {
        radix_sort<descending>(from, values_from, key_to, value_to, (size_t)n, begin, end);
    });
}
template <bool descending, class Key, class Value, class Begin, class End>
cudaError_t sort_segments(void *temporary, size_t &bytes, const Key *keys, Key *keys_out,
                          const Value *values, Value *values_out, int64_t n, int64_t segments,
                          Begin first, End last, int begin, int end, cudaStream_t stream)
{
    constexpr bool pairs = !std::is_same<Value, NullType>::value;
    KFCPU_TEMPORARY;
    Key *other = storage.take<Key>((size_t)n);
    Value *other_values = storage.take<Value>(pairs ? (size_t)n : 0);
    KFCPU_ALLOCATED;
    size_t count = (size_t)segments, parts = count < 64 ? count : 64;
    if (!count) return cudaSuccess;
    return launch(stream, (unsigned)parts, [=](unsigned part) {
        for (size_t s = count * part / parts; s < count * (part + 1) / parts; s++) {
            int64_t at = (int64_t)first[s], size = (int64_t)last[s] - at;
            if (size <= 0) continue;
            Key *const key_to[2] = {keys_out + at, other + at};
            Value *const value_to[2] = {pairs ? values_out + at : nullptr,
                                        pairs ? other_values + at : nullptr};
            radix_sort<descending>(keys + at, pairs ? values + at : nullptr, key_to, value_to,
                                   (size_t)size, begin, end);
        }
    });
}
} // namespace kfcpu_details

struct DeviceRadixSort {
#define KFCPU_SORT(keys_name, pairs_name, descending)                                             \
    template <class Key, class Num>                                                               \
    static cudaError_t keys_name(void *temporary, size_t &bytes, const Key *keys, Key *keys_out,  \
                                 Num n, int begin = 0, int end = 8 * sizeof(Key),                 \
                                 cudaStream_t stream = nullptr)                                   \
    {                                                                                             \
        return kfcpu_details::sort<descending>(temporary, bytes, keys, keys_out,                  \
                                               (const NullType *)nullptr, (NullType *)nullptr,    \
                                               (int64_t)n, begin, end, stream);                   \
    }                                                                                             \
    template <class Key, class Num>                                                               \
    static cudaError_t keys_name(void *temporary, size_t &bytes, DoubleBuffer<Key> &keys, Num n,  \
                                 int begin = 0, int end = 8 * sizeof(Key),                        \
                                 cudaStream_t stream = nullptr)                                   \
    {                                                                                             \
        DoubleBuffer<NullType> values;                                                            \
        return kfcpu_details::sort<descending>(temporary, bytes, keys, values, (int64_t)n, begin, \
                                               end, stream);                                      \
    }                                                                                             \
    template <class Key, class Value, class Num>                                                  \
    static cudaError_t pairs_name(void *temporary, size_t &bytes, const Key *keys, Key *keys_out, \
                                  const Value *values, Value *values_out, Num n, int begin = 0,   \
                                  int end = 8 * sizeof(Key), cudaStream_t stream = nullptr)       \
    {                                                                                             \
        return kfcpu_details::sort<descending>(temporary, bytes, keys, keys_out, values,          \
                                               values_out, (int64_t)n, begin, end, stream);       \
    }                                                                                             \
    template <class Key, class Value, class Num>                                                  \
    static cudaError_t pairs_name(void *temporary, size_t &bytes, DoubleBuffer<Key> &keys,        \
                                  DoubleBuffer<Value> &values, Num n, int begin = 0,              \
                                  int end = 8 * sizeof(Key), cudaStream_t stream = nullptr)       \
    {                                                                                             \
        return kfcpu_details::sort<descending>(temporary, bytes, keys, values, (int64_t)n, begin, \
                                               end, stream);                                      \
    }
    KFCPU_SORT(SortKeys, SortPairs, false)
    KFCPU_SORT(SortKeysDescending, SortPairsDescending, true)
#undef KFCPU_SORT
};

#define KFCPU_SORT_SEGMENTS(keys_name, pairs_name, descending, parameters, begin, end)             \
    template <class Key, class Num, class Count, class Begin, class End>                           \
    static cudaError_t keys_name(void *temporary, size_t &bytes, const Key *keys, Key *keys_out,   \
                                 Num n, Count segments, Begin first,                               \
                                 End last KFCPU_UNPACK parameters cudaStream_t stream = nullptr)   \
    {                                                                                              \
        return kfcpu_details::sort_segments<descending>(                                           \
            temporary, bytes, keys, keys_out, (const NullType *)nullptr, (NullType *)nullptr,      \
            (int64_t)n, (int64_t)segments, first, last, begin, end, stream);                       \
    }                                                                                              \
    template <class Key, class Value, class Num, class Count, class Begin, class End>              \
    static cudaError_t pairs_name(void *temporary, size_t &bytes, const Key *keys, Key *keys_out,  \
                                  const Value *values, Value *values_out, Num n, Count segments,   \
                                  Begin first,                                                     \
                                  End last KFCPU_UNPACK parameters cudaStream_t stream = nullptr)  \
    {                                                                                              \
        return kfcpu_details::sort_segments<descending>(temporary, bytes, keys, keys_out, values,  \
                                                        values_out, (int64_t)n, (int64_t)segments, \
                                                        first, last, begin, end, stream);          \
    }
#define KFCPU_UNPACK(...) __VA_ARGS__
#define KFCPU_BITS (, int begin = 0, int end = 8 * sizeof(Key), )
struct DeviceSegmentedRadixSort {
    KFCPU_SORT_SEGMENTS(SortKeys, SortPairs, false, KFCPU_BITS, begin, end)
    KFCPU_SORT_SEGMENTS(SortKeysDescending, SortPairsDescending, true, KFCPU_BITS, begin, end)
};
struct DeviceSegmentedSort {
    KFCPU_SORT_SEGMENTS(SortKeys, SortPairs, false, (, ), 0, 8 * sizeof(Key))
    KFCPU_SORT_SEGMENTS(SortKeysDescending, SortPairsDescending, true, (, ), 0, 8 * sizeof(Key))
    KFCPU_SORT_SEGMENTS(StableSortKeys, StableSortPairs, false, (, ), 0, 8 * sizeof(Key))
    KFCPU_SORT_SEGMENTS(StableSortKeysDescending, StableSortPairsDescending, true, (, ), 0,
                        8 * sizeof(Key))
};
#undef KFCPU_SORT_SEGMENTS
#undef KFCPU_UNPACK
#undef KFCPU_BITS

struct DeviceMergeSort {
    template <class Keys, class Num, class Less>
    static cudaError_t SortKeys(void *temporary, size_t &bytes, Keys keys, Num n, Less less,
                                cudaStream_t stream = nullptr)
    {
        KFCPU_TEMPORARY;
        KFCPU_ALLOCATED;
        return kfcpu_details::launch(
            stream, 1, [=](unsigned) { std::stable_sort(keys, keys + (ptrdiff_t)n, less); });
    }
    template <class Keys, class Values, class Num, class Less>
    static cudaError_t SortPairs(void *temporary, size_t &bytes, Keys keys, Values values, Num n,
                                 Less less, cudaStream_t stream = nullptr)
    {
        using Key = kfcpu_details::value_of<Keys>;
        using Value = kfcpu_details::value_of<Values>;
        KFCPU_TEMPORARY;
        auto *both = storage.take<std::pair<Key, Value>>((size_t)n);
        KFCPU_ALLOCATED;
        return kfcpu_details::launch(stream, 1, [=](unsigned) {
            for (Num i = 0; i < n; i++) ::new (&both[i]) std::pair<Key, Value>(keys[i], values[i]);
            std::stable_sort(both, both + n, [less](const auto &a, const auto &b) {
                return less(a.first, b.first);
            });
            for (Num i = 0; i < n; i++) keys[i] = both[i].first, values[i] = both[i].second;
        });
    }
    template <class Keys, class Num, class Less>
    static cudaError_t StableSortKeys(void *temporary, size_t &bytes, Keys keys, Num n, Less less,
                                      cudaStream_t stream = nullptr)
    {
        return SortKeys(temporary, bytes, keys, n, less, stream);
    }
    template <class Keys, class Values, class Num, class Less>
    static cudaError_t StableSortPairs(void *temporary, size_t &bytes, Keys keys, Values values,
                                       Num n, Less less, cudaStream_t stream = nullptr)
    {
        return SortPairs(temporary, bytes, keys, values, n, less, stream);
    }
};

// ---- selections ----

namespace kfcpu_details
{
// Copies the elements for which keep(i) is true to the front. With `rest`, the others go to the
// end in reverse order.
template <bool rest, class In, class Out, class Count, class Keep>
cudaError_t select(void *temporary, size_t &bytes, In in, Out out, Count count, int64_t n,
                   Keep keep, cudaStream_t stream)
{
    KFCPU_TEMPORARY;
    KFCPU_ALLOCATED;
    return launch(stream, 1, [=](unsigned) mutable {
        int64_t kept = 0;
        for (int64_t i = 0; i < n; i++) {
            if (keep(i))
                out[kept++] = in[i];
            else if (rest)
                out[n - 1 - (i - kept)] = in[i];
        }
        *count = kept;
    });
}
} // namespace kfcpu_details

struct DeviceSelect {
    template <class In, class Flags, class Out, class Count, class Num>
    static cudaError_t Flagged(void *temporary, size_t &bytes, In in, Flags flags, Out out,
                               Count count, Num n, cudaStream_t stream = nullptr)
    {
        return kfcpu_details::select<false>(
            temporary, bytes, in, out, count, (int64_t)n, [=](int64_t i) { return bool(flags[i]); },
            stream);
    }
    template <class In, class Out, class Count, class Num, class Op>
    static cudaError_t If(void *temporary, size_t &bytes, In in, Out out, Count count, Num n, Op op,
                          cudaStream_t stream = nullptr)
    {
        return kfcpu_details::select<false>(
            temporary, bytes, in, out, count, (int64_t)n,
            [=](int64_t i) mutable { return bool(op(in[i])); }, stream);
    }
    template <class In, class Out, class Count, class Num>
    static cudaError_t Unique(void *temporary, size_t &bytes, In in, Out out, Count count, Num n,
                              cudaStream_t stream = nullptr)
    {
        return kfcpu_details::select<false>(
            temporary, bytes, in, out, count, (int64_t)n,
            [=](int64_t i) { return i == 0 || !(in[i] == in[i - 1]); }, stream);
    }
    template <class Keys, class Values, class KeysOut, class ValuesOut, class Count, class Num>
    static cudaError_t UniqueByKey(void *temporary, size_t &bytes, Keys keys, Values values,
                                   KeysOut keys_out, ValuesOut values_out, Count count, Num n,
                                   cudaStream_t stream = nullptr)
    {
        KFCPU_TEMPORARY;
        KFCPU_ALLOCATED;
        return kfcpu_details::launch(stream, 1, [=](unsigned) mutable {
            int64_t kept = 0;
            for (int64_t i = 0; i < (int64_t)n; i++) {
                if (i && keys[i] == keys[i - 1]) continue;
                keys_out[kept] = keys[i];
                values_out[kept++] = values[i];
            }
            *count = kept;
        });
    }
};

struct DevicePartition {
    template <class In, class Flags, class Out, class Count, class Num>
    static cudaError_t Flagged(void *temporary, size_t &bytes, In in, Flags flags, Out out,
                               Count count, Num n, cudaStream_t stream = nullptr)
    {
        return kfcpu_details::select<true>(
            temporary, bytes, in, out, count, (int64_t)n, [=](int64_t i) { return bool(flags[i]); },
            stream);
    }
    template <class In, class Out, class Count, class Num, class Op>
    static cudaError_t If(void *temporary, size_t &bytes, In in, Out out, Count count, Num n, Op op,
                          cudaStream_t stream = nullptr)
    {
        return kfcpu_details::select<true>(
            temporary, bytes, in, out, count, (int64_t)n,
            [=](int64_t i) mutable { return bool(op(in[i])); }, stream);
    }
};

struct DeviceRunLengthEncode {
    template <class In, class Unique, class Counts, class Count, class Num>
    static cudaError_t Encode(void *temporary, size_t &bytes, In in, Unique unique, Counts counts,
                              Count count, Num n, cudaStream_t stream = nullptr)
    {
        KFCPU_TEMPORARY;
        KFCPU_ALLOCATED;
        return kfcpu_details::launch(stream, 1, [=](unsigned) mutable {
            int64_t runs = 0;
            for (int64_t i = 0; i < (int64_t)n; runs++) {
                int64_t first = i++;
                while (i < (int64_t)n && in[i] == in[first]) i++;
                unique[runs] = in[first];
                counts[runs] = i - first;
            }
            *count = runs;
        });
    }
};

// ---- histograms and loops ----

struct DeviceHistogram {
    template <class In, class Counter, class Level, class Num>
    static cudaError_t HistogramEven(void *temporary, size_t &bytes, In in, Counter *histogram,
                                     int levels, Level lower, Level upper, Num n,
                                     cudaStream_t stream = nullptr)
    {
        KFCPU_TEMPORARY;
        KFCPU_ALLOCATED;
        return kfcpu_details::launch(stream, 1, [=](unsigned) {
            for (int bin = 0; bin + 1 < levels; bin++) histogram[bin] = 0;
            for (int64_t i = 0; i < (int64_t)n; i++) {
                auto value = in[i];
                if (value < lower || !(value < upper)) continue;
                int bin;
                if constexpr (std::is_integral<Level>::value)
                    bin = int(uint64_t(value - lower) * uint64_t(levels - 1) /
                              uint64_t(upper - lower));
                else
                    bin = int((value - lower) * (Level(levels - 1) / (upper - lower)));
                histogram[bin < levels - 1 ? bin : levels - 2]++;
            }
        });
    }
    template <class In, class Counter, class Level, class Num>
    static cudaError_t HistogramRange(void *temporary, size_t &bytes, In in, Counter *histogram,
                                      int count, const Level *levels, Num n,
                                      cudaStream_t stream = nullptr)
    {
        KFCPU_TEMPORARY;
        KFCPU_ALLOCATED;
        return kfcpu_details::launch(stream, 1, [=](unsigned) {
            for (int bin = 0; bin + 1 < count; bin++) histogram[bin] = 0;
            for (int64_t i = 0; i < (int64_t)n; i++) {
                ptrdiff_t bin = std::upper_bound(levels, levels + count, in[i]) - levels - 1;
                if (bin >= 0 && bin + 1 < count) histogram[bin]++;
            }
        });
    }
};

struct DeviceFor {
    template <class Num, class Op>
    static cudaError_t Bulk(Num n, Op op, cudaStream_t stream = nullptr)
    {
        return kfcpu_details::each(stream, (size_t)n, [=](size_t i) mutable { op((Num)i); });
    }
    template <class Iterator, class Num, class Op>
    static cudaError_t ForEachN(Iterator first, Num n, Op op, cudaStream_t stream = nullptr)
    {
        return kfcpu_details::each(stream, (size_t)n, [=](size_t i) mutable { op(first[i]); });
    }
    template <class Iterator, class Op>
    static cudaError_t ForEach(Iterator first, Iterator end, Op op, cudaStream_t stream = nullptr)
    {
        return ForEachN(first, end - first, op, stream);
    }
};

#undef KFCPU_TEMPORARY
#undef KFCPU_ALLOCATED

} // namespace cub
