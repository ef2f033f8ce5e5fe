// Thrust: each algorithm against a plain loop. nvcc reads this file, too (library_nvcc.sh).
// cpu-test: flags --exe -O0
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/find.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <vector>

#include "exec_check.h"

struct Scale {
    float factor;
    __host__ __device__ float operator()(float x, float y) const { return factor * x + y; }
};
struct Square {
    template <class T> __host__ __device__ T operator()(const T &x) const { return x * x; }
};
struct Even {
    __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};
struct Bump {
    int *to;
    __host__ __device__ void operator()(int i) const { to[i] += i; }
};
struct Product {
    __host__ __device__ int operator()(const thrust::tuple<int, int> &both) const
    {
        return thrust::get<0>(both) * thrust::get<1>(both);
    }
};
static int noise(unsigned i)
{
    return int((i * 2654435761u) >> 16) % 500;
}
static std::vector<int> numbers(int n)
{
    std::vector<int> all(n);
    for (int i = 0; i < n; i++) all[i] = noise(i);
    return all;
}
template <class A, class B> bool same(const A *got, const B &wanted)
{
    cudaDeviceSynchronize();
    return std::equal(wanted.begin(), wanted.end(), got);
}

template <class Policy> void check_loops(const Policy &policy, int n)
{
    std::vector<int> wanted = numbers(n), other(n);
    int *x = memory<int>(n + 1), *y = memory<int>(n + 1);
    float *a = memory<float>(n + 1), *b = memory<float>(n + 1);
    thrust::copy(policy, wanted.data(), wanted.data() + n, x);
    CHECK(same(x, wanted));
    thrust::transform(policy, x, x + n, y, Square());
    for (int i = 0; i < n; i++) other[i] = wanted[i] * wanted[i];
    CHECK(same(y, other));
    thrust::transform(policy, x, x + n, y, y, thrust::plus<int>());
    for (int i = 0; i < n; i++) other[i] += wanted[i];
    CHECK(same(y, other));
    thrust::fill(policy, a, a + n, 2.5f);
    thrust::sequence(policy, b, b + n, 1.0f, 0.5f);
    thrust::transform(policy, a, a + n, b, b, Scale{4});
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) CHECK(b[i] == 10 + 1 + 0.5f * i);
    thrust::sequence(policy, y, y + n);
    thrust::for_each(policy, thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n),
                     Bump{y});
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) CHECK(y[i] == 2 * i);
    thrust::gather(policy, y, y + n / 2, x, x + n / 2); // y[i] = 2 i
    cudaDeviceSynchronize();
    for (int i = 0; i < n / 4; i++) CHECK(x[n / 2 + i] == wanted[2 * i]);
    for (int i = 0; i < n; i++) y[i] = n - 1 - i;
    thrust::copy(policy, wanted.data(), wanted.data() + n, x);
    thrust::scatter(policy, wanted.data(), wanted.data() + n, y, x);
    std::reverse(wanted.begin(), wanted.end());
    CHECK(same(x, wanted));
}

template <class Policy> void check_reductions(const Policy &policy, int n)
{
    std::vector<int> all = numbers(n);
    int *x = memory<int>(n + 1), sum = 0, squares = 0, evens = 0;
    std::copy(all.begin(), all.end(), x);
    for (int v : all) sum += v, squares += v * v, evens += v % 2 == 0;
    CHECK(thrust::reduce(policy, x, x + n) == sum);
    CHECK(thrust::reduce(policy, x, x + n, 5, thrust::plus<int>()) == sum + 5);
    CHECK(thrust::reduce(policy, x, x + n, -1, thrust::maximum<int>()) ==
          (n ? *std::max_element(all.begin(), all.end()) : -1));
    CHECK(thrust::transform_reduce(policy, x, x + n, Square(), 0, thrust::plus<int>()) == squares);
    CHECK(thrust::inner_product(policy, x, x + n, x, 0) == squares);
    CHECK(thrust::count_if(policy, x, x + n, Even()) == evens);
    CHECK(thrust::count(policy, x, x + n, 7) == std::count(all.begin(), all.end(), 7));
    CHECK(thrust::find(policy, x, x + n, 9) - x ==
          std::find(all.begin(), all.end(), 9) - all.begin());
    CHECK(thrust::max_element(policy, x, x + n) - x ==
          std::max_element(all.begin(), all.end()) - all.begin());
    CHECK(thrust::min_element(policy, x, x + n) - x ==
          std::min_element(all.begin(), all.end()) - all.begin());
    auto pairs =
        thrust::make_zip_iterator(thrust::make_tuple(x, thrust::make_constant_iterator(3)));
    CHECK(thrust::transform_reduce(policy, pairs, pairs + n, Product(), 0, thrust::plus<int>()) ==
          3 * sum);
}

template <class Policy> void check_scans(const Policy &policy, int n)
{
    std::vector<int> all = numbers(n), wanted(n);
    int *x = memory<int>(n + 1), *y = memory<int>(n + 1), *keys = memory<int>(n + 1),
        *heads = memory<int>(n + 1);
    std::copy(all.begin(), all.end(), x);
    thrust::inclusive_scan(policy, x, x + n, y);
    std::partial_sum(all.begin(), all.end(), wanted.begin());
    CHECK(same(y, wanted));
    thrust::inclusive_scan(policy, x, x + n, y, thrust::maximum<int>());
    std::partial_sum(all.begin(), all.end(), wanted.begin(),
                     [](int a, int b) { return std::max(a, b); });
    CHECK(same(y, wanted));
    thrust::exclusive_scan(policy, x, x + n, y, 10);
    for (int i = 0, sum = 10; i < n; sum += all[i++]) wanted[i] = sum;
    CHECK(same(y, wanted));
    for (int i = 0; i < n; i++) keys[i] = i / 7;
    thrust::inclusive_scan_by_key(policy, keys, keys + n, x, y);
    for (int i = 0; i < n; i++) wanted[i] = all[i] + (i % 7 ? wanted[i - 1] : 0);
    CHECK(same(y, wanted));
    auto end = thrust::reduce_by_key(policy, keys, keys + n, x, heads, y);
    CHECK(end.second - y == (n + 6) / 7);
    for (int i = 0; i < (n + 6) / 7; i++)
        CHECK(heads[i] == i && y[i] == wanted[std::min(7 * i + 6, n - 1)]);
    auto ones = thrust::make_constant_iterator(1);
    CHECK(thrust::reduce_by_key(policy, keys, keys + n, ones, thrust::make_discard_iterator(), y)
                  .second -
              y ==
          (n + 6) / 7);
}

template <class Policy> void check_sorts(const Policy &policy, int n)
{
    std::vector<int> all = numbers(n), places(n), wanted;
    int *x = memory<int>(n + 1), *y = memory<int>(n + 1), *z = memory<int>(n + 1);
    std::copy(all.begin(), all.end(), x);
    thrust::sort(policy, x, x + n);
    wanted = all;
    std::sort(wanted.begin(), wanted.end());
    CHECK(same(x, wanted));
    for (int v : {-1, 0, 17, 250, 499, 600}) {
        CHECK(thrust::lower_bound(policy, x, x + n, v) - x ==
              std::lower_bound(wanted.begin(), wanted.end(), v) - wanted.begin());
        CHECK(thrust::binary_search(policy, x, x + n, v) ==
              std::binary_search(wanted.begin(), wanted.end(), v));
        y[0] = v;
        thrust::upper_bound(policy, x, x + n, y, y + 1, z);
        cudaDeviceSynchronize();
        CHECK(z[0] == std::upper_bound(wanted.begin(), wanted.end(), v) - wanted.begin());
    }
    CHECK(thrust::unique(policy, x, x + n) - x ==
          std::unique(wanted.begin(), wanted.end()) - wanted.begin());
    std::copy(all.begin(), all.end(), x);
    thrust::sequence(policy, y, y + n);
    thrust::stable_sort_by_key(policy, x, x + n, y, thrust::greater<int>());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return all[a] > all[b]; });
    CHECK(same(y, places));
    for (int i = 0; i < n; i++) CHECK(x[i] == all[places[i]]);
    std::copy(all.begin(), all.end(), x);
    CHECK(thrust::copy_if(policy, x, x + n, y, Even()) - y ==
          std::count_if(all.begin(), all.end(), Even()));
    CHECK(thrust::stable_partition(policy, x, x + n, Even()) - x ==
          std::count_if(all.begin(), all.end(), Even()));
    std::stable_partition(all.begin(), all.end(), Even());
    CHECK(same(x, all));
    CHECK(thrust::remove_if(policy, x, x + n, Even()) - x ==
          std::count_if(all.begin(), all.end(), [](int v) { return v % 2; }));
}

void check_vectors()
{
    thrust::host_vector<int> host(100);
    for (int i = 0; i < 100; i++) host[i] = 99 - i;
    thrust::device_vector<int> x = host, y(100, 7), empty;
    CHECK(x.size() == 100 && x[3] == 96 && y[99] == 7 && empty.empty());
    thrust::sort(x.begin(), x.end());
    thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), thrust::multiplies<int>());
    CHECK(thrust::reduce(y.begin(), y.end()) == 7 * 4950);
    thrust::host_vector<int> back = y;
    CHECK(back[10] == 70);
    x.resize(120, 5);
    x[0] = 12;
    CHECK(x[0] == 12 && x[119] == 5 && thrust::count(x.begin(), x.end(), 5) == 21);
    int *raw = thrust::raw_pointer_cast(x.data());
    thrust::device_ptr<int> again = thrust::device_pointer_cast(raw);
    CHECK(again[1] == 1 && again + 120 == x.end());
    thrust::permutation_iterator<thrust::device_vector<int>::iterator,
                                 thrust::device_vector<int>::iterator>
        picked(x.begin(), x.begin() + 1);
    CHECK(thrust::reduce(picked, picked + 3, 0) == 1 + 2 + 3);
    auto squares = thrust::make_transform_iterator(thrust::counting_iterator<int>(1), Square());
    CHECK(thrust::reduce(squares, squares + 10) == 385);
    thrust::device_vector<int> a(50), b(50);
    for (int i = 0; i < 50; i++) a[i] = noise(i) % 5, b[i] = i;
    auto both = thrust::make_zip_iterator(thrust::make_tuple(a.begin(), b.begin()));
    thrust::sort(both, both + 50);
    for (int i = 1; i < 50; i++) CHECK(a[i - 1] < a[i] || (a[i - 1] == a[i] && b[i - 1] < b[i]));
}

// A thread sorts its own part.
__global__ void in_threads(int *x, int n)
{
    thrust::sort(thrust::seq, x + threadIdx.x * n, x + (threadIdx.x + 1) * n);
    x[blockDim.x * n + threadIdx.x] =
        thrust::reduce(thrust::seq, x + threadIdx.x * n, x + (threadIdx.x + 1) * n);
}
void check_threads()
{
    std::vector<int> all = numbers(32 * 9);
    int *x = memory<int>(32 * 10);
    std::copy(all.begin(), all.end(), x);
    in_threads<<<1, 32>>>(x, 9);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) {
        std::sort(all.begin() + 9 * i, all.begin() + 9 * i + 9);
        CHECK(std::equal(x + 9 * i, x + 9 * i + 9, all.begin() + 9 * i));
        CHECK(x[32 * 9 + i] == std::accumulate(all.begin() + 9 * i, all.begin() + 9 * i + 9, 0));
    }
}

template <class Policy> void check(const Policy &policy, int n)
{
    check_loops(policy, n);
    check_reductions(policy, n);
    check_scans(policy, n);
    check_sorts(policy, n);
}

int main()
{
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    check(thrust::device, 1);
    check(thrust::device, 1000);
    check(thrust::cuda::par.on(stream), 30000);
    check_vectors();
    check_threads();
    return result();
}
