// inclusive_scan and exclusive_scan over a group.
#pragma once
#define _COOPERATIVE_GROUPS_SCAN_H
#include "../cooperative_groups.h"
#include "reduce.h"
#ifndef KFCPU_CG_SCAN
#define KFCPU_CG_SCAN

namespace cooperative_groups
{

template <class Group, class T, class Op> T inclusive_scan(const Group &group, T value, Op &&op)
{
    unsigned size = (unsigned)group.size(), rank = (unsigned)group.thread_rank();
    for (unsigned step = 1; step < size; step *= 2) {
        T other = group.shfl_up(value, step);
        if (rank >= step) value = op(other, value);
    }
    return value;
}
template <class Group, class T> T inclusive_scan(const Group &group, T value)
{
    return inclusive_scan(group, value, plus<T>());
}
// The first thread's result is a value-initialised T. CUDA specifies this only for sums.
template <class Group, class T, class Op> T exclusive_scan(const Group &group, T value, Op &&op)
{
    T before = group.shfl_up(inclusive_scan(group, value, op), 1);
    return group.thread_rank() == 0 ? T{} : before;
}
template <class Group, class T> T exclusive_scan(const Group &group, T value)
{
    return exclusive_scan(group, value, plus<T>());
}

} // namespace cooperative_groups
#endif
