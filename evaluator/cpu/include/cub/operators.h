// Operators, pairs and small functions of CUB.
#pragma once
#include "../kfcpu/library.h"

namespace cub
{

using NullType = ::kfcpu::library::nothing;

struct Sum {
    template <class T, class U> auto operator()(const T &a, const U &b) const { return a + b; }
};
struct Difference {
    template <class T, class U> auto operator()(const T &a, const U &b) const { return a - b; }
};
struct Division {
    template <class T, class U> auto operator()(const T &a, const U &b) const { return a / b; }
};
struct Max {
    template <class T, class U> std::common_type_t<T, U> operator()(const T &a, const U &b) const
    {
        return a < b ? b : a;
    }
};
struct Min {
    template <class T, class U> std::common_type_t<T, U> operator()(const T &a, const U &b) const
    {
        return b < a ? b : a;
    }
};
struct Equality {
    template <class T, class U> bool operator()(const T &a, const U &b) const { return a == b; }
};
struct Inequality {
    template <class T, class U> bool operator()(const T &a, const U &b) const { return a != b; }
};
template <class Op> struct InequalityWrapper {
    Op op;
    InequalityWrapper(Op given) : op(given) {}
    template <class T> bool operator()(const T &a, const T &b) const { return !op(a, b); }
};
template <class T> struct CastOp {
    template <class U> T operator()(const U &a) const { return T(a); }
};

template <class Key_, class Value_> struct KeyValuePair {
    using Key = Key_;
    using Value = Value_;
    Key key;
    Value value;
    KeyValuePair() = default;
    KeyValuePair(const Key &k, const Value &v) : key(k), value(v) {}
    bool operator!=(const KeyValuePair &b) const { return key != b.key || value != b.value; }
    bool operator==(const KeyValuePair &b) const { return !(*this != b); }
};

// The smaller index wins among equal values.
struct ArgMax {
    template <class T, class I>
    KeyValuePair<I, T> operator()(const KeyValuePair<I, T> &a, const KeyValuePair<I, T> &b) const
    {
        return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <class T, class I>
    KeyValuePair<I, T> operator()(const KeyValuePair<I, T> &a, const KeyValuePair<I, T> &b) const
    {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

template <int N> struct Int2Type {
    enum { VALUE = N };
};
template <class T, class U> struct Equals {
    enum { VALUE = std::is_same<T, U>::value, NEGATE = !VALUE };
};
template <bool B, class T, class U> struct If {
    using Type = std::conditional_t<B, T, U>;
};

// Memory of a collective. Shared memory has no constructors.
template <class T, size_t N> struct KfcpuCells {
    alignas(T) unsigned char bytes[N * sizeof(T)];
    T &operator[](size_t i) { return reinterpret_cast<T *>(bytes)[i]; }
};
template <class T> struct Uninitialized {
    alignas(T) unsigned char bytes[sizeof(T)];
    T &Alias() { return reinterpret_cast<T &>(*this); }
};

// The two buffers of a sort, and which of them holds the data.
template <class T> struct DoubleBuffer {
    T *d_buffers[2];
    int selector;
    DoubleBuffer() : d_buffers{nullptr, nullptr}, selector(0) {}
    DoubleBuffer(T *current, T *alternate) : d_buffers{current, alternate}, selector(0) {}
    T *Current() { return d_buffers[selector]; }
    T *Alternate() { return d_buffers[selector ^ 1]; }
};

enum CacheLoadModifier {
    LOAD_DEFAULT,
    LOAD_CA,
    LOAD_CG,
    LOAD_CS,
    LOAD_CV,
    LOAD_LDG,
    LOAD_VOLATILE
};
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };
template <CacheLoadModifier modifier, class Iterator> auto ThreadLoad(Iterator at)
{
    return ::kfcpu::library::value_of<Iterator>(*at);
}
template <CacheStoreModifier modifier, class Iterator, class T>
void ThreadStore(Iterator at, const T &value)
{
    *at = value;
}

inline unsigned LaneId()
{
    return ::kfcpu::lane();
}
inline unsigned WarpId()
{
    return ::kfcpu::thread_rank() / KFCPU_WARP;
}
inline int RowMajorTid(int, int, int)
{
    return (int)::kfcpu::thread_rank();
}

// Passes a value of any size between lanes.
template <class T> T KfcpuShuffle(unsigned mask, const T &value, unsigned source)
{
    static_assert(std::is_trivially_copyable<T>::value, "a warp's values are copied bit by bit");
    unsigned char bytes[(sizeof(T) + 7) / 8 * 8] = {0};
    memcpy(bytes, &value, sizeof value);
    for (size_t i = 0; i < sizeof bytes; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        word = ::kfcpu::shuffle(mask, word, source);
        memcpy(bytes + i, &word, 8);
    }
    T result;
    memcpy(&result, bytes, sizeof result);
    return result;
}
template <int WIDTH, class T> T ShuffleIndex(T value, int source, unsigned mask)
{
    unsigned lane = ::kfcpu::lane(), first = lane / WIDTH * WIDTH;
    return KfcpuShuffle(mask, value, first + (unsigned)source % WIDTH);
}
template <int WIDTH, class T> T ShuffleUp(T value, int offset, int first, unsigned mask)
{
    unsigned lane = ::kfcpu::lane(), at = lane % WIDTH;
    return KfcpuShuffle(mask, value, (int)at - offset < first ? lane : lane - (unsigned)offset);
}
template <int WIDTH, class T> T ShuffleDown(T value, int offset, int last, unsigned mask)
{
    unsigned lane = ::kfcpu::lane(), at = lane % WIDTH;
    return KfcpuShuffle(mask, value, (int)at + offset > last ? lane : lane + (unsigned)offset);
}

namespace internal
{
template <class T, int N, class Op> T ThreadReduce(T (&input)[N], Op op)
{
    T total = input[0];
    for (int i = 1; i < N; i++) total = op(total, input[i]);
    return total;
}
} // namespace internal
using internal::ThreadReduce;

} // namespace cub
