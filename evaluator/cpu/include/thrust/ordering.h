// Sorts, selections and searches of Thrust.
#pragma once
#include "algorithms.h"

namespace thrust
{

// ---- sorts: all of them are stable ----

// Sorts indices, since values may be tuples of references. An algorithm's own values are moved in
// the order of the indices.
template <class K, class Less> std::vector<ptrdiff_t> order_of(K first, ptrdiff_t n, Less less)
{
    std::vector<ptrdiff_t> order((size_t)n);
    for (ptrdiff_t i = 0; i < n; i++) order[(size_t)i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](ptrdiff_t a, ptrdiff_t b) { return less(first[a], first[b]); });
    return order;
}
template <class I> void put_in_order(I first, const std::vector<ptrdiff_t> &order)
{
    std::vector<value_of<I>> values;
    values.reserve(order.size());
    for (ptrdiff_t i : order) values.push_back(value_of<I>(first[i]));
    for (size_t i = 0; i < order.size(); i++) first[(ptrdiff_t)i] = values[i];
}
template <class P, class K, class Less, if_policy<P> = 0>
void stable_sort(const P &policy, K first, K last, Less less)
{
    once(policy, [=]() mutable {
        if constexpr (std::is_lvalue_reference<decltype(first[0])>::value)
            std::stable_sort(&first[0], &first[0] + (last - first), less);
        else
            put_in_order(first, order_of(first, last - first, less));
    });
}
template <class P, class K, if_policy<P> = 0> void stable_sort(const P &policy, K first, K last)
{
    ::thrust::stable_sort(policy, first, last, less<>());
}
KFCPU_WITHOUT_POLICY(stable_sort)
template <class P, class K, class... Less, if_policy<P> = 0>
void sort(const P &policy, K first, K last, Less... less)
{
    ::thrust::stable_sort(policy, first, last, less...);
}
KFCPU_WITHOUT_POLICY(sort)
template <class P, class K, class V, class Less, if_policy<P> = 0>
void stable_sort_by_key(const P &policy, K first, K last, V values, Less less)
{
    once(policy, [=]() mutable {
        const std::vector<ptrdiff_t> order = order_of(first, last - first, less);
        put_in_order(first, order);
        put_in_order(values, order);
    });
}
template <class P, class K, class V, if_policy<P> = 0>
void stable_sort_by_key(const P &policy, K first, K last, V values)
{
    ::thrust::stable_sort_by_key(policy, first, last, values, less<>());
}
KFCPU_WITHOUT_POLICY(stable_sort_by_key)
template <class P, class K, class V, class... Less, if_policy<P> = 0>
void sort_by_key(const P &policy, K first, K last, V values, Less... less)
{
    ::thrust::stable_sort_by_key(policy, first, last, values, less...);
}
KFCPU_WITHOUT_POLICY(sort_by_key)
template <class P, class I, class Less, if_policy<P> = 0>
bool is_sorted(const P &policy, I first, I last, Less less)
{
    const auto falls = [=](ptrdiff_t i) { return Less(less)(first[i + 1], first[i]); };
    ptrdiff_t n = last - first;
    counting_iterator<ptrdiff_t> start(0), end(n > 0 ? n - 1 : 0);
    return ::thrust::count_if(policy, start, end, falls) == 0;
}
template <class P, class I, if_policy<P> = 0> bool is_sorted(const P &policy, I first, I last)
{
    return ::thrust::is_sorted(policy, first, last, less<>());
}
KFCPU_WITHOUT_POLICY(is_sorted)

// ---- selections ----

// Copies the elements for which keep(i) is true. Returns their number.
template <class I, class O, class Keep>
ptrdiff_t keep_elements(const KfcpuPolicy &policy, I first, ptrdiff_t n, O out, Keep keep)
{
    ptrdiff_t kept = 0, *count = &kept;
    once(policy, [=]() mutable {
        for (ptrdiff_t i = 0; i < n; i++)
            if (keep(i)) out[(*count)++] = value_of<I>(first[i]);
    });
    return kept;
}
template <class P, class I, class O, class Test, if_policy<P> = 0>
O copy_if(const P &policy, I first, I last, O out, Test test)
{
    return out + keep_elements(policy, first, last - first, out,
                               [=](ptrdiff_t i) mutable { return bool(test(first[i])); });
}
template <class P, class I, class S, class O, class Test, if_policy<P> = 0>
O copy_if(const P &policy, I first, I last, S stencil, O out, Test test)
{
    return out + keep_elements(policy, first, last - first, out,
                               [=](ptrdiff_t i) mutable { return bool(test(stencil[i])); });
}
KFCPU_WITHOUT_POLICY(copy_if)
template <class P, class I, class Test, if_policy<P> = 0>
I remove_if(const P &policy, I first, I last, Test test)
{
    return first + keep_elements(policy, first, last - first, first,
                                 [=](ptrdiff_t i) mutable { return !test(first[i]); });
}
template <class P, class I, class S, class Test, if_policy<P> = 0>
I remove_if(const P &policy, I first, I last, S stencil, Test test)
{
    return first + keep_elements(policy, first, last - first, first,
                                 [=](ptrdiff_t i) mutable { return !test(stencil[i]); });
}
KFCPU_WITHOUT_POLICY(remove_if)
template <class P, class I, class T, if_policy<P> = 0>
I remove(const P &policy, I first, I last, const T &value)
{
    return ::thrust::remove_if(policy, first, last, [=](const auto &x) { return x == value; });
}
KFCPU_WITHOUT_POLICY(remove)
template <class P, class I, class O, class Test, if_policy<P> = 0>
O remove_copy_if(const P &policy, I first, I last, O out, Test test)
{
    return ::thrust::copy_if(policy, first, last, out,
                             [=](const auto &x) { return !Test(test)(x); });
}
KFCPU_WITHOUT_POLICY(remove_copy_if)
template <class P, class I, class O, if_policy<P> = 0>
O unique_copy(const P &policy, I first, I last, O out)
{
    return out + keep_elements(policy, first, last - first, out,
                               [=](ptrdiff_t i) { return i == 0 || !(first[i] == first[i - 1]); });
}
KFCPU_WITHOUT_POLICY(unique_copy)
template <class P, class I, class Same, if_policy<P> = 0>
I unique(const P &policy, I first, I last, Same same)
{
    ptrdiff_t kept = 0, *count = &kept;
    once(policy, [=]() mutable {
        for (ptrdiff_t i = 0; i < last - first; i++)
            if (!*count || !same(first[*count - 1], first[i]))
                first[(*count)++] = value_of<I>(first[i]);
    });
    return first + kept;
}
template <class P, class I, if_policy<P> = 0> I unique(const P &policy, I first, I last)
{
    return ::thrust::unique(policy, first, last, equal_to<>());
}
KFCPU_WITHOUT_POLICY(unique)
template <class P, class K, class V, if_policy<P> = 0>
pair<K, V> unique_by_key(const P &policy, K keys, K last, V values)
{
    ptrdiff_t kept = 0, *count = &kept;
    once(policy, [=]() mutable {
        for (ptrdiff_t i = 0; i < last - keys; i++) {
            if (*count && keys[*count - 1] == keys[i]) continue;
            keys[*count] = value_of<K>(keys[i]);
            values[(*count)++] = value_of<V>(values[i]);
        }
    });
    return pair<K, V>(keys + kept, values + kept);
}
KFCPU_WITHOUT_POLICY(unique_by_key)
template <class P, class I, class Test, if_policy<P> = 0>
I stable_partition(const P &policy, I first, I last, Test test)
{
    ptrdiff_t kept = 0, *count = &kept;
    once(policy, [=]() mutable {
        std::vector<ptrdiff_t> order, others;
        for (ptrdiff_t i = 0; i < last - first; i++) (test(first[i]) ? order : others).push_back(i);
        *count = (ptrdiff_t)order.size();
        order.insert(order.end(), others.begin(), others.end());
        put_in_order(first, order);
    });
    return first + kept;
}
KFCPU_WITHOUT_POLICY(stable_partition)
template <class P, class I, class Test, if_policy<P> = 0>
I partition(const P &policy, I first, I last, Test test)
{
    return ::thrust::stable_partition(policy, first, last, test);
}
KFCPU_WITHOUT_POLICY(partition)

// ---- searches ----

// The number of elements before the first for which before(element) is false.
template <class I, class Before> ptrdiff_t search(I first, ptrdiff_t n, Before before)
{
    ptrdiff_t low = 0;
    while (n > 0) {
        ptrdiff_t half = n / 2;
        if (before(first[low + half]))
            low += half + 1, n -= half + 1;
        else
            n = half;
    }
    return low;
}
// One value, or a range of values with a place for the results.
#define KFCPU_BOUND(name, before, result)                                                        \
    template <class P, class I, class V, class O, class Less, if_policy<P> = 0>                  \
    O name(const P &policy, I first, I last, V values, V values_end, O out, Less less)           \
    {                                                                                            \
        ptrdiff_t n = last - first;                                                              \
        loop(policy, values_end - values, [=](size_t i) mutable {                                \
            const value_of<V> value = values[i];                                                 \
            ptrdiff_t at = search(first, n, [&](const auto &x) { return before; });              \
            out[i] = result;                                                                     \
        });                                                                                      \
        return out + (values_end - values);                                                      \
    }                                                                                            \
    template <class P, class I, class V, class O, if_policy<P> = 0>                              \
    O name(const P &policy, I first, I last, V values, V values_end, O out)                      \
    {                                                                                            \
        return ::thrust::name(policy, first, last, values, values_end, out, ::thrust::less<>()); \
    }
#define KFCPU_BOUND_OF_ONE(name)                                      \
    template <class P, class I, class T, if_policy<P> = 0>            \
    I name(const P &policy, I first, I last, const T &value)          \
    {                                                                 \
        ptrdiff_t at = 0;                                             \
        ::thrust::name(policy, first, last, &value, &value + 1, &at); \
        return first + at;                                            \
    }                                                                 \
    KFCPU_WITHOUT_POLICY(name)
KFCPU_BOUND(lower_bound, less(x, value), at)
KFCPU_BOUND_OF_ONE(lower_bound)
KFCPU_BOUND(upper_bound, !less(value, x), at)
KFCPU_BOUND_OF_ONE(upper_bound)
KFCPU_BOUND(binary_search, less(x, value), at < n && !less(value, first[at]))
template <class P, class I, class T, if_policy<P> = 0>
bool binary_search(const P &policy, I first, I last, const T &value)
{
    bool found = false;
    ::thrust::binary_search(policy, first, last, &value, &value + 1, &found);
    return found;
}
KFCPU_WITHOUT_POLICY(binary_search)
#undef KFCPU_BOUND
#undef KFCPU_BOUND_OF_ONE
#undef KFCPU_WITHOUT_POLICY

} // namespace thrust
