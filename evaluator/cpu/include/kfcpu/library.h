// What CUB and Thrust share here: host calls run as kernels of the stream, so that captures and
// later work see them in order. Within a kernel the same functions run in the calling thread.
#pragma once
#include "../kforge_cpu.h"

namespace kfcpu
{
namespace library
{

// The work of a large range is cut in at most MAX_PARTS parts. The cut depends on the size alone,
// so that sums of floating-point numbers do not depend on the machine.
enum : unsigned { MAX_PARTS = 64, PART = 8192 };

inline unsigned part_count(size_t n)
{
    size_t parts = (n + PART - 1) / PART;
    return parts < 1 ? 1 : parts > MAX_PARTS ? MAX_PARTS : (unsigned)parts;
}

// The form that the rewriter gives kernels (kfcpu_stub.h).
template <class Work> KFCPU_KERNEL void kernel(Work work)
{
    struct kfcpu_body {
        enum { kfcpu_waits = 1 };
        static KFCPU_BODY void run(Work work) { work(blockIdx.x); }
    };
    static ::kfcpu::stub kfcpu_stub("a function of CUB or Thrust", 1);
    ::kfcpu::enter<kfcpu_body>(kfcpu_stub, &kfcpu_body::run, work);
}

// Calls work(number) for each number below `blocks`, as one kernel of the stream.
template <class Work> cudaError_t launch(cudaStream_t stream, unsigned blocks, Work work)
{
    if (kfcpu_in_kernel()) {
        for (unsigned i = 0; i < blocks; i++) work(i);
        return cudaSuccess;
    }
    ::kfcpu::configure(dim3(blocks), dim3(1), 0, stream);
    kernel<Work>(work);
    return cudaPeekAtLastError();
}

// Calls work(part, first, end) for each part of a range.
template <class Work> cudaError_t each_part(cudaStream_t stream, size_t n, Work work)
{
    if (n == 0) return cudaSuccess;
    unsigned parts = part_count(n);
    return launch(stream, parts, [=](unsigned part) mutable {
        work(part, n * part / parts, n * (part + 1) / parts);
    });
}

// Calls work(i) for each i below n.
template <class Work> cudaError_t each(cudaStream_t stream, size_t n, Work work)
{
    return each_part(stream, n, [=](unsigned, size_t first, size_t end) mutable {
        for (size_t i = first; i < end; i++) work(i);
    });
}

template <class Iterator> using value_of = typename std::iterator_traits<Iterator>::value_type;

// The value type of an output iterator, or `Other` if it has none.
template <class Iterator, class Other>
using output_value =
    std::conditional_t<std::is_void<value_of<Iterator>>::value, Other, value_of<Iterator>>;

template <class Op, class... Arguments>
using result_of = std::decay_t<std::invoke_result_t<Op, Arguments...>>;

// Reduces a range that is not empty, in several accumulators at a time: that is faster, and the
// error of a sum grows more slowly. `op` is commutative.
template <class T, class Iterator, class Op> T fold(Iterator in, size_t first, size_t end, Op op)
{
    enum : size_t { LANES = 16 };
    if (end - first < 2 * LANES) {
        T total = in[first];
        for (size_t i = first + 1; i < end; i++) total = op(total, in[i]);
        return total;
    }
    T lanes[LANES];
    for (size_t lane = 0; lane < LANES; lane++) lanes[lane] = in[first + lane];
    size_t i = first + LANES;
    for (; i + LANES <= end; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) lanes[lane] = op(lanes[lane], in[i + lane]);
    for (size_t lane = 0; i < end; i++, lane++) lanes[lane] = op(lanes[lane], in[i]);
    for (size_t step = LANES / 2; step; step /= 2)
        for (size_t lane = 0; lane < step; lane++)
            lanes[lane] = op(lanes[lane], lanes[lane + step]);
    return lanes[0];
}

// *out = init and all elements. `partial` has room for MAX_PARTS values.
template <class T, class In, class Out, class Op, class Init>
cudaError_t reduce(cudaStream_t stream, In in, size_t n, Out out, Op op, Init init, T *partial)
{
    unsigned parts = n ? part_count(n) : 0;
    each_part(stream, n, [=](unsigned part, size_t first, size_t end) {
        ::new (&partial[part]) T(fold<T>(in, first, end, op));
    });
    return launch(stream, 1, [=](unsigned) mutable {
        T total = init;
        for (unsigned part = 0; part < parts; part++) total = op(total, partial[part]);
        *out = total;
    });
}

// out[i] = start and the elements up to i, without element i itself if `exclusive`. Without a
// start, the first result of an inclusive scan is the first element. `out` may be `in`.
template <class T, bool exclusive, bool with_start, class In, class Out, class Op, class Start>
cudaError_t scan(cudaStream_t stream, In in, Out out, size_t n, Op op, Start start, T *partial)
{
    unsigned parts = part_count(n);
    if (parts > 1)
        each_part(stream, n, [=](unsigned part, size_t first, size_t end) {
            T total = in[first];
            for (size_t i = first + 1; i < end; i++) total = op(total, in[i]);
            ::new (&partial[part]) T(total);
        });
    return each_part(stream, n, [=](unsigned part, size_t first, size_t end) mutable {
        bool any = with_start || part > 0;
        T total{};
        if constexpr (with_start)
            total = start;
        else if (part > 0)
            total = partial[0];
        for (unsigned p = with_start ? 0 : 1; p < part; p++) total = op(total, partial[p]);
        for (size_t i = first; i < end; i++) {
            T value = in[i];
            if (exclusive) out[i] = total;
            total = any ? T(op(total, value)) : value;
            any = true;
            if (!exclusive) out[i] = total;
        }
    });
}

// The operators of an iterator over computed values. `Self` has operator[], move(n), and
// distance(from) if iterators are subtracted or compared.
template <class Self, class Value, class Reference = Value, class Offset = ptrdiff_t>
struct iterator_base {
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Value;
    using difference_type = Offset;
    using reference = Reference;
    using pointer = void;
    Self &self() { return static_cast<Self &>(*this); }
    const Self &self() const { return static_cast<const Self &>(*this); }
    Reference operator*() const { return self()[0]; }
    Self &operator+=(Offset n)
    {
        self().move(n);
        return self();
    }
    Self &operator-=(Offset n) { return *this += -n; }
    Self &operator++() { return *this += 1; }
    Self &operator--() { return *this += -1; }
    Self operator++(int)
    {
        Self old = self();
        *this += 1;
        return old;
    }
    Self operator+(Offset n) const
    {
        Self other = self();
        other.move(n);
        return other;
    }
    Self operator-(Offset n) const { return *this + -n; }
    Offset operator-(const Self &b) const { return self().distance(b); }
    bool operator==(const Self &b) const { return self().distance(b) == 0; }
    bool operator!=(const Self &b) const { return self().distance(b) != 0; }
    bool operator<(const Self &b) const { return self().distance(b) < 0; }
};

// ---- sorting by radix ----

// Bits that are in the order of the keys.
template <class Key> struct key_bits {
    using Bits = word_of<Key>;
    static Bits get(Key key)
    {
        Bits bits, top = Bits(Bits(1) << (8 * sizeof(Key) - 1));
        memcpy(&bits, &key, sizeof bits);
        if constexpr (std::is_integral<Key>::value)
            return std::is_signed<Key>::value ? Bits(bits ^ top) : bits;
        if (bits == top) bits = 0; // -0.0 is equal to 0.0
        return bits & top ? Bits(~bits) : Bits(bits | top);
    }
};

struct nothing {
};

template <class Key, bool descending> auto ordered_bits(Key key, int begin, int end)
{
    using Bits = typename key_bits<Key>::Bits;
    Bits bits = key_bits<Key>::get(key);
    if (descending) bits = Bits(~bits);
    if (end < int(8 * sizeof(Key))) bits &= Bits((Bits(1) << end) - 1);
    return Bits(bits >> begin);
}

// Sorts from `keys` and `values` over two pairs of buffers. The last pass writes to the buffers of
// number 0. Returns the number of passes. With `passes_only` it only counts them.
template <bool descending, class Key, class Value, class Keys, class Values>
void radix_sort(Keys keys, Values values, Key *const key_to[2], Value *const value_to[2], size_t n,
                int begin, int end)
{
    constexpr bool pairs = !std::is_same<Value, nothing>::value;
    enum { DIGIT = 8, BUCKETS = 1 << DIGIT };
    int passes = (end - begin + DIGIT - 1) / DIGIT;
    const auto pass = [&](auto from, auto from_values, int number, Key *to, Value *to_values) {
        size_t place[BUCKETS + 1] = {0};
        int low = begin + number * DIGIT, high = low + DIGIT < end ? low + DIGIT : end;
        for (size_t i = 0; i < n; i++)
            place[ordered_bits<Key, descending>(from[i], low, high) + 1]++;
        for (int i = 0; i < BUCKETS; i++) place[i + 1] += place[i];
        for (size_t i = 0; i < n; i++) {
            size_t at = place[ordered_bits<Key, descending>(from[i], low, high)]++;
            to[at] = from[i];
            if constexpr (pairs) to_values[at] = from_values[i];
        }
    };
    if (passes <= 0) {
        for (size_t i = 0; i < n; i++) {
            key_to[0][i] = keys[i];
            if constexpr (pairs) value_to[0][i] = values[i];
        }
        return;
    }
    for (int number = 0; number < passes; number++) {
        int to = (passes - 1 - number) % 2;
        if (number == 0)
            pass(keys, values, 0, key_to[to], value_to[to]);
        else
            pass(key_to[1 - to], value_to[1 - to], number, key_to[to], value_to[to]);
    }
}

} // namespace library
} // namespace kfcpu
