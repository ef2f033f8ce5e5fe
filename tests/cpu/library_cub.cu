// CUB: each collective and each algorithm against a plain loop. nvcc reads it (library_nvcc.sh).
// cpu-test: flags --exe -O0
#include <iostream>

#include <cub/cub.cuh>
#include <cuda/std/functional>

#include <algorithm>
#include <vector>

#include "exec_check.h"

struct Largest {
    template <class T> __host__ __device__ T operator()(const T &a, const T &b) const
    {
        return a < b ? b : a;
    }
};
struct Add {
    template <class T> __host__ __device__ T operator()(const T &a, const T &b) const
    {
        return a + b;
    }
};
// An operator that is not commutative: the composition of x -> a x + b, modulo 2^32.
struct Affine {
    unsigned a, b;
};
struct Compose {
    __host__ __device__ Affine operator()(const Affine &f, const Affine &g) const
    {
        return Affine{g.a * f.a, g.a * f.b + g.b};
    }
};
struct Less {
    template <class T> __host__ __device__ bool operator()(const T &a, const T &b) const
    {
        return a < b;
    }
};
struct Odd {
    __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
static unsigned noise(unsigned i)
{
    i = (i ^ 61) ^ (i >> 16);
    i *= 9;
    i ^= i >> 4;
    i *= 0x27d4eb2d;
    return i ^ (i >> 15);
}

// ---- a block ----

template <int X, int Y, int N, cub::BlockReduceAlgorithm ALGORITHM>
__global__ void block_reduce(const int *in, int *out, int valid)
{
    using Reduce = cub::BlockReduce<int, X, ALGORITHM, Y>;
    __shared__ typename Reduce::TempStorage temp;
    int thread = threadIdx.y * X + threadIdx.x, items[N];
    for (int i = 0; i < N; i++) items[i] = in[thread * N + i];
    int sum = Reduce(temp).Sum(items);
    __syncthreads();
    int largest = Reduce(temp).Reduce(items[0], Largest());
    __syncthreads();
    int some = Reduce(temp).Sum(items[0], valid);
    if (thread == 0) out[0] = sum, out[1] = largest, out[2] = some;
}
template <int X, int Y, int N, cub::BlockReduceAlgorithm ALGORITHM> void check_block_reduce()
{
    int *in = memory<int>(X * Y * N), *out = memory<int>(3), valid = X * Y - 5, sum = 0,
        largest = 0, some = 0;
    for (int i = 0; i < X * Y * N; i++) sum += in[i] = int(noise(i) % 1000);
    for (int i = 0; i < X * Y; i++)
        largest = std::max(largest, in[i * N]), some += i < valid ? in[i * N] : 0;
    block_reduce<X, Y, N, ALGORITHM><<<1, dim3(X, Y)>>>(in, out, valid);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(out[0] == sum && out[1] == largest && out[2] == some);
}

// A running prefix over tiles.
struct Running {
    int total;
    __device__ int operator()(int aggregate)
    {
        int before = total;
        total += aggregate;
        return before;
    }
};
template <int THREADS, int N>
__global__ void block_scan(const int *in, int *out, Affine *composed, int tiles)
{
    using Scan = cub::BlockScan<int, THREADS>;
    using Compositions = cub::BlockScan<Affine, THREADS>;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Compositions::TempStorage compositions;
    } temp;
    int count = THREADS * N * tiles, first = threadIdx.x * N;
    Running running{0};
    for (int tile = 0; tile < tiles; tile++) {
        int items[N], sums[N];
        for (int i = 0; i < N; i++) items[i] = in[tile * THREADS * N + first + i];
        Scan(temp.scan).ExclusiveSum(items, sums, running);
        __syncthreads();
        for (int i = 0; i < N; i++) out[tile * THREADS * N + first + i] = sums[i];
    }
    int value = in[threadIdx.x], result, aggregate;
    Scan(temp.scan).InclusiveSum(value, result, aggregate);
    out[count + threadIdx.x] = result + aggregate;
    __syncthreads();
    Scan(temp.scan).ExclusiveScan(value, result, 7, Largest());
    out[count + THREADS + threadIdx.x] = result;
    __syncthreads();
    Scan(temp.scan).InclusiveScan(value, result, Largest(), aggregate);
    out[count + 2 * THREADS + threadIdx.x] = result - aggregate;
    __syncthreads();
    Affine f{unsigned(value) | 1, unsigned(value) * 3}, g;
    Compositions(temp.compositions).InclusiveScan(f, g, Compose());
    composed[threadIdx.x] = g;
}
template <int THREADS, int N> void check_block_scan()
{
    const int tiles = 3, count = THREADS * N * tiles;
    int *in = memory<int>(count), *out = memory<int>(count + 3 * THREADS);
    Affine *composed = memory<Affine>(THREADS), f{1, 0};
    for (int i = 0; i < count; i++) in[i] = int(noise(i) % 100);
    block_scan<THREADS, N><<<1, THREADS>>>(in, out, composed, tiles);
    CHECK_CUDA(cudaDeviceSynchronize());
    int sum = 0, all = 0, first = 0, before = 7, most = 0, top = 0;
    for (int i = 0; i < count; sum += in[i++]) CHECK(out[i] == sum);
    for (int i = 0; i < THREADS; i++) all += in[i], top = std::max(top, in[i]);
    for (int i = 0; i < THREADS; i++) {
        CHECK(out[count + i] == (first += in[i]) + all);
        CHECK(out[count + THREADS + i] == before);
        before = std::max(before, in[i]), most = std::max(most, in[i]);
        CHECK(out[count + 2 * THREADS + i] == most - top);
        f = Compose()(f, Affine{unsigned(in[i]) | 1, unsigned(in[i]) * 3});
        CHECK(composed[i].a == f.a && composed[i].b == f.b);
    }
}

template <int THREADS, int N> __global__ void block_moves(const int *in, int *out, int valid)
{
    using Load = cub::BlockLoad<int, THREADS, N, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<int, THREADS, N, cub::BLOCK_STORE_TRANSPOSE>;
    using Exchange = cub::BlockExchange<int, THREADS, N>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Exchange::TempStorage exchange;
    } temp;
    const int all = THREADS * N;
    int items[N];
    Load(temp.load).Load(in, items, valid, -1);
    __syncthreads();
    Store(temp.store).Store(out, items);
    __syncthreads();
    Exchange(temp.exchange).BlockedToStriped(items, items);
    cub::StoreDirectStriped<THREADS>(threadIdx.x, out + all, items);
    __syncthreads();
    Exchange(temp.exchange).StripedToBlocked(items, items);
    cub::StoreDirectBlocked(threadIdx.x, out + 2 * all, items, valid);
    int ranks[N];
    for (int i = 0; i < N; i++) ranks[i] = all - 1 - (int(threadIdx.x) * N + i);
    __syncthreads();
    Exchange(temp.exchange).ScatterToBlocked(items, ranks);
    cub::StoreDirectBlocked(threadIdx.x, out + 3 * all, items);
}
template <int THREADS, int N> void check_block_moves()
{
    const int all = THREADS * N, valid = all - 7;
    int *in = memory<int>(all), *out = memory<int>(4 * all);
    for (int i = 0; i < all; i++) in[i] = int(noise(i) & 0xffff);
    block_moves<THREADS, N><<<1, THREADS>>>(in, out, valid);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < all; i++) {
        int value = i < valid ? in[i] : -1;
        CHECK(out[i] == value && out[all + i] == value && out[4 * all - 1 - i] == value);
        CHECK(out[2 * all + i] == (i < valid ? value : 0));
    }
}

template <class Key, int THREADS, int N>
__global__ void block_sort(const Key *in, Key *keys_out, int *values_out, Key *merged)
{
    using Sort = cub::BlockRadixSort<Key, THREADS, N, int>;
    using Merge = cub::BlockMergeSort<Key, THREADS, N>;
    __shared__ union {
        typename Sort::TempStorage sort;
        typename Merge::TempStorage merge;
    } temp;
    Key keys[N];
    int values[N];
    for (int i = 0; i < N; i++) keys[i] = in[threadIdx.x * N + i], values[i] = threadIdx.x * N + i;
    Sort(temp.sort).SortDescending(keys, values);
    for (int i = 0; i < N; i++)
        keys_out[threadIdx.x * N + i] = keys[i], values_out[threadIdx.x * N + i] = values[i];
    __syncthreads();
    Merge(temp.merge).Sort(keys, Less());
    for (int i = 0; i < N; i++) merged[threadIdx.x * N + i] = keys[i];
    __syncthreads();
}
template <class Key, int THREADS, int N> void check_block_sort(Key (*make)(unsigned))
{
    const int all = THREADS * N;
    Key *in = memory<Key>(all), *out = memory<Key>(all), *merged = memory<Key>(all);
    int *values = memory<int>(all);
    for (int i = 0; i < all; i++) in[i] = make(noise(i));
    block_sort<Key, THREADS, N><<<1, THREADS>>>(in, out, values, merged);
    CHECK_CUDA(cudaDeviceSynchronize());
    std::vector<int> order(all);
    for (int i = 0; i < all; i++) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [in](int a, int b) { return in[a] > in[b]; });
    for (int i = 0; i < all; i++)
        CHECK(values[i] == order[i] && out[i] == in[order[i]] &&
              merged[i] == in[order[all - 1 - i]]);
}

__global__ void block_counts(const unsigned char *in, int *bins, int *heads)
{
    using Histogram = cub::BlockHistogram<unsigned char, 128, 4, 256>;
    using Heads = cub::BlockDiscontinuity<int, 128>;
    __shared__ union {
        typename Histogram::TempStorage histogram;
        typename Heads::TempStorage heads;
    } temp;
    __shared__ int counts[256];
    unsigned char items[4];
    int values[4], flags[4];
    for (int i = 0; i < 4; i++) items[i] = in[threadIdx.x * 4 + i], values[i] = items[i] / 64;
    Histogram(temp.histogram).Histogram(items, counts);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 128) bins[i] = counts[i];
    __syncthreads();
    Heads(temp.heads).FlagHeads(flags, values, cuda::std::not_equal_to<int>());
    for (int i = 0; i < 4; i++) heads[threadIdx.x * 4 + i] = flags[i];
}
void check_block_counts()
{
    unsigned char *in = memory<unsigned char>(512);
    int *bins = memory<int>(256), *heads = memory<int>(512), wanted[256] = {0};
    for (int i = 0; i < 512; i++) wanted[in[i] = (unsigned char)noise(i)]++;
    block_counts<<<1, 128>>>(in, bins, heads);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 256; i++) CHECK(bins[i] == wanted[i]);
    for (int i = 0; i < 512; i++) CHECK(heads[i] == (i == 0 || in[i] / 64 != in[i - 1] / 64));
}

// ---- a warp ----

template <int WIDTH>
__global__ void warps(const int *in, int *sums, int *scans, int *segments, double2 *wide)
{
    using Reduce = cub::WarpReduce<int, WIDTH>;
    using Scan = cub::WarpScan<int, WIDTH>;
    __shared__ typename Reduce::TempStorage reduce[128 / WIDTH];
    __shared__ typename Scan::TempStorage scan[128 / WIDTH];
    int warp = threadIdx.x / WIDTH, value = in[threadIdx.x], inclusive, exclusive, total;
    int sum = Reduce(reduce[warp]).Sum(value);
    int largest = Reduce(reduce[warp]).Reduce(value, Largest(), WIDTH - 3);
    int segment = Reduce(reduce[warp]).HeadSegmentedSum(value, int(threadIdx.x % 5 == 0));
    Scan(scan[warp]).InclusiveSum(value, inclusive, total);
    Scan(scan[warp]).ExclusiveScan(value, exclusive, 3, Largest());
    if (threadIdx.x % WIDTH == 0) sums[2 * warp] = sum, sums[2 * warp + 1] = largest;
    segments[threadIdx.x] = segment;
    scans[3 * threadIdx.x] = inclusive, scans[3 * threadIdx.x + 1] = exclusive,
              scans[3 * threadIdx.x + 2] = total;
    double2 pair = make_double2(value, -value);
    wide[threadIdx.x] = cub::ShuffleIndex<WIDTH>(pair, 2, 0xffffffffu);
}
template <int WIDTH> void check_warps()
{
    int *in = memory<int>(128), *sums = memory<int>(2 * 128 / WIDTH), *scans = memory<int>(3 * 128),
        *segments = memory<int>(128);
    double2 *wide = memory<double2>(128);
    for (int i = 0; i < 128; i++) in[i] = int(noise(i) % 1000);
    warps<WIDTH><<<1, 128>>>(in, sums, scans, segments, wide);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int first = 0; first < 128; first += WIDTH) {
        int sum = 0, largest = 0, before = 3, all = 0;
        for (int i = first; i < first + WIDTH; i++)
            all += in[i], largest = i < first + WIDTH - 3 ? std::max(largest, in[i]) : largest;
        CHECK(sums[2 * (first / WIDTH)] == all && sums[2 * (first / WIDTH) + 1] == largest);
        for (int i = first; i < first + WIDTH; i++) {
            CHECK(scans[3 * i] == (sum += in[i]) && scans[3 * i + 1] == before &&
                  scans[3 * i + 2] == all);
            before = std::max(before, in[i]);
            CHECK(wide[i].x == in[first + 2] && wide[i].y == -in[first + 2]);
            if (i % 5 != 0 && i != first) continue;
            int segment = in[i];
            for (int j = i + 1; j < first + WIDTH && j % 5 != 0; j++) segment += in[j];
            CHECK(segments[i] == segment);
        }
    }
}

// ---- the device ----

// Calls an algorithm twice: for the size of its storage, and for its work.
template <class Call> void with_storage(Call call)
{
    size_t bytes = 0, guard = 64;
    CHECK_CUDA(call((void *)nullptr, bytes));
    CHECK(bytes > 0);
    unsigned char *storage = memory<unsigned char>(bytes + guard);
    for (size_t i = 0; i < guard; i++) storage[bytes + i] = 0xa5;
    CHECK_CUDA(call((void *)storage, bytes));
    CHECK_CUDA(cudaDeviceSynchronize());
    for (size_t i = 0; i < guard; i++) CHECK(storage[bytes + i] == 0xa5);
    cudaFree(storage);
}

void check_reductions(int n, cudaStream_t stream)
{
    int *in = memory<int>(n + 1), *out = memory<int>(1), sum = 0, least = INT32_MAX,
        most = INT32_MIN, at = 0;
    auto *pair = memory<cub::KeyValuePair<int, int>>(1);
    for (int i = 0; i < n; i++) in[i] = int(noise(i) % 2000) - 1000;
    for (int i = 0; i < n; i++)
        sum += in[i], least = std::min(least, in[i]), most = std::max(most, in[i]);
    for (at = 0; n && in[at] != most;) at++;
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceReduce::Sum(t, b, in, out, n, stream); });
    CHECK(*out == sum);
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceReduce::Min(t, b, in, out, n, stream); });
    CHECK(*out == least);
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceReduce::Max(t, b, in, out, n, stream); });
    CHECK(n == 0 || *out == most);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceReduce::Reduce(t, b, in, out, n, Add(), 17, stream);
    });
    CHECK(*out == sum + 17);
#if CUB_VERSION < 300000
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceReduce::ArgMax(t, b, in, pair, n, stream); });
    CHECK(n == 0 || (pair->key == at && pair->value == most));
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceReduce::Reduce(t, b, in, out, n, cub::Sum(), 0, stream);
    });
    CHECK(*out == sum);
    cub::TransformInputIterator<int, Odd, int *> odd(in, Odd());
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceReduce::Sum(t, b, odd, out, n, stream); });
    CHECK(*out == std::count_if(in, in + n, Odd()));
#endif
    float *values = memory<float>(n + 1), *total = memory<float>(1);
    double exact = 0;
    for (int i = 0; i < n; i++) exact += values[i] = float(noise(i)) * 0x1p-32f;
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceReduce::Sum(t, b, values, total, n, stream); });
    CHECK_NEAR(*total, exact, 1e-5 * exact);
    (void)pair;
}

void check_scans(int n)
{
    int *in = memory<int>(n + 1), *out = memory<int>(n + 1), sum = 0, before = 5;
    Affine *f = memory<Affine>(n + 1), *g = memory<Affine>(n + 1), composed{1, 0};
    for (int i = 0; i < n; i++)
        in[i] = int(noise(i) % 100), f[i] = Affine{unsigned(in[i]) | 1, unsigned(in[i])};
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceScan::ExclusiveSum(t, b, in, out, n); });
    for (int i = 0; i < n; sum += in[i++]) CHECK(out[i] == sum);
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceScan::InclusiveSum(t, b, in, out, n); });
    for (int i = sum = 0; i < n; i++) CHECK(out[i] == (sum += in[i]));
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceScan::ExclusiveScan(t, b, in, out, Largest(), 5, n);
    });
    for (int i = 0; i < n; before = std::max(before, in[i++])) CHECK(out[i] == before);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceScan::InclusiveScan(t, b, f, g, Compose(), n);
    });
    for (int i = 0; i < n; i++) {
        composed = Compose()(composed, f[i]);
        CHECK(g[i].a == composed.a && g[i].b == composed.b);
    }
    with_storage([=](void *t, size_t &b) {
        return t ? cub::DeviceScan::InclusiveSum(t, b, in, in, n)
                 : cub::DeviceScan::InclusiveSum(t, b, in, in, n);
    });
    for (int i = 0; i < n; i++) CHECK(in[i] == (i ? in[i - 1] : 0) + int(noise(i) % 100));
}

template <class Key> void check_sorts(int n, Key (*make)(unsigned))
{
    Key *in = memory<Key>(n + 1), *out = memory<Key>(n + 1), *other = memory<Key>(n + 1);
    int *values = memory<int>(n + 1), *values_out = memory<int>(n + 1),
        *values_other = memory<int>(n + 1);
    for (int i = 0; i < n; i++) in[i] = make(noise(i)), values[i] = i;
    std::vector<int> rising(n), falling(n);
    for (int i = 0; i < n; i++) rising[i] = falling[i] = i;
    std::stable_sort(rising.begin(), rising.end(), [in](int a, int b) { return in[a] < in[b]; });
    std::stable_sort(falling.begin(), falling.end(), [in](int a, int b) { return in[a] > in[b]; });
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceRadixSort::SortKeys(t, b, in, out, n); });
    for (int i = 0; i < n; i++) CHECK(out[i] == in[rising[i]]);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceRadixSort::SortKeysDescending(t, b, in, out, n);
    });
    for (int i = 0; i < n; i++) CHECK(out[i] == in[falling[i]]);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceRadixSort::SortPairs(t, b, in, out, values, values_out, n);
    });
    for (int i = 0; i < n; i++) CHECK(out[i] == in[rising[i]] && values_out[i] == rising[i]);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceRadixSort::SortPairsDescending(t, b, in, out, values, values_out, n);
    });
    for (int i = 0; i < n; i++) CHECK(out[i] == in[falling[i]] && values_out[i] == falling[i]);
    std::copy(in, in + n, out);
    std::copy(values, values + n, values_out);
    cub::DoubleBuffer<Key> keys(out, other);
    cub::DoubleBuffer<int> places(values_out, values_other);
    with_storage(
        [&](void *t, size_t &b) { return cub::DeviceRadixSort::SortPairs(t, b, keys, places, n); });
    for (int i = 0; i < n; i++)
        CHECK(keys.Current()[i] == in[rising[i]] && places.Current()[i] == rising[i]);
    std::copy(in, in + n, out);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceMergeSort::StableSortKeys(t, b, out, n, Less());
    });
    for (int i = 0; i < n; i++) CHECK(out[i] == in[rising[i]]);
}
// Only some bits of the keys count.
void check_some_bits(int n)
{
    unsigned *in = memory<unsigned>(n), *out = memory<unsigned>(n);
    for (int i = 0; i < n; i++) in[i] = noise(i);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceRadixSort::SortKeys(t, b, in, out, n, 5, 17);
    });
    std::vector<unsigned> wanted(in, in + n);
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](unsigned a, unsigned b) { return (a >> 5 & 0xfff) < (b >> 5 & 0xfff); });
    CHECK(std::equal(wanted.begin(), wanted.end(), out));
}

void check_selections(int n)
{
    int *in = memory<int>(n + 1), *out = memory<int>(n + 1), *count = memory<int>(1),
        *lengths = memory<int>(n + 1);
    char *flags = memory<char>(n + 1);
    for (int i = 0; i < n; i++) in[i] = int(noise(i / 3) % 50), flags[i] = char(noise(i) % 2);
    std::vector<int> odd, flagged, unique;
    for (int i = 0; i < n; i++) {
        if (in[i] % 2) odd.push_back(in[i]);
        if (flags[i]) flagged.push_back(in[i]);
        if (!i || in[i] != in[i - 1]) unique.push_back(in[i]);
    }
    const auto is = [=](const std::vector<int> &wanted) {
        return *count == int(wanted.size()) && std::equal(wanted.begin(), wanted.end(), out);
    };
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceSelect::If(t, b, in, out, count, n, Odd()); });
    CHECK(is(odd));
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceSelect::Flagged(t, b, in, flags, out, count, n);
    });
    CHECK(is(flagged));
    with_storage(
        [=](void *t, size_t &b) { return cub::DeviceSelect::Unique(t, b, in, out, count, n); });
    CHECK(is(unique));
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceRunLengthEncode::Encode(t, b, in, out, lengths, count, n);
    });
    CHECK(is(unique));
    int all = 0;
    for (int i = 0; i < *count; i++) all += lengths[i];
    CHECK(all == n);
    with_storage([=](void *t, size_t &b) {
        return cub::DevicePartition::If(t, b, in, out, count, n, Odd());
    });
    CHECK(is(odd));
    for (int i = 0, at = n; i < n; i++)
        if (in[i] % 2 == 0) CHECK(out[--at] == in[i]);
    int *sums = memory<int>(n + 1), *keys = memory<int>(n + 1);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceReduce::ReduceByKey(t, b, in, keys, in, sums, count, Add(), n);
    });
    CHECK(*count == int(unique.size()));
    for (int i = 0; i < *count; i++)
        CHECK(keys[i] == unique[i] && sums[i] == unique[i] * lengths[i]);
}

void check_segments(int segments, int size)
{
    int n = segments * size, *in = memory<int>(n), *out = memory<int>(n),
        *offsets = memory<int>(segments + 1);
    for (int i = 0; i <= segments; i++) offsets[i] = i == segments ? n : i * size - (i % 3 ? 1 : 0);
    for (int i = 0; i < n; i++) in[i] = int(noise(i) % 1000);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceSegmentedReduce::Sum(t, b, in, out, segments, offsets, offsets + 1);
    });
    for (int s = 0; s < segments; s++) {
        int sum = 0;
        for (int i = offsets[s]; i < offsets[s + 1]; i++) sum += in[i];
        CHECK(out[s] == sum);
    }
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceSegmentedReduce::Max(t, b, in, out, segments, offsets, offsets + 1);
    });
    for (int s = 0; s < segments; s++)
        CHECK(out[s] == *std::max_element(in + offsets[s], in + offsets[s + 1]));
    std::vector<int> wanted(in, in + n);
    for (int s = 0; s < segments; s++)
        std::sort(&wanted[0] + offsets[s], &wanted[0] + offsets[s + 1]);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceSegmentedRadixSort::SortKeys(t, b, in, out, n, segments, offsets,
                                                       offsets + 1);
    });
    CHECK(std::equal(wanted.begin(), wanted.end(), out));
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceSegmentedSort::StableSortKeys(t, b, in, out, n, segments, offsets,
                                                        offsets + 1);
    });
    CHECK(std::equal(wanted.begin(), wanted.end(), out));
}

void check_histograms(int n)
{
    float *in = memory<float>(n), *levels = memory<float>(4);
    int *bins = memory<int>(10), even[10] = {0}, ranges[3] = {0};
    for (int i = 0; i < n; i++) in[i] = float(int(noise(i) % 1200)) / 100 - 1;
    levels[0] = 0, levels[1] = 1.5f, levels[2] = 4, levels[3] = 9;
    for (int i = 0; i < n; i++) {
        if (in[i] >= 0 && in[i] < 10) even[int(in[i])]++;
        for (int j = 0; j < 3; j++) ranges[j] += in[i] >= levels[j] && in[i] < levels[j + 1];
    }
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(t, b, in, bins, 11, 0.0f, 10.0f, n);
    });
    for (int i = 0; i < 10; i++) CHECK(bins[i] == even[i]);
    with_storage([=](void *t, size_t &b) {
        return cub::DeviceHistogram::HistogramRange(t, b, in, bins, 4, levels, n);
    });
    for (int i = 0; i < 3; i++) CHECK(bins[i] == ranges[i]);
}

// Work of CUB belongs to its stream: a captured call runs when the graph does.
void check_capture()
{
    int *in = memory<int>(100), *out = memory<int>(1);
    size_t bytes = 0;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK_CUDA(cudaStreamCreate(&stream));
    cub::DeviceReduce::Sum(nullptr, bytes, in, out, 100, stream);
    void *storage = memory<char>(bytes);
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK_CUDA(cub::DeviceReduce::Sum(storage, bytes, in, out, 100, stream));
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK(*out == 0);
    CHECK_CUDA(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 100; i++) in[i] = i;
    CHECK_CUDA(cudaGraphLaunch(ready, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK(*out == 4950);
}

int main()
{
    check_block_reduce<128, 1, 1, cub::BLOCK_REDUCE_WARP_REDUCTIONS>();
    check_block_reduce<16, 12, 3, cub::BLOCK_REDUCE_RAKING>();
    check_block_scan<128, 4>();
    check_block_moves<64, 5>();
    check_block_sort<float, 64, 4>([](unsigned x) { return float(int(x % 200) - 100) / 8; });
    check_block_counts();
    check_warps<32>();
    check_warps<16>();
    for (int n : {0, 1, 1000, 100000}) check_reductions(n, nullptr);
    for (int n : {0, 1, 777, 50000}) check_scans(n);
    check_sorts<int>(5000, [](unsigned x) { return int(x); });
    check_sorts<double>(1000, [](unsigned x) { return (double(x % 1000) - 500) / 4; });
    check_sorts<unsigned short>(3000, [](unsigned x) { return (unsigned short)(x % 300); });
    check_some_bits(2000);
    check_selections(3001);
    check_segments(100, 37);
    check_histograms(4000);
    check_capture();
    return result();
}
