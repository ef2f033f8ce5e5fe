// The judge's own kernels. NVRTC compiles them for the device (kernels_build.c), without
// contraction to fma. They run in the judge's context, on the memory that the runners map. They use
// the formulas of the CPU, so both agree bit for bit.

#include "inputs_element.h"
#include "compare_formula.h"
#include "kernels.h"

typedef unsigned long long word64;

__device__ static word64 first_unit(const kf_slice &slice)
{
    return (word64)slice.number * blockDim.x + threadIdx.x;
}

__device__ static word64 stride_of(const kf_slice &slice)
{
    return (word64)slice.count * blockDim.x;
}

// ---- inputs ------------------------------------------------------------------------------------

__device__ static double number_of_element(int dtype, uint64_t bits)
{
    switch (dtype) {
    case KF_F64: return __longlong_as_double((long long)bits);
    case KF_F32:
    case KF_TF32: return (double)kf_float_of_bits((uint32_t)bits);
    case KF_F16: return (double)kf_float_of_f16((uint16_t)bits);
    case KF_BF16: return (double)kf_float_of_bits((uint32_t)bits << 16);
    case KF_F8E4M3: return (double)kf_float_of_f8((uint8_t)bits, 3);
    case KF_F8E5M2: return (double)kf_float_of_f8((uint8_t)bits, 2);
    case KF_I64: return (double)(int64_t)bits;
    case KF_I32: return (double)(int32_t)bits;
    case KF_I16: return (double)(int16_t)bits;
    case KF_I8: return (double)(int8_t)bits;
    default: return (double)(uint8_t)bits;
    }
}

__device__ static int size_of(int dtype)
{
    switch (dtype) {
    case KF_F64:
    case KF_I64: return 8;
    case KF_F32:
    case KF_TF32:
    case KF_I32: return 4;
    case KF_F16:
    case KF_BF16:
    case KF_I16: return 2;
    default: return 1;
    }
}

// Data is aligned to 256 bytes, so a group is aligned to its size.
template <typename T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) four {
    T e[4];
};

template <typename T>
__device__ static void store(void *data, word64 group, const uint64_t elements[4], int count)
{
    T *out = (T *)data + 4 * group;
    if (count == 4) {
        *(four<T> *)out = four<T>{{(T)elements[0], (T)elements[1], (T)elements[2], (T)elements[3]}};
    } else {
        for (int i = 0; i < count; i++) out[i] = (T)elements[i];
    }
}

__device__ static void store_four(int size, void *data, word64 group, const uint64_t elements[4],
                                  int count)
{
    switch (size) {
    case 8: store<uint64_t>(data, group, elements, count); break;
    case 4: store<uint32_t>(data, group, elements, count); break;
    case 2: store<uint16_t>(data, group, elements, count); break;
    default: store<uint8_t>(data, group, elements, count); break;
    }
}

__device__ static void store_group(const kf_input_plan *plan, void *data, word64 group, bool wide,
                                   uint64_t elements[4])
{
    for (int i = 0; i < 4 && wide; i++)
        elements[i] = (uint64_t)__double_as_longlong(number_of_element(plan->dtype, elements[i]));
    const word64 left = plan->elements - 4 * group;
    store_four(wide ? 8 : size_of(plan->dtype), data, group, elements, left < 4 ? (int)left : 4);
}

// Not inlined: it is large, two kernels use it, and NVRTC would take seconds more.
__device__ __noinline__ static void fill_group(const kf_fill_task *task, word64 group)
{
    uint64_t elements[4];
    kf_input_four(&task->plan, group, elements);
    store_group(&task->plan, (void *)task->data, group, task->wide, elements);
}

extern "C" __global__ void kf_fill(const kf_fill_task *tasks, const kf_slice *slices)
{
    __shared__ kf_fill_task task;
    const kf_slice slice = slices[blockIdx.x];
    if (threadIdx.x == 0) task = tasks[slice.task];
    __syncthreads();
    const word64 groups = (task.plan.elements + 3) / 4;
    for (word64 group = first_unit(slice); group < groups; group += stride_of(slice))
        fill_group(&task, group);
}

// With a known kind and type the compiler drops the rest of the formula. kf_fill_special writes the
// special elements.
template <int KIND, int DTYPE, bool WIDE>
__device__ static void fill_quickly(const kf_fill_task *task, const kf_slice &slice)
{
    kf_input_plan plan = task->plan;
    plan.kind = KIND;
    plan.dtype = DTYPE;
    // Integers: kf_fill makes clusters.
    if (KIND == KF_INTEGERS) plan.variation = KF_VARY_NONE;
    void *data = (void *)task->data;
    const word64 groups = (plan.elements + 3) / 4, step = stride_of(slice);
    for (word64 group = first_unit(slice); group < groups; group += step) {
        uint64_t elements[4];
        if (KIND == KF_INTEGERS)
            kf_carried_integers(&plan, group, elements);
        else
            kf_carried_floats(&plan, group, 4, elements);
        store_group(&plan, data, group, WIDE, elements);
    }
}

extern "C" __global__ void __launch_bounds__(KF_KERNEL_THREADS, 6)
    kf_fill_quick(const kf_fill_task *tasks, const kf_slice *slices)
{
    __shared__ kf_fill_task task;
    const kf_slice slice = slices[blockIdx.x];
    if (threadIdx.x == 0) task = tasks[slice.task];
    __syncthreads();
    switch (task.route) {
    case KF_FILL_NORMAL_F32: fill_quickly<KF_NORMAL, KF_F32, false>(&task, slice); break;
    case KF_FILL_NORMAL_F16: fill_quickly<KF_NORMAL, KF_F16, false>(&task, slice); break;
    case KF_FILL_NORMAL_BF16: fill_quickly<KF_NORMAL, KF_BF16, false>(&task, slice); break;
    case KF_FILL_NORMAL_WIDE: fill_quickly<KF_NORMAL, KF_F32, true>(&task, slice); break;
    case KF_FILL_UNIFORM_F32: fill_quickly<KF_UNIFORM, KF_F32, false>(&task, slice); break;
    case KF_FILL_UNIFORM_F16: fill_quickly<KF_UNIFORM, KF_F16, false>(&task, slice); break;
    case KF_FILL_UNIFORM_BF16: fill_quickly<KF_UNIFORM, KF_BF16, false>(&task, slice); break;
    case KF_FILL_UNIFORM_WIDE: fill_quickly<KF_UNIFORM, KF_F32, true>(&task, slice); break;
    case KF_FILL_INTEGERS_I32: fill_quickly<KF_INTEGERS, KF_I32, false>(&task, slice); break;
    case KF_FILL_INTEGERS_U8: fill_quickly<KF_INTEGERS, KF_U8, false>(&task, slice); break;
    }
}

// Fills the groups with a special element again. A run has at most one.
extern "C" __global__ void kf_fill_special(const kf_fill_task *tasks, const kf_slice *slices)
{
    __shared__ kf_fill_task task;
    const kf_slice slice = slices[blockIdx.x];
    if (threadIdx.x == 0) task = tasks[slice.task];
    __syncthreads();
    const kf_input_plan *plan = &task.plan;
    const word64 runs = (plan->elements + KF_RUN - 1) / KF_RUN;
    const uint32_t purpose =
        plan->variation == KF_VARY_NONFINITE ? KF_FOR_NONFINITE : KF_FOR_OUTLIERS;
    for (word64 run = first_unit(slice); run < runs; run += stride_of(slice)) {
        uint32_t words[4];
        const word64 first = run * (KF_RUN / 4);
        kf_plan_block(plan, purpose, run, words);
        fill_group(&task, first + kf_special_of_group(plan, first, words) / 4);
    }
}

// ---- poison ------------------------------------------------------------------------------------

__device__ static uint4 poison_block(const kf_poison_task *task, word64 block)
{
    uint32_t w[4];
    kf_stream_block(task->secret, task->set, task->argument, KF_FOR_POISON, block, w);
    return make_uint4(w[0], w[1], w[2], w[3]);
}

extern "C" __global__ void kf_poison(const kf_poison_task *tasks, const kf_slice *slices)
{
    const kf_slice slice = slices[blockIdx.x];
    const kf_poison_task task = tasks[slice.task];
    if (!task.count) return;
    const word64 end = task.first + task.count, last = (end - 1) / 16;
    unsigned char *start = (unsigned char *)task.start;
    for (word64 block = task.first / 16 + first_unit(slice); block <= last;
         block += stride_of(slice)) {
        const uint4 value = poison_block(&task, block);
        if (16 * block >= task.first && 16 * block + 16 <= end) {
            ((uint4 *)start)[block] = value;
        } else {
            const unsigned char *bytes = (const unsigned char *)&value;
            for (int i = 0; i < 16; i++)
                if (16 * block + i >= task.first && 16 * block + i < end)
                    start[16 * block + i] = bytes[i];
        }
    }
}

// where[task] becomes the first byte that differs, or stays as it is.
extern "C" __global__ void kf_check(const kf_poison_task *tasks, const kf_slice *slices,
                                    word64 *where)
{
    const kf_slice slice = slices[blockIdx.x];
    const kf_poison_task task = tasks[slice.task];
    if (!task.count) return;
    const word64 end = task.first + task.count, last = (end - 1) / 16;
    const unsigned char *start = (const unsigned char *)task.start;
    word64 first = ~0ull;
    for (word64 block = task.first / 16 + first_unit(slice); block <= last;
         block += stride_of(slice)) {
        const uint4 value = poison_block(&task, block);
        const unsigned char *bytes = (const unsigned char *)&value;
        if (16 * block >= task.first && 16 * block + 16 <= end) {
            const uint4 found = ((const uint4 *)start)[block];
            if (found.x == value.x && found.y == value.y && found.z == value.z &&
                found.w == value.w)
                continue;
        }
        for (int i = 15; i >= 0; i--) {
            const word64 at = 16 * block + i;
            if (at >= task.first && at < end && start[at] != bytes[i] && at < first) first = at;
        }
    }
    if (first != ~0ull) atomicMin(&where[slice.task], first);
}

// ---- digests -----------------------------------------------------------------------------------

// Adds a keyed hash of each block of 16 bytes and its place. The order of additions does not
// matter. Without the key, no change of bytes can keep the sum.
__device__ static word64 mix(word64 x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

__device__ static word64 digest_block(const uint4 &w, word64 key, word64 block)
{
    const word64 place = key + block * 0x9e3779b97f4a7c15ull;
    return mix(mix(((word64)w.y << 32 | w.x) ^ place) + ((word64)w.w << 32 | w.z));
}

extern "C" __global__ void kf_digest(const kf_digest_task *tasks, const kf_slice *slices,
                                     word64 *digests)
{
    const kf_slice slice = slices[blockIdx.x];
    const kf_digest_task task = tasks[slice.task];
    if (!task.bytes) return;
    const word64 whole = task.bytes / 16, step = stride_of(slice);
    const uint4 *blocks = (const uint4 *)task.data;
    word64 sum = 0, block = first_unit(slice);
    for (; block + 3 * step < whole; block += 4 * step) { // Four loads in flight.
        const uint4 w[4] = {blocks[block], blocks[block + step], blocks[block + 2 * step],
                            blocks[block + 3 * step]};
        for (int i = 0; i < 4; i++) sum += digest_block(w[i], task.key, block + i * step);
    }
    for (; block < whole; block += step) sum += digest_block(blocks[block], task.key, block);
    if (block == whole) { // The rest, less than a block.
        uint4 w = make_uint4(0, 0, 0, 0);
        unsigned char *bytes = (unsigned char *)&w;
        for (word64 i = 16 * whole; i < task.bytes; i++)
            bytes[i - 16 * whole] = ((const unsigned char *)task.data)[i];
        sum += digest_block(w, task.key, block);
    }
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(&digests[slice.task], sum);
}

// ---- errors against the truth ------------------------------------------------------------------

template <int D> struct storage {
    typedef uint8_t type;
};
template <> struct storage<KF_F64> {
    typedef uint64_t type;
};
template <> struct storage<KF_I64> {
    typedef uint64_t type;
};
template <> struct storage<KF_F32> {
    typedef uint32_t type;
};
template <> struct storage<KF_I32> {
    typedef uint32_t type;
};
template <> struct storage<KF_F16> {
    typedef uint16_t type;
};
template <> struct storage<KF_BF16> {
    typedef uint16_t type;
};
template <> struct storage<KF_I16> {
    typedef uint16_t type;
};

template <int D> __device__ static double as_stored(double value)
{
    if (D == KF_F32) return (double)(float)value;
    if (D == KF_F16) return number_of_element(D, kf_narrow_encode(value, 5, 10, 1));
    if (D == KF_BF16) return number_of_element(D, kf_narrow_encode(value, 8, 7, 1));
    return value;
}

// The expected value: a float64, or an integer as it is stored.
template <int D> __device__ static double as_number(double value)
{
    return value;
}

template <int D, typename T> __device__ static double as_number(T bits)
{
    return number_of_element(D, bits);
}

__device__ static void add_part(kf_device_compare_part *all, double sum_square, double max,
                                double scale_square, double scale_max, int64_t nonfinite,
                                int64_t first, int64_t failed)
{
    all->sum_square += sum_square;
    all->max = fmax(all->max, max);
    all->scale_square += scale_square;
    all->scale_max = fmax(all->scale_max, scale_max);
    if (first >= 0 && (all->first_nonfinite < 0 || first < all->first_nonfinite))
        all->first_nonfinite = first;
    all->nonfinite += nonfinite;
    all->failed += failed;
}

template <int D, typename T, typename E>
__device__ static void device_compare_element(const kf_device_compare_task *task,
                                              kf_device_compare_part *part, word64 i, T stored,
                                              E should)
{
    double error, scale;
    bool passes;
    if (D == KF_I64) {
        const int64_t a = (int64_t)stored, b = (int64_t)should;
        error = (double)(a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a);
        scale = fabs((double)b);
        passes = error <= task->slope * scale + task->base;
    } else {
        double got = number_of_element(D, stored), expected = as_number<D>(should);
        double sum_got = got, sum_expected = expected;
        const bool numbers =
            kf_comparable(task->largest, task->roundoff, 0, &sum_got, &sum_expected);
        if (!numbers) {
            if (part->nonfinite++ == 0) part->first_nonfinite = (int64_t)i;
            sum_got = sum_expected = 0;
        }
        error = fabs(sum_got - sum_expected);
        scale = numbers ? kf_scale_of(task->largest, expected) : 0;
        if (task->rounded) {
            expected = as_stored<D>(expected);
            passes = kf_comparable(task->largest, task->roundoff, 0, &got, &expected) &&
                     fabs(got - expected) <= 0;
        } else {
            passes =
                numbers && error <= fmin(1.7976931348623157e308,
                                         task->slope * fabs(sum_expected) + task->base);
        }
    }
    part->sum_square += error * error;
    part->max = fmax(part->max, error);
    part->scale_square += scale * scale;
    part->scale_max = fmax(part->scale_max, scale);
    part->failed += !passes;
}

// Compares four f32 elements at a time, with a few loads. Most outputs are f32. The same code for
// every type would take NVRTC too long.
template <int D, typename E>
__device__ static void device_compare(const kf_device_compare_task *task, const kf_slice &slice,
                                      kf_device_compare_part *part)
{
    typedef typename storage<D>::type T;
    const T *got = (const T *)task->got;
    const E *expected = (const E *)task->expected;
    const word64 step = stride_of(slice), whole = D == KF_F32 ? task->elements / 4 : 0;
    for (word64 group = first_unit(slice); D == KF_F32 && group < whole; group += step) {
        const four<T> a = ((const four<T> *)got)[group];
        const four<E> b = ((const four<E> *)expected)[group];
        for (int i = 0; i < 4; i++)
            device_compare_element<D>(task, part, 4 * group + i, a.e[i], b.e[i]);
    }
#pragma unroll 1
    for (word64 i = 4 * whole + first_unit(slice); i < task->elements; i += step)
        device_compare_element<D>(task, part, i, got[i], expected[i]);
}

extern "C" __global__ void kf_device_compare(const kf_device_compare_task *tasks,
                                             const kf_slice *slices, kf_device_compare_part *parts)
{
    __shared__ kf_device_compare_part warps[KF_KERNEL_THREADS / 32];
    const kf_slice slice = slices[blockIdx.x];
    const kf_device_compare_task task = tasks[slice.task];
    kf_device_compare_part part = {0, 0, 0, 0, 0, -1, 0};
    switch (task.dtype) {
    case KF_F64: device_compare<KF_F64, double>(&task, slice, &part); break;
    case KF_F32:
    case KF_TF32: device_compare<KF_F32, double>(&task, slice, &part); break;
    case KF_F16: device_compare<KF_F16, double>(&task, slice, &part); break;
    case KF_BF16: device_compare<KF_BF16, double>(&task, slice, &part); break;
    case KF_I64: device_compare<KF_I64, storage<KF_I64>::type>(&task, slice, &part); break;
    case KF_I32: device_compare<KF_I32, storage<KF_I32>::type>(&task, slice, &part); break;
    case KF_I16: device_compare<KF_I16, storage<KF_I16>::type>(&task, slice, &part); break;
    case KF_I8: device_compare<KF_I8, storage<KF_I8>::type>(&task, slice, &part); break;
    default: device_compare<KF_U8, storage<KF_U8>::type>(&task, slice, &part); break;
    }
    for (int offset = 16; offset; offset >>= 1)
        add_part(&part, __shfl_xor_sync(~0u, part.sum_square, offset),
                 __shfl_xor_sync(~0u, part.max, offset),
                 __shfl_xor_sync(~0u, part.scale_square, offset),
                 __shfl_xor_sync(~0u, part.scale_max, offset),
                 __shfl_xor_sync(~0u, (long long)part.nonfinite, offset),
                 __shfl_xor_sync(~0u, (long long)part.first_nonfinite, offset),
                 __shfl_xor_sync(~0u, (long long)part.failed, offset));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = part;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < KF_KERNEL_THREADS / 32; w++)
        add_part(&part, warps[w].sum_square, warps[w].max, warps[w].scale_square,
                 warps[w].scale_max, warps[w].nonfinite, warps[w].first_nonfinite, warps[w].failed);
    parts[blockIdx.x] = part;
}

// ---- outputs that change after the clock has stopped --------------------------------------------

// Reads some blocks of each output: random ones, drawn by `seed`, and the last one. compare 0:
// remembers them. compare 1: counts the blocks that have changed.
extern "C" __global__ void kf_snapshot(const kf_snapshot_task *tasks, const kf_slice *slices,
                                       word64 seed, uint4 *remembered, unsigned *changed,
                                       int compare)
{
    const uint32_t number_of_task = slices[blockIdx.x].task;
    const kf_snapshot_task task = tasks[number_of_task];
    const word64 blocks = task.bytes / 16;
    if (!blocks || threadIdx.x >= KF_SNAPSHOTS) return;
    const word64 number = (word64)number_of_task * KF_SNAPSHOTS + threadIdx.x;
    const word64 block =
        threadIdx.x ? __umul64hi(mix(seed + number * 0x9e3779b97f4a7c15ull), blocks) : blocks - 1;
    const volatile uint4 *at = (const volatile uint4 *)task.data + block;
    const uint4 value = make_uint4(at->x, at->y, at->z, at->w);
    if (!compare) {
        remembered[number] = value;
    } else {
        const uint4 old = remembered[number];
        if (old.x != value.x || old.y != value.y || old.z != value.z || old.w != value.w)
            atomicAdd(&changed[number_of_task], 1u);
    }
}

// ---- the device occupied -----------------------------------------------------------------------

__device__ static word64 global_nanoseconds()
{
    word64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Samples the time until the judge sets the switch, for `most` nanoseconds at most. Only the first
// block reads host memory. Work of another context interrupts all blocks.
extern "C" __global__ void kf_occupy(kf_occupy_switch *host, kf_occupy_report *report, word64 most)
{
    if (threadIdx.x) return;
    volatile kf_occupy_switch *door = host;
    volatile uint32_t *released = &report->released;
    const word64 began = global_nanoseconds();
    word64 last = began, longest = 0, shortest = ~0ull;
    if (blockIdx.x == 0) door->started = 1;
    for (bool over = false; !over;) {
        const word64 now = global_nanoseconds(), gap = now - last;
        last = now;
        if (gap > longest) longest = gap;
        if (gap && gap < shortest) shortest = gap;
        const bool stop = blockIdx.x == 0 ? door->stop : *released;
        if (!stop && now - began > most) atomicAdd(&report->expired, 1u);
        over = stop || now - began > most;
        __nanosleep(100);
    }
    if (blockIdx.x == 0) *released = 1;
    atomicMax((word64 *)&report->longest, longest);
    atomicMin((word64 *)&report->shortest, shortest);
}

// Remembers random blocks of each input, one of each of KF_WITHHELD_BLOCKS equal parts, and writes
// other blocks of the same input in their place.
extern "C" __global__ void kf_withhold(const kf_snapshot_task *tasks, const kf_slice *slices,
                                       word64 seed, kf_withheld_block *withheld)
{
    const uint32_t number_of_task = slices[blockIdx.x].task;
    const kf_snapshot_task task = tasks[number_of_task];
    const word64 blocks = task.bytes / 16;
    if (threadIdx.x >= KF_WITHHELD_BLOCKS) return;
    const word64 number = (word64)number_of_task * KF_WITHHELD_BLOCKS + threadIdx.x;
    const word64 first = blocks * threadIdx.x / KF_WITHHELD_BLOCKS;
    const word64 count = blocks * (threadIdx.x + 1) / KF_WITHHELD_BLOCKS - first;
    kf_withheld_block *w = &withheld[number];
    w->address = 0;
    if (!count) return;
    const word64 random = mix(seed + number * 0x9e3779b97f4a7c15ull);
    uint4 *data = (uint4 *)task.data, *at = data + first + __umul64hi(random, count);
    const uint4 value = *at, other = data[__umul64hi(mix(random), blocks)];
    w->address = (uint64_t)at;
    w->words[0] = value.x, w->words[1] = value.y, w->words[2] = value.z, w->words[3] = value.w;
    *at = other;
}

extern "C" __global__ void kf_reveal(const kf_withheld_block *withheld, word64 count)
{
    const word64 i = (word64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || !withheld[i].address) return;
    const uint32_t *w = withheld[i].words;
    *(uint4 *)withheld[i].address = make_uint4(w[0], w[1], w[2], w[3]);
}

// ---- caches and ceilings -----------------------------------------------------------------------

__device__ static word64 thread_of_grid()
{
    return (word64)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static word64 threads_of_grid()
{
    return (word64)gridDim.x * blockDim.x;
}

extern "C" __global__ void kf_read(const uint4 *data, word64 blocks, unsigned *sink)
{
    uint4 all = make_uint4(0, 0, 0, 0);
    for (word64 i = thread_of_grid(); i < blocks; i += threads_of_grid()) {
        const uint4 w = data[i];
        all.x ^= w.x, all.y ^= w.y, all.z ^= w.z, all.w ^= w.w;
    }
    if ((all.x ^ all.y ^ all.z ^ all.w) == 0x13579bdfu) atomicAdd(sink, 1u);
}

extern "C" __global__ void kf_copy(const uint4 *from, uint4 *to, word64 blocks)
{
    for (word64 i = thread_of_grid(); i < blocks; i += threads_of_grid()) to[i] = from[i];
}

// Returns the cycles that a read from the L2 or from memory takes. The store waits for the word.
__device__ static uint32_t read_cycles(uint64_t address, volatile uint32_t *sink)
{
    uint32_t word;
    const uint32_t began = (uint32_t)clock64();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(word) : "l"(address) : "memory");
    *sink = word;
    return (uint32_t)clock64() - began;
}

// One thread of each block, so that reads hardly wait for one another.
extern "C" __global__ void kf_cached(kf_cache_sample *samples, uint32_t count)
{
    __shared__ volatile uint32_t sink;
    if (threadIdx.x) return;
    for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
        read_cycles(samples[i].neighbour, &sink);
        samples[i].first = read_cycles(samples[i].address, &sink);
        samples[i].again = read_cycles(samples[i].address, &sink);
        samples[i].third = read_cycles(samples[i].address, &sink);
    }
}

// ---- results of PyTorch ------------------------------------------------------------------------

template <typename item>
static __device__ void gather(const kf_gather_task *task, const kf_slice &slice)
{
    const item *from = (const item *)task->from;
    item *to = (item *)task->to;
    for (word64 i = first_unit(slice); i < task->elements; i += stride_of(slice)) {
        word64 rest = i, at = 0;
        for (int d = (int)task->dims - 1; d >= 0; d--) {
            at += rest % task->sizes[d] * task->strides[d];
            rest /= task->sizes[d];
        }
        to[i] = from[at];
    }
}

extern "C" __global__ void kf_gather(const kf_gather_task *tasks, const kf_slice *slices)
{
    const kf_slice slice = slices[blockIdx.x];
    const kf_gather_task task = tasks[slice.task];
    switch (task.item) {
    case 1: gather<unsigned char>(&task, slice); break;
    case 2: gather<unsigned short>(&task, slice); break;
    case 4: gather<unsigned>(&task, slice); break;
    default: gather<word64>(&task, slice); break;
    }
}
