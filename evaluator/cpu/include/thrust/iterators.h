// Iterators, tuples and operators of Thrust.
#pragma once
#include "vectors.h"

namespace thrust
{

// ---- tuples ----

using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;

// ---- operators ----

#define KFCPU_BINARY(name, result, expression)                                              \
    template <class T = void> struct name {                                                 \
        using first_argument_type = T;                                                      \
        using second_argument_type = T;                                                     \
        using result_type = result;                                                         \
        constexpr result operator()(const T &a, const T &b) const { return expression; }    \
    };                                                                                      \
    template <> struct name<void> {                                                         \
        template <class T, class U> constexpr auto operator()(const T &a, const U &b) const \
        {                                                                                   \
            return expression;                                                              \
        }                                                                                   \
    };
KFCPU_BINARY(plus, T, a + b)
KFCPU_BINARY(minus, T, a - b)
KFCPU_BINARY(multiplies, T, a *b)
KFCPU_BINARY(divides, T, a / b)
KFCPU_BINARY(modulus, T, a % b)
KFCPU_BINARY(maximum, T, a < b ? b : a)
KFCPU_BINARY(minimum, T, b < a ? b : a)
KFCPU_BINARY(bit_and, T, a &b)
KFCPU_BINARY(bit_or, T, a | b)
KFCPU_BINARY(bit_xor, T, a ^ b)
KFCPU_BINARY(equal_to, bool, a == b)
KFCPU_BINARY(not_equal_to, bool, a != b)
KFCPU_BINARY(less, bool, a < b)
KFCPU_BINARY(less_equal, bool, a <= b)
KFCPU_BINARY(greater, bool, b < a)
KFCPU_BINARY(greater_equal, bool, b <= a)
KFCPU_BINARY(logical_and, bool, a &&b)
KFCPU_BINARY(logical_or, bool, a || b)
KFCPU_BINARY(project1st, T, a)
KFCPU_BINARY(project2nd, T, b)
#undef KFCPU_BINARY
#define KFCPU_UNARY(name, result, expression)                                                 \
    template <class T = void> struct name {                                                   \
        using argument_type = T;                                                              \
        using result_type = result;                                                           \
        constexpr result operator()(const T &a) const { return expression; }                  \
    };                                                                                        \
    template <> struct name<void> {                                                           \
        template <class T> constexpr auto operator()(const T &a) const { return expression; } \
    };
KFCPU_UNARY(negate, T, -a)
KFCPU_UNARY(square, T, a *a)
KFCPU_UNARY(identity, T, a)
KFCPU_UNARY(logical_not, bool, !a)
#undef KFCPU_UNARY
template <class Argument, class Result> struct unary_function {
    using argument_type = Argument;
    using result_type = Result;
};
template <class First, class Second, class Result> struct binary_function {
    using first_argument_type = First;
    using second_argument_type = Second;
    using result_type = Result;
};

// ---- iterators ----

template <class Self, class Value, class Reference = Value>
using KfcpuBase = ::kfcpu::library::iterator_base<Self, Value, Reference>;

template <class T, class = void, class = void, class = void>
struct counting_iterator : KfcpuBase<counting_iterator<T>, T> {
    T value;
    counting_iterator(T first = T()) : value(first) {}
    T operator[](ptrdiff_t n) const { return T(value + T(n)); }
    void move(ptrdiff_t n) { value = T(value + T(n)); }
    ptrdiff_t distance(const counting_iterator &b) const { return ptrdiff_t(value - b.value); }
};
template <class T> counting_iterator<T> make_counting_iterator(T first)
{
    return counting_iterator<T>(first);
}

template <class T> struct constant_iterator : KfcpuBase<constant_iterator<T>, T> {
    T value;
    ptrdiff_t place;
    constant_iterator(T given, ptrdiff_t first = 0) : value(given), place(first) {}
    T operator[](ptrdiff_t) const { return value; }
    void move(ptrdiff_t n) { place += n; }
    ptrdiff_t distance(const constant_iterator &b) const { return place - b.place; }
};
template <class T> constant_iterator<T> make_constant_iterator(T value)
{
    return constant_iterator<T>(value);
}

struct KfcpuIgnore {
    template <class T> const KfcpuIgnore &operator=(T &&) const { return *this; }
};
template <class = void> struct discard_iterator : KfcpuBase<discard_iterator<>, KfcpuIgnore> {
    ptrdiff_t place;
    discard_iterator(ptrdiff_t first = 0) : place(first) {}
    KfcpuIgnore operator[](ptrdiff_t) const { return {}; }
    void move(ptrdiff_t n) { place += n; }
    ptrdiff_t distance(const discard_iterator &b) const { return place - b.place; }
};
inline discard_iterator<> make_discard_iterator()
{
    return {};
}

template <class Op, class Iterator, class = void, class = void>
struct transform_iterator
    : KfcpuBase<
          transform_iterator<Op, Iterator>,
          ::kfcpu::library::result_of<Op, typename std::iterator_traits<Iterator>::reference>> {
    Iterator at;
    Op op;
    transform_iterator(Iterator in, Op given = Op()) : at(in), op(given) {}
    auto operator[](ptrdiff_t n) const
    {
        return typename transform_iterator::value_type(Op(op)(at[n]));
    }
    void move(ptrdiff_t n) { at += n; }
    ptrdiff_t distance(const transform_iterator &b) const { return at - b.at; }
    Iterator base() const { return at; }
};
template <class Iterator, class Op>
transform_iterator<Op, Iterator> make_transform_iterator(Iterator in, Op op)
{
    return transform_iterator<Op, Iterator>(in, op);
}

template <class Elements, class Indices>
struct permutation_iterator
    : KfcpuBase<permutation_iterator<Elements, Indices>, ::kfcpu::library::value_of<Elements>,
                typename std::iterator_traits<Elements>::reference> {
    Elements elements;
    Indices indices;
    permutation_iterator(Elements e, Indices i) : elements(e), indices(i) {}
    decltype(auto) operator[](ptrdiff_t n) const { return elements[(ptrdiff_t)indices[n]]; }
    void move(ptrdiff_t n) { indices += n; }
    ptrdiff_t distance(const permutation_iterator &b) const { return indices - b.indices; }
};
template <class Elements, class Indices>
permutation_iterator<Elements, Indices> make_permutation_iterator(Elements e, Indices i)
{
    return permutation_iterator<Elements, Indices>(e, i);
}

template <class Iterator>
struct KfcpuReverse : KfcpuBase<KfcpuReverse<Iterator>, ::kfcpu::library::value_of<Iterator>,
                                typename std::iterator_traits<Iterator>::reference> {
    Iterator end;
    KfcpuReverse(Iterator given) : end(given) {}
    decltype(auto) operator[](ptrdiff_t n) const { return end[-n - 1]; }
    void move(ptrdiff_t n) { end -= n; }
    ptrdiff_t distance(const KfcpuReverse &b) const { return b.end - end; }
};
template <class Iterator> using reverse_iterator = KfcpuReverse<Iterator>;
template <class Iterator> KfcpuReverse<Iterator> make_reverse_iterator(Iterator end)
{
    return KfcpuReverse<Iterator>(end);
}

template <class Tuple> struct zip_iterator;
template <class... I>
struct zip_iterator<std::tuple<I...>>
    : KfcpuBase<zip_iterator<std::tuple<I...>>, std::tuple<::kfcpu::library::value_of<I>...>,
                std::tuple<typename std::iterator_traits<I>::reference...>> {
    using References = std::tuple<typename std::iterator_traits<I>::reference...>;
    std::tuple<I...> all;
    zip_iterator(std::tuple<I...> given) : all(given) {}
    References operator[](ptrdiff_t n) const
    {
        return std::apply([n](const I &...each) { return References(each[n]...); }, all);
    }
    void move(ptrdiff_t n)
    {
        std::apply([n](I &...each) { ((each += n), ...); }, all);
    }
    ptrdiff_t distance(const zip_iterator &b) const
    {
        return ptrdiff_t(std::get<0>(all) - std::get<0>(b.all));
    }
    const std::tuple<I...> &get_iterator_tuple() const { return all; }
};
template <class... I> zip_iterator<std::tuple<I...>> make_zip_iterator(std::tuple<I...> all)
{
    return zip_iterator<std::tuple<I...>>(all);
}
template <class A, class B, class... I>
zip_iterator<std::tuple<A, B, I...>> make_zip_iterator(A a, B b, I... more)
{
    return zip_iterator<std::tuple<A, B, I...>>(std::tuple<A, B, I...>(a, b, more...));
}
// A function of the elements in place of a function of their tuple.
template <class Function> struct zip_function {
    Function function;
    zip_function(Function given) : function(given) {}
    template <class Tuple> decltype(auto) operator()(Tuple &&all) const
    {
        return std::apply(Function(function), all);
    }
};
template <class Function> zip_function<Function> make_zip_function(Function function)
{
    return zip_function<Function>(function);
}

template <class Iterator, class N> void advance(Iterator &at, N n)
{
    at += (ptrdiff_t)n;
}
template <class Iterator> ptrdiff_t distance(Iterator first, Iterator last)
{
    return last - first;
}
template <class Iterator, class N = int> Iterator next(Iterator at, N n = 1)
{
    return at + (ptrdiff_t)n;
}
using std::swap;

} // namespace thrust
