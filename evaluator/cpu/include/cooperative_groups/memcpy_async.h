// memcpy_async: all threads of the group copy together. The copy is complete after wait, the
// group's barrier.
#pragma once
#define _COOPERATIVE_GROUPS_MEMCPY_ASYNC
#include "../cooperative_groups.h"
#ifndef KFCPU_CG_MEMCPY
#define KFCPU_CG_MEMCPY
#include <algorithm>

namespace cooperative_groups
{

template <class Group>
void memcpy_async(const Group &group, void *destination, const void *source, size_t bytes)
{
    size_t threads = group.size(), rank = group.thread_rank(),
           share = ((bytes + threads - 1) / threads + 15) / 16 * 16, begin = rank * share;
    if (begin < bytes)
        memcpy((char *)destination + begin, (const char *)source + begin,
               std::min(share, bytes - begin));
}
template <class Group, class T, class U, class Layout>
void memcpy_async(const Group &group, T *destination, const Layout &, const U *source, size_t count)
{
    memcpy_async(group, (void *)destination, (const void *)source, count * sizeof(T));
}
template <class Group, class T, class U, class To, class From>
void memcpy_async(const Group &group, T *destination, const To &to, const U *source,
                  const From &from)
{
    size_t elements = std::min<size_t>(to, from);
    memcpy_async(group, (void *)destination, (const void *)source, elements * sizeof(T));
}
template <class Group> void wait(const Group &group)
{
    group.sync();
}
template <unsigned Stages, class Group> void wait_prior(const Group &group)
{
    group.sync();
}

} // namespace cooperative_groups
#endif
