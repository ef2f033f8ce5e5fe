// The judge's own kernels, compiled by NVRTC for the device at hand (kernels.c). They run in the judge's context, on the same memory that
// the runners map. Numbers come from the formulas that the CPU uses, so both agree bit for bit; compiled without contraction to fma.

#include "inputs_element.h"
#include "compare_formula.h"
#include "kernels.h"

typedef unsigned long long word64;

__device__ static word64 thread_of_row()
{
    return (word64)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static word64 threads_of_row()
{
    return (word64)gridDim.x * blockDim.x;
}

// ---- inputs --------------------------------------------------------------------------------------------------------------------------

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

template <typename T> __device__ static void store(void *data, word64 group, const uint64_t elements[4], int count)
{
    T *out = (T *)data + 4 * group;
    if (count == 4) { // data is aligned to 256 bytes, so a group is aligned to its size
        struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) four { T e[4]; };
        *(four *)out = four{{(T)elements[0], (T)elements[1], (T)elements[2], (T)elements[3]}};
    } else {
        for (int i = 0; i < count; i++) out[i] = (T)elements[i];
    }
}

extern "C" __global__ void kf_fill(const kf_fill_task *tasks)
{
    __shared__ kf_fill_task task;
    if (threadIdx.x == 0) task = tasks[blockIdx.y];
    __syncthreads();
    const word64 count = task.plan.elements, groups = (count + 3) / 4;
    const int size = task.wide ? 8 : size_of(task.plan.dtype);
    void *data = (void *)task.data;
    for (word64 group = thread_of_row(); group < groups; group += threads_of_row()) {
        uint64_t elements[4];
        kf_input_four(&task.plan, group, elements);
        if (task.wide)
            for (int i = 0; i < 4; i++)
                elements[i] = (uint64_t)__double_as_longlong(number_of_element(task.plan.dtype, elements[i]));
        const word64 left = count - 4 * group;
        const int here = left < 4 ? (int)left : 4;
        switch (size) {
        case 8: store<uint64_t>(data, group, elements, here); break;
        case 4: store<uint32_t>(data, group, elements, here); break;
        case 2: store<uint16_t>(data, group, elements, here); break;
        default: store<uint8_t>(data, group, elements, here); break;
        }
    }
}

// ---- poison --------------------------------------------------------------------------------------------------------------------------

__device__ static uint4 poison_block(const kf_poison_task *task, word64 block)
{
    uint32_t w[4];
    kf_stream_block(task->secret, task->set, task->argument, KF_FOR_POISON, block, w);
    return make_uint4(w[0], w[1], w[2], w[3]);
}

extern "C" __global__ void kf_poison(const kf_poison_task *tasks)
{
    const kf_poison_task task = tasks[blockIdx.y];
    if (!task.count) return;
    const word64 end = task.first + task.count, last = (end - 1) / 16;
    unsigned char *start = (unsigned char *)task.start;
    for (word64 block = task.first / 16 + thread_of_row(); block <= last; block += threads_of_row()) {
        const uint4 value = poison_block(&task, block);
        if (16 * block >= task.first && 16 * block + 16 <= end) {
            ((uint4 *)start)[block] = value;
        } else {
            const unsigned char *bytes = (const unsigned char *)&value;
            for (int i = 0; i < 16; i++)
                if (16 * block + i >= task.first && 16 * block + i < end) start[16 * block + i] = bytes[i];
        }
    }
}

// where[task] becomes the first byte that differs, or stays as it is.
extern "C" __global__ void kf_check(const kf_poison_task *tasks, word64 *where)
{
    const kf_poison_task task = tasks[blockIdx.y];
    if (!task.count) return;
    const word64 end = task.first + task.count, last = (end - 1) / 16;
    const unsigned char *start = (const unsigned char *)task.start;
    word64 first = ~0ull;
    for (word64 block = task.first / 16 + thread_of_row(); block <= last; block += threads_of_row()) {
        const uint4 value = poison_block(&task, block);
        const unsigned char *bytes = (const unsigned char *)&value;
        if (16 * block >= task.first && 16 * block + 16 <= end) {
            const uint4 found = ((const uint4 *)start)[block];
            if (found.x == value.x && found.y == value.y && found.z == value.z && found.w == value.w) continue;
        }
        for (int i = 15; i >= 0; i--) {
            const word64 at = 16 * block + i;
            if (at >= task.first && at < end && start[at] != bytes[i] && at < first) first = at;
        }
    }
    if (first != ~0ull) atomicMin(&where[blockIdx.y], first);
}

// ---- digests -------------------------------------------------------------------------------------------------------------------------

// A keyed sum over blocks of 16 bytes, each mixed with its place: order does not matter, so blocks add up as they end. Whoever does not
// know the key cannot change bytes so that the sum stays.
__device__ static word64 mix(word64 x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

extern "C" __global__ void kf_digest(const kf_digest_task *tasks, word64 *digests)
{
    const kf_digest_task task = tasks[blockIdx.y];
    if (!task.bytes) return;
    const word64 whole = task.bytes / 16;
    const uint4 *blocks = (const uint4 *)task.data;
    word64 sum = 0;
    for (word64 block = thread_of_row(); block < whole + 1; block += threads_of_row()) {
        uint4 w = make_uint4(0, 0, 0, 0);
        if (block < whole) {
            w = blocks[block];
        } else {
            unsigned char *bytes = (unsigned char *)&w;
            for (word64 i = 16 * whole; i < task.bytes; i++) bytes[i - 16 * whole] = ((const unsigned char *)task.data)[i];
        }
        const word64 place = task.key + block * 0x9e3779b97f4a7c15ull;
        sum += mix(mix(((word64)w.y << 32 | w.x) ^ place) + ((word64)w.w << 32 | w.z));
    }
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(&digests[blockIdx.y], sum);
}

// ---- errors against the truth ----------------------------------------------------------------------------------------------------------

template <int D> struct storage { typedef uint8_t type; };
template <> struct storage<KF_F64> { typedef uint64_t type; };
template <> struct storage<KF_I64> { typedef uint64_t type; };
template <> struct storage<KF_F32> { typedef uint32_t type; };
template <> struct storage<KF_I32> { typedef uint32_t type; };
template <> struct storage<KF_F16> { typedef uint16_t type; };
template <> struct storage<KF_BF16> { typedef uint16_t type; };
template <> struct storage<KF_I16> { typedef uint16_t type; };

template <int D> __device__ static double as_stored(double value)
{
    if (D == KF_F32) return (double)(float)value;
    if (D == KF_F16) return number_of_element(D, kf_narrow_encode(value, 5, 10, 1));
    if (D == KF_BF16) return number_of_element(D, kf_narrow_encode(value, 8, 7, 1));
    return value;
}

__device__ static void add_part(kf_survey_part *all, double sum_square, double max, double scale_square, double scale_max,
                                int64_t nonfinite, int64_t first, int64_t failed)
{
    all->sum_square += sum_square;
    all->max = fmax(all->max, max);
    all->scale_square += scale_square;
    all->scale_max = fmax(all->scale_max, scale_max);
    if (first >= 0 && (all->first_nonfinite < 0 || first < all->first_nonfinite)) all->first_nonfinite = first;
    all->nonfinite += nonfinite;
    all->failed += failed;
}

template <int D, bool IS_FLOAT> __device__ static void survey(const kf_survey_task *task, kf_survey_part *part)
{
    typedef typename storage<D>::type element;
    const element *data = (const element *)task->got;
    for (word64 i = thread_of_row(); i < task->elements; i += threads_of_row()) {
        double error, scale;
        bool passes;
        if (D == KF_I64) {
            const int64_t a = (int64_t)data[i], b = ((const int64_t *)task->expected)[i];
            error = (double)(a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a);
            scale = fabs((double)b);
            passes = error <= task->slope * scale + task->base;
        } else {
            double got = number_of_element(D, data[i]);
            double expected =
                IS_FLOAT ? ((const double *)task->expected)[i] : number_of_element(D, ((const element *)task->expected)[i]);
            double sum_got = got, sum_expected = expected;
            const bool numbers = kf_comparable(task->largest, task->roundoff, 0, &sum_got, &sum_expected);
            if (!numbers) {
                if (part->nonfinite++ == 0) part->first_nonfinite = (int64_t)i;
                sum_got = sum_expected = 0;
            }
            error = fabs(sum_got - sum_expected);
            scale = fabs(sum_expected);
            if (task->rounded) {
                expected = as_stored<D>(expected);
                passes = kf_comparable(task->largest, task->roundoff, 0, &got, &expected) && fabs(got - expected) <= 0;
            } else {
                passes = numbers && error <= fmin(1.7976931348623157e308, task->slope * scale + task->base);
            }
        }
        part->sum_square += error * error;
        part->max = fmax(part->max, error);
        part->scale_square += scale * scale;
        part->scale_max = fmax(part->scale_max, scale);
        part->failed += !passes;
    }
}

extern "C" __global__ void kf_survey(const kf_survey_task *tasks, kf_survey_part *parts)
{
    __shared__ kf_survey_part warps[KF_KERNEL_THREADS / 32];
    const kf_survey_task task = tasks[blockIdx.y];
    kf_survey_part part = {0, 0, 0, 0, 0, -1, 0};
    switch (task.dtype) {
    case KF_F64: survey<KF_F64, true>(&task, &part); break;
    case KF_F32:
    case KF_TF32: survey<KF_F32, true>(&task, &part); break;
    case KF_F16: survey<KF_F16, true>(&task, &part); break;
    case KF_BF16: survey<KF_BF16, true>(&task, &part); break;
    case KF_I64: survey<KF_I64, false>(&task, &part); break;
    case KF_I32: survey<KF_I32, false>(&task, &part); break;
    case KF_I16: survey<KF_I16, false>(&task, &part); break;
    case KF_I8: survey<KF_I8, false>(&task, &part); break;
    default: survey<KF_U8, false>(&task, &part); break;
    }
    for (int offset = 16; offset; offset >>= 1)
        add_part(&part, __shfl_xor_sync(~0u, part.sum_square, offset), __shfl_xor_sync(~0u, part.max, offset),
                 __shfl_xor_sync(~0u, part.scale_square, offset), __shfl_xor_sync(~0u, part.scale_max, offset),
                 __shfl_xor_sync(~0u, (long long)part.nonfinite, offset),
                 __shfl_xor_sync(~0u, (long long)part.first_nonfinite, offset),
                 __shfl_xor_sync(~0u, (long long)part.failed, offset));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = part;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < KF_KERNEL_THREADS / 32; w++)
        add_part(&part, warps[w].sum_square, warps[w].max, warps[w].scale_square, warps[w].scale_max, warps[w].nonfinite,
                 warps[w].first_nonfinite, warps[w].failed);
    parts[(word64)blockIdx.y * gridDim.x + blockIdx.x] = part;
}

// ---- is it really over -----------------------------------------------------------------------------------------------------------------

// Reads some blocks of each output, drawn by `seed`, the last one always. compare 0: remembers them; 1: counts those that have changed.
extern "C" __global__ void kf_glance(const kf_glance_task *tasks, word64 seed, uint4 *remembered, unsigned *changed, int compare)
{
    const kf_glance_task task = tasks[blockIdx.y];
    const word64 blocks = task.bytes / 16;
    if (!blocks || threadIdx.x >= KF_GLANCES) return;
    const word64 number = (word64)blockIdx.y * KF_GLANCES + threadIdx.x;
    const word64 block = threadIdx.x ? __umul64hi(mix(seed + number * 0x9e3779b97f4a7c15ull), blocks) : blocks - 1;
    const volatile uint4 *at = (const volatile uint4 *)task.data + block;
    const uint4 value = make_uint4(at->x, at->y, at->z, at->w);
    if (!compare) {
        remembered[number] = value;
    } else {
        const uint4 old = remembered[number];
        if (old.x != value.x || old.y != value.y || old.z != value.z || old.w != value.w) atomicAdd(&changed[blockIdx.y], 1u);
    }
}

// ---- caches and ceilings ---------------------------------------------------------------------------------------------------------------

extern "C" __global__ void kf_read(const uint4 *data, word64 blocks, unsigned *sink)
{
    uint4 all = make_uint4(0, 0, 0, 0);
    for (word64 i = thread_of_row(); i < blocks; i += threads_of_row()) {
        const uint4 w = data[i];
        all.x ^= w.x, all.y ^= w.y, all.z ^= w.z, all.w ^= w.w;
    }
    if ((all.x ^ all.y ^ all.z ^ all.w) == 0x13579bdfu) atomicAdd(sink, 1u);
}

extern "C" __global__ void kf_copy(const uint4 *from, uint4 *to, word64 blocks)
{
    for (word64 i = thread_of_row(); i < blocks; i += threads_of_row()) to[i] = from[i];
}

// ---- results of PyTorch --------------------------------------------------------------------------------------------------------------------

template <typename item> static __device__ void gather(const kf_gather_task *task)
{
    const item *from = (const item *)task->from;
    item *to = (item *)task->to;
    for (word64 i = thread_of_row(); i < task->elements; i += threads_of_row()) {
        word64 rest = i, at = 0;
        for (int d = (int)task->dims - 1; d >= 0; d--) {
            at += rest % task->sizes[d] * task->strides[d];
            rest /= task->sizes[d];
        }
        to[i] = from[at];
    }
}

extern "C" __global__ void kf_gather(const kf_gather_task *tasks)
{
    const kf_gather_task task = tasks[blockIdx.y];
    switch (task.item) {
    case 1: gather<unsigned char>(&task); break;
    case 2: gather<unsigned short>(&task); break;
    case 4: gather<unsigned>(&task); break;
    default: gather<word64>(&task); break;
    }
}
