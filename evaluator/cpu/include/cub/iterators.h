// CUB's iterators.
#pragma once
#include "operators.h"

namespace cub
{

template <class Self, class Value, class Offset>
using KfcpuIterator = ::kfcpu::library::iterator_base<Self, Value, Value, Offset>;

template <class T, class Offset = ptrdiff_t>
struct CountingInputIterator : KfcpuIterator<CountingInputIterator<T, Offset>, T, Offset> {
    T value;
    CountingInputIterator(const T &first) : value(first) {}
    T operator[](Offset n) const { return T(value + T(n)); }
    void move(Offset n) { value = T(value + T(n)); }
};

template <class T, class Offset = ptrdiff_t>
struct ConstantInputIterator : KfcpuIterator<ConstantInputIterator<T, Offset>, T, Offset> {
    T value;
    ConstantInputIterator(const T &given, Offset = 0) : value(given) {}
    T operator[](Offset) const { return value; }
    void move(Offset) {}
};

template <class T, class Op, class Iterator, class Offset = ptrdiff_t>
struct TransformInputIterator
    : KfcpuIterator<TransformInputIterator<T, Op, Iterator, Offset>, T, Offset> {
    Iterator at;
    Op op;
    TransformInputIterator(Iterator in, Op given) : at(in), op(given) {}
    T operator[](Offset n) const { return Op(op)(at[n]); }
    void move(Offset n) { at = at + n; }
};

template <CacheLoadModifier modifier, class T, class Offset = ptrdiff_t>
struct CacheModifiedInputIterator
    : KfcpuIterator<CacheModifiedInputIterator<modifier, T, Offset>, T, Offset> {
    const T *at;
    CacheModifiedInputIterator(const T *in) : at(in) {}
    T operator[](Offset n) const { return at[n]; }
    void move(Offset n) { at += n; }
};

template <class Iterator, class Offset = ptrdiff_t, class T = ::kfcpu::library::value_of<Iterator>>
struct ArgIndexInputIterator
    : KfcpuIterator<ArgIndexInputIterator<Iterator, Offset, T>, KeyValuePair<Offset, T>, Offset> {
    Iterator at;
    Offset offset;
    ArgIndexInputIterator(Iterator in, Offset first = 0) : at(in), offset(first) {}
    KeyValuePair<Offset, T> operator[](Offset n) const
    {
        return KeyValuePair<Offset, T>(offset + n, at[offset + n]);
    }
    void move(Offset n) { offset += n; }
};

} // namespace cub
