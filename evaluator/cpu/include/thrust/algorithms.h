// Loops, reductions and scans of Thrust.
#pragma once
#include "iterators.h"

namespace thrust
{
using namespace ::kfcpu::library;

// ---- where an algorithm runs ----

// Without a policy, the iterator decides.
template <class Iterator> KfcpuPolicy policy_of(const Iterator &)
{
    return seq;
}
template <class T> KfcpuPolicy policy_of(const device_ptr<T> &)
{
    return device;
}
template <class Iterator, class... More>
KfcpuPolicy policy_of(const zip_iterator<std::tuple<Iterator, More...>> &at)
{
    return policy_of(std::get<0>(at.all));
}
template <class T> KfcpuPolicy policy_of(const counting_iterator<T> &)
{
    return device;
}
template <class Op, class Iterator>
KfcpuPolicy policy_of(const transform_iterator<Op, Iterator> &at)
{
    return policy_of(at.at);
}

#define KFCPU_WITHOUT_POLICY(name)                                         \
    template <class First, class... More, unless_policy<First> = 0>        \
    auto name(First first, More... more)                                   \
    {                                                                      \
        return ::thrust::name(::thrust::policy_of(first), first, more...); \
    }

// Calls work(i) for each i below n.
template <class Work> void loop(const KfcpuPolicy &policy, ptrdiff_t n, Work work)
{
    if (policy.here)
        for (ptrdiff_t i = 0; i < n; i++) work((size_t)i);
    else if (n > 0)
        each(policy.stream, (size_t)n, work);
}
// Calls work() once.
template <class Work> void once(const KfcpuPolicy &policy, Work work)
{
    if (policy.here)
        work();
    else
        launch(policy.stream, 1, [=](unsigned) mutable { work(); });
}

// ---- loops ----

template <class P, class I, class Op, if_policy<P> = 0>
I for_each_n(const P &policy, I first, ptrdiff_t n, Op op)
{
    loop(policy, n, [=](size_t i) mutable { op(first[i]); });
    return first + n;
}
KFCPU_WITHOUT_POLICY(for_each_n)
template <class P, class I, class Op, if_policy<P> = 0>
I for_each(const P &policy, I first, I last, Op op)
{
    return ::thrust::for_each_n(policy, first, last - first, op);
}
KFCPU_WITHOUT_POLICY(for_each)

template <class P, class I, class O, class Op, if_policy<P> = 0>
O transform(const P &policy, I first, I last, O out, Op op)
{
    loop(policy, last - first, [=](size_t i) mutable { out[i] = op(first[i]); });
    return out + (last - first);
}
template <class P, class I, class J, class O, class Op, if_policy<P> = 0>
O transform(const P &policy, I first, I last, J other, O out, Op op)
{
    loop(policy, last - first, [=](size_t i) mutable { out[i] = op(first[i], other[i]); });
    return out + (last - first);
}
KFCPU_WITHOUT_POLICY(transform)
template <class P, class I, class O, class Op, class Test, if_policy<P> = 0>
O transform_if(const P &policy, I first, I last, O out, Op op, Test test)
{
    loop(policy, last - first, [=](size_t i) mutable {
        if (test(first[i])) out[i] = op(first[i]);
    });
    return out + (last - first);
}
KFCPU_WITHOUT_POLICY(transform_if)

template <class P, class I, class T, if_policy<P> = 0>
void fill(const P &policy, I first, I last, const T &value)
{
    loop(policy, last - first, [=](size_t i) mutable { first[i] = value; });
}
KFCPU_WITHOUT_POLICY(fill)
template <class P, class I, class T, if_policy<P> = 0>
I fill_n(const P &policy, I first, ptrdiff_t n, const T &value)
{
    ::thrust::fill(policy, first, first + n, value);
    return first + n;
}
KFCPU_WITHOUT_POLICY(fill_n)
template <class P, class I, if_policy<P> = 0, class T, class Step>
void sequence(const P &policy, I first, I last, T start, Step step)
{
    using V = value_of<I>;
    loop(policy, last - first, [=](size_t i) mutable { first[i] = V(start + V(i) * step); });
}
template <class P, class I, class T, if_policy<P> = 0>
void sequence(const P &policy, I first, I last, T start)
{
    ::thrust::sequence(policy, first, last, start, value_of<I>(1));
}
template <class P, class I, if_policy<P> = 0> void sequence(const P &policy, I first, I last)
{
    ::thrust::sequence(policy, first, last, value_of<I>(0), value_of<I>(1));
}
KFCPU_WITHOUT_POLICY(sequence)
template <class P, class I, class Op, if_policy<P> = 0>
void tabulate(const P &policy, I first, I last, Op op)
{
    loop(policy, last - first, [=](size_t i) mutable { first[i] = op(i); });
}
KFCPU_WITHOUT_POLICY(tabulate)
template <class P, class I, class Op, if_policy<P> = 0>
void generate(const P &policy, I first, I last, Op op)
{
    once(policy, [=]() mutable {
        for (I at = first; at != last; ++at) *at = op();
    });
}
KFCPU_WITHOUT_POLICY(generate)

template <class P, class I, class O, if_policy<P> = 0>
O copy(const P &policy, I first, I last, O out)
{
    loop(policy, last - first, [=](size_t i) mutable { out[i] = first[i]; });
    return out + (last - first);
}
KFCPU_WITHOUT_POLICY(copy)
template <class P, class I, class O, if_policy<P> = 0>
O copy_n(const P &policy, I first, ptrdiff_t n, O out)
{
    return ::thrust::copy(policy, first, first + n, out);
}
KFCPU_WITHOUT_POLICY(copy_n)
template <class P, class M, class I, class O, if_policy<P> = 0>
O gather(const P &policy, M map, M last, I in, O out)
{
    loop(policy, last - map, [=](size_t i) mutable { out[i] = in[(ptrdiff_t)map[i]]; });
    return out + (last - map);
}
KFCPU_WITHOUT_POLICY(gather)
template <class P, class I, class M, class O, if_policy<P> = 0>
void scatter(const P &policy, I first, I last, M map, O out)
{
    loop(policy, last - first, [=](size_t i) mutable { out[(ptrdiff_t)map[i]] = first[i]; });
}
KFCPU_WITHOUT_POLICY(scatter)
template <class P, class I, class T, if_policy<P> = 0>
void replace(const P &policy, I first, I last, const T &old, const T &value)
{
    loop(policy, last - first, [=](size_t i) mutable {
        if (first[i] == old) first[i] = value;
    });
}
KFCPU_WITHOUT_POLICY(replace)
template <class P, class I, class Test, class T, if_policy<P> = 0>
void replace_if(const P &policy, I first, I last, Test test, const T &value)
{
    loop(policy, last - first, [=](size_t i) mutable {
        if (test(first[i])) first[i] = value;
    });
}
KFCPU_WITHOUT_POLICY(replace_if)
template <class P, class I, if_policy<P> = 0> void reverse(const P &policy, I first, I last)
{
    ptrdiff_t n = last - first;
    loop(policy, n / 2, [=](size_t i) mutable {
        value_of<I> left = first[i];
        first[i] = first[n - 1 - (ptrdiff_t)i];
        first[n - 1 - (ptrdiff_t)i] = left;
    });
}
KFCPU_WITHOUT_POLICY(reverse)
template <class P, class I, class O, if_policy<P> = 0>
O reverse_copy(const P &policy, I first, I last, O out)
{
    ptrdiff_t n = last - first;
    loop(policy, n, [=](size_t i) mutable { out[i] = first[n - 1 - (ptrdiff_t)i]; });
    return out + n;
}
KFCPU_WITHOUT_POLICY(reverse_copy)
template <class P, class I, class J, if_policy<P> = 0>
J swap_ranges(const P &policy, I first, I last, J other)
{
    loop(policy, last - first, [=](size_t i) mutable {
        value_of<I> left = first[i];
        first[i] = other[i];
        other[i] = left;
    });
    return other + (last - first);
}
KFCPU_WITHOUT_POLICY(swap_ranges)
template <class P, class I, class O, class Op, if_policy<P> = 0>
O adjacent_difference(const P &policy, I first, I last, O out, Op op)
{
    once(policy, [=]() mutable {
        value_of<I> before{};
        for (ptrdiff_t i = 0; i < last - first; i++) {
            value_of<I> value = first[i];
            out[i] = i ? op(value, before) : value;
            before = value;
        }
    });
    return out + (last - first);
}
template <class P, class I, class O, if_policy<P> = 0>
O adjacent_difference(const P &policy, I first, I last, O out)
{
    return ::thrust::adjacent_difference(policy, first, last, out, minus<>());
}
KFCPU_WITHOUT_POLICY(adjacent_difference)

// ---- reductions ----

template <class P, class I, class T, class Op, if_policy<P> = 0>
T reduce(const P &policy, I first, I last, T init, Op op)
{
    size_t n = (size_t)(last - first);
    if (policy.here || kfcpu_in_kernel()) return n ? T(op(init, fold<T>(first, 0, n, op))) : init;
    std::vector<T> partial(MAX_PARTS, init);
    T total = init;
    ::kfcpu::library::reduce(policy.stream, first, n, &total, op, init, partial.data());
    return total;
}
template <class P, class I, class T, if_policy<P> = 0>
T reduce(const P &policy, I first, I last, T init)
{
    return ::thrust::reduce(policy, first, last, init, plus<T>());
}
template <class P, class I, if_policy<P> = 0> value_of<I> reduce(const P &policy, I first, I last)
{
    return ::thrust::reduce(policy, first, last, value_of<I>(0));
}
KFCPU_WITHOUT_POLICY(reduce)
template <class P, class I, class Op, class T, class Reduce, if_policy<P> = 0>
T transform_reduce(const P &policy, I first, I last, Op op, T init, Reduce combine)
{
    return ::thrust::reduce(policy, transform_iterator<Op, I>(first, op),
                            transform_iterator<Op, I>(last, op), init, combine);
}
KFCPU_WITHOUT_POLICY(transform_reduce)
template <class P, class I, class J, class T, class Plus, class Times, if_policy<P> = 0>
T inner_product(const P &policy, I first, I last, J other, T init, Plus add, Times times)
{
    const auto product = [=](ptrdiff_t i) { return T(Times(times)(first[i], other[i])); };
    counting_iterator<ptrdiff_t> start(0), end(last - first);
    return ::thrust::transform_reduce(policy, start, end, product, init, add);
}
template <class P, class I, class J, class T, if_policy<P> = 0>
T inner_product(const P &policy, I first, I last, J other, T init)
{
    return ::thrust::inner_product(policy, first, last, other, init, plus<>(), multiplies<>());
}
KFCPU_WITHOUT_POLICY(inner_product)
template <class P, class I, class Test, if_policy<P> = 0>
ptrdiff_t count_if(const P &policy, I first, I last, Test test)
{
    const auto one = [=](ptrdiff_t i) { return ptrdiff_t(Test(test)(first[i]) ? 1 : 0); };
    counting_iterator<ptrdiff_t> start(0), end(last - first);
    return ::thrust::transform_reduce(policy, start, end, one, ptrdiff_t(0), plus<ptrdiff_t>());
}
KFCPU_WITHOUT_POLICY(count_if)
template <class P, class I, class T, if_policy<P> = 0>
ptrdiff_t count(const P &policy, I first, I last, const T &value)
{
    return ::thrust::count_if(policy, first, last, [=](const auto &x) { return x == value; });
}
KFCPU_WITHOUT_POLICY(count)
template <class P, class I, class Test, if_policy<P> = 0>
I find_if(const P &policy, I first, I last, Test test)
{
    ptrdiff_t n = last - first, found = n;
    ptrdiff_t *where = &found;
    once(policy, [=]() mutable {
        for (ptrdiff_t i = 0; i < n; i++)
            if (test(first[i])) {
                *where = i;
                return;
            }
    });
    return first + found;
}
KFCPU_WITHOUT_POLICY(find_if)
template <class P, class I, class Test, if_policy<P> = 0>
I find_if_not(const P &policy, I first, I last, Test test)
{
    return ::thrust::find_if(policy, first, last, [=](const auto &x) { return !Test(test)(x); });
}
KFCPU_WITHOUT_POLICY(find_if_not)
template <class P, class I, class T, if_policy<P> = 0>
I find(const P &policy, I first, I last, const T &value)
{
    return ::thrust::find_if(policy, first, last, [=](const auto &x) { return x == value; });
}
KFCPU_WITHOUT_POLICY(find)
template <class P, class I, class Test, if_policy<P> = 0>
bool any_of(const P &policy, I first, I last, Test test)
{
    return ::thrust::count_if(policy, first, last, test) > 0;
}
KFCPU_WITHOUT_POLICY(any_of)
template <class P, class I, class Test, if_policy<P> = 0>
bool all_of(const P &policy, I first, I last, Test test)
{
    return ::thrust::count_if(policy, first, last, test) == last - first;
}
KFCPU_WITHOUT_POLICY(all_of)
template <class P, class I, class Test, if_policy<P> = 0>
bool none_of(const P &policy, I first, I last, Test test)
{
    return ::thrust::count_if(policy, first, last, test) == 0;
}
KFCPU_WITHOUT_POLICY(none_of)
template <class P, class I, class J, if_policy<P> = 0>
bool equal(const P &policy, I first, I last, J other)
{
    const auto differs = [=](ptrdiff_t i) { return !(first[i] == other[i]); };
    counting_iterator<ptrdiff_t> start(0), end(last - first);
    return ::thrust::count_if(policy, start, end, differs) == 0;
}
KFCPU_WITHOUT_POLICY(equal)

template <class P, class I, class Less, if_policy<P> = 0>
pair<I, I> minmax_element(const P &policy, I first, I last, Less less)
{
    ptrdiff_t n = last - first, at[2] = {0, 0}, *place = at;
    once(policy, [=]() mutable {
        for (ptrdiff_t i = 1; i < n; i++) {
            if (less(first[i], first[place[0]])) place[0] = i;
            if (!less(first[i], first[place[1]])) place[1] = i;
        }
    });
    return pair<I, I>(n > 0 ? first + at[0] : last, n > 0 ? first + at[1] : last);
}
template <class P, class I, if_policy<P> = 0>
pair<I, I> minmax_element(const P &policy, I first, I last)
{
    return ::thrust::minmax_element(policy, first, last, ::thrust::less<>());
}
KFCPU_WITHOUT_POLICY(minmax_element)
template <class P, class I, class Less, if_policy<P> = 0>
I min_element(const P &policy, I first, I last, Less less)
{
    return ::thrust::minmax_element(policy, first, last, less).first;
}
template <class P, class I, if_policy<P> = 0> I min_element(const P &policy, I first, I last)
{
    return ::thrust::min_element(policy, first, last, ::thrust::less<>());
}
KFCPU_WITHOUT_POLICY(min_element)
// The first of equal elements.
template <class P, class I, class Less, if_policy<P> = 0>
I max_element(const P &policy, I first, I last, Less less)
{
    return ::thrust::min_element(policy, first, last,
                                 [=](const auto &a, const auto &b) { return Less(less)(b, a); });
}
template <class P, class I, if_policy<P> = 0> I max_element(const P &policy, I first, I last)
{
    return ::thrust::max_element(policy, first, last, ::thrust::less<>());
}
KFCPU_WITHOUT_POLICY(max_element)

// ---- scans ----

template <bool exclusive, bool with_start, class T, class I, class O, class Op, class Start>
O run_scan(const KfcpuPolicy &policy, I first, I last, O out, Op op, Start start)
{
    ptrdiff_t n = last - first;
    if (policy.here || kfcpu_in_kernel()) {
        T total = start;
        for (ptrdiff_t i = 0; i < n; i++) {
            T value = first[i];
            if (exclusive) out[i] = total;
            total = with_start || i ? T(op(total, value)) : value;
            if (!exclusive) out[i] = total;
        }
        return out + n;
    }
    T *partial = nullptr;
    cudaMallocAsync((void **)&partial, MAX_PARTS * sizeof(T), policy.stream);
    ::kfcpu::library::scan<T, exclusive, with_start>(policy.stream, first, out, (size_t)n, op,
                                                     start, partial);
    cudaFreeAsync(partial, policy.stream);
    return out + n;
}
template <class P, class I, class O, class T, class Op, if_policy<P> = 0>
O inclusive_scan(const P &policy, I first, I last, O out, T init, Op op)
{
    return run_scan<false, true, T>(policy, first, last, out, op, init);
}
template <class P, class I, class O, class Op, if_policy<P> = 0>
O inclusive_scan(const P &policy, I first, I last, O out, Op op)
{
    return run_scan<false, false, value_of<I>>(policy, first, last, out, op, value_of<I>());
}
template <class P, class I, class O, if_policy<P> = 0>
O inclusive_scan(const P &policy, I first, I last, O out)
{
    return ::thrust::inclusive_scan(policy, first, last, out, plus<>());
}
KFCPU_WITHOUT_POLICY(inclusive_scan)
template <class P, class I, class O, class T, class Op, if_policy<P> = 0>
O exclusive_scan(const P &policy, I first, I last, O out, T init, Op op)
{
    return run_scan<true, true, T>(policy, first, last, out, op, init);
}
template <class P, class I, class O, class T, if_policy<P> = 0>
O exclusive_scan(const P &policy, I first, I last, O out, T init)
{
    return ::thrust::exclusive_scan(policy, first, last, out, init, plus<>());
}
template <class P, class I, class O, if_policy<P> = 0>
O exclusive_scan(const P &policy, I first, I last, O out)
{
    return ::thrust::exclusive_scan(policy, first, last, out, value_of<I>(0));
}
KFCPU_WITHOUT_POLICY(exclusive_scan)
template <class P, class I, class O, class Op, class Plus, if_policy<P> = 0>
O transform_inclusive_scan(const P &policy, I first, I last, O out, Op op, Plus add)
{
    return ::thrust::inclusive_scan(policy, transform_iterator<Op, I>(first, op),
                                    transform_iterator<Op, I>(last, op), out, add);
}
KFCPU_WITHOUT_POLICY(transform_inclusive_scan)
template <class P, class I, class O, class Op, class T, class Plus, if_policy<P> = 0>
O transform_exclusive_scan(const P &policy, I first, I last, O out, Op op, T init, Plus add)
{
    return ::thrust::exclusive_scan(policy, transform_iterator<Op, I>(first, op),
                                    transform_iterator<Op, I>(last, op), out, init, add);
}
KFCPU_WITHOUT_POLICY(transform_exclusive_scan)

template <bool exclusive, class K, class I, class O, class T, class Same, class Op>
O scan_segments(const KfcpuPolicy &policy, K keys, K last, I in, O out, T init, Same same, Op op)
{
    once(policy, [=]() mutable {
        T total = init;
        for (ptrdiff_t i = 0; i < last - keys; i++) {
            bool head = i == 0 || !same(keys[i - 1], keys[i]);
            T value = in[i];
            if (head) total = init;
            if (exclusive) out[i] = total;
            total = head && !exclusive ? value : T(op(total, value));
            if (!exclusive) out[i] = total;
        }
    });
    return out + (last - keys);
}
template <class P, class K, class I, class O, class Same, class Op, if_policy<P> = 0>
O inclusive_scan_by_key(const P &policy, K keys, K last, I in, O out, Same same, Op op)
{
    return scan_segments<false>(policy, keys, last, in, out, value_of<I>(), same, op);
}
template <class P, class K, class I, class O, if_policy<P> = 0>
O inclusive_scan_by_key(const P &policy, K keys, K last, I in, O out)
{
    return ::thrust::inclusive_scan_by_key(policy, keys, last, in, out, equal_to<>(), plus<>());
}
KFCPU_WITHOUT_POLICY(inclusive_scan_by_key)
template <class P, class K, class I, class O, class T, if_policy<P> = 0>
O exclusive_scan_by_key(const P &policy, K keys, K last, I in, O out, T init)
{
    return scan_segments<true>(policy, keys, last, in, out, init, equal_to<>(), plus<>());
}
template <class P, class K, class I, class O, if_policy<P> = 0>
O exclusive_scan_by_key(const P &policy, K keys, K last, I in, O out)
{
    return ::thrust::exclusive_scan_by_key(policy, keys, last, in, out, value_of<I>(0));
}
KFCPU_WITHOUT_POLICY(exclusive_scan_by_key)
template <class P, class K, class I, class KO, class O, class Same, class Op, if_policy<P> = 0>
pair<KO, O> reduce_by_key(const P &policy, K keys, K last, I in, KO keys_out, O out, Same same,
                          Op op)
{
    ptrdiff_t runs = 0, *count = &runs;
    once(policy, [=]() mutable {
        ptrdiff_t n = last - keys;
        for (ptrdiff_t i = 0; i < n; ++*count) {
            ptrdiff_t first = i++;
            value_of<I> total = in[first];
            for (; i < n && same(keys[i - 1], keys[i]); i++) total = op(total, in[i]);
            keys_out[*count] = keys[first];
            out[*count] = total;
        }
    });
    return pair<KO, O>(keys_out + runs, out + runs);
}
template <class P, class K, class I, class KO, class O, class Same, if_policy<P> = 0>
pair<KO, O> reduce_by_key(const P &policy, K keys, K last, I in, KO keys_out, O out, Same same)
{
    return ::thrust::reduce_by_key(policy, keys, last, in, keys_out, out, same, plus<>());
}
template <class P, class K, class I, class KO, class O, if_policy<P> = 0>
pair<KO, O> reduce_by_key(const P &policy, K keys, K last, I in, KO keys_out, O out)
{
    return ::thrust::reduce_by_key(policy, keys, last, in, keys_out, out, equal_to<>());
}
KFCPU_WITHOUT_POLICY(reduce_by_key)

} // namespace thrust
