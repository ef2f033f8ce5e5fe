// reduce over a group, and its operators.
#pragma once
#define _COOPERATIVE_GROUPS_REDUCE_H
#include "../cooperative_groups.h"
#ifndef KFCPU_CG_REDUCE
#define KFCPU_CG_REDUCE

namespace cooperative_groups
{

template <class T = void> struct plus {
    T operator()(const T &a, const T &b) const { return a + b; }
};
template <class T = void> struct less {
    T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
template <class T = void> struct greater {
    T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
template <class T = void> struct bit_and {
    T operator()(const T &a, const T &b) const { return a & b; }
};
template <class T = void> struct bit_or {
    T operator()(const T &a, const T &b) const { return a | b; }
};
template <class T = void> struct bit_xor {
    T operator()(const T &a, const T &b) const { return a ^ b; }
};
template <> struct plus<void> {
    template <class T> T operator()(const T &a, const T &b) const { return a + b; }
};
template <> struct less<void> {
    template <class T> T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
template <> struct greater<void> {
    template <class T> T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};

// Reduces in a tree over the ranks, then passes the first rank's value to all threads.
template <class Group, class T, class Op> T reduce(const Group &group, T value, Op &&op)
{
    unsigned size = (unsigned)group.size(), rank = (unsigned)group.thread_rank(), span = 1;
    while (span < size) span *= 2;
    for (unsigned step = span / 2; step; step /= 2) {
        T other = group.shfl_down(value, step);
        if (rank + step < size && rank < step) value = op(value, other);
    }
    return group.shfl(value, 0);
}

template <class Group, class Address, class T, class Op>
void reduce_update_async(const Group &group, Address &destination, T value, Op &&op)
{
    T total = reduce(group, value, op);
    if (group.thread_rank() == 0) {
        T old = destination.load(), next;
        do next = op(old, total);
        while (!destination.compare_exchange_weak(old, next));
    }
}

} // namespace cooperative_groups
#endif
