/* The parameters of the judge's own kernels (kernels.cu), with one layout for the C compiler and
 * for NVRTC. Each kernel takes an array of tasks and a slice for each of its blocks. So hundreds of
 * small buffers cost one launch, and a large buffer gets the whole device. */
#ifndef KFORGE_KERNELS_H
#define KFORGE_KERNELS_H

#include "inputs_plan.h"

#define KF_KERNEL_THREADS 256
/* Blocks of 16 bytes in the snapshot of an output. */
#define KF_SNAPSHOTS 64

/* The work of one block: part `number` of the `count` parts of its task. */
typedef struct kf_slice {
    uint32_t task, number, count;
} kf_slice;

/* kf_fill fills any input. Most inputs have one of these routes. kf_fill_quick has code for them
 * alone, and is several times as fast. kf_fill_special then writes the few elements that a
 * variation makes special. */
typedef enum kf_fill_route {
    KF_FILL_ANY,
    KF_FILL_NORMAL_F32,
    KF_FILL_NORMAL_F16,
    KF_FILL_NORMAL_BF16,
    /* Of f32. */
    KF_FILL_NORMAL_WIDE,
    KF_FILL_UNIFORM_F32,
    KF_FILL_UNIFORM_F16,
    KF_FILL_UNIFORM_BF16,
    KF_FILL_UNIFORM_WIDE,
    KF_FILL_INTEGERS_I32,
    KF_FILL_INTEGERS_U8,
} kf_fill_route;

typedef struct kf_fill_task {
    kf_input_plan plan;
    uint64_t data;
    /* 1: written as float64, for every type (the truth of an inout). */
    uint32_t wide;
    /* kf_fill_route */
    uint32_t route;
} kf_fill_task;

/* Bytes [first, first + count) of the buffer at `start`, poisoned under a key. `start` is a
 * multiple of 16. */
typedef struct kf_poison_task {
    uint64_t start, first, count, secret;
    uint32_t set, argument;
} kf_poison_task;

typedef struct kf_digest_task {
    uint64_t data, bytes, key;
} kf_digest_task;

typedef struct kf_device_compare_task {
    uint64_t got, expected, elements;
    double slope, base, largest, roundoff; /* kf_element_rule */
    int32_t dtype, counts, rounded, unused;
} kf_device_compare_task;

/* The result of one block of a comparison. The CPU adds the results in order, so that sums are
 * deterministic. */
typedef struct kf_device_compare_part {
    double sum_square, max, scale_square, scale_max;
    int64_t nonfinite, first_nonfinite, failed;
} kf_device_compare_part;

typedef struct kf_snapshot_task {
    uint64_t data, bytes;
} kf_snapshot_task;

/* Blocks of 16 bytes of an input that arrive inside the clock (occupy_cuda.c). */
#define KF_WITHHELD_BLOCKS 8

/* One of them. `address` 0: the buffer has fewer blocks. */
typedef struct kf_withheld_block {
    uint64_t address, unused;
    uint32_t words[4];
} kf_withheld_block;

/* Host memory through which the judge and kf_occupy talk. */
typedef struct kf_occupy_switch {
    uint32_t started, stop;
} kf_occupy_switch;

/* The result of kf_occupy, in nanoseconds of %globaltimer: the longest time between two samples,
 * and the shortest time that is not 0. */
typedef struct kf_occupy_report {
    uint64_t longest, shortest;
    /* 1 once the first block has seen the switch, which ends the others. The number of blocks that
     * ended without. */
    uint32_t released, expired;
} kf_occupy_report;

/* A read of one word, timed in cycles, and the same again twice, once the word is in the cache.
 * Before, a read of another word of the same page finds the address of that page. */
typedef struct kf_cache_sample {
    uint64_t address, neighbour;
    uint32_t first, again, third, unused;
} kf_cache_sample;

/* A strided result, copied element by element into a buffer. */
typedef struct kf_gather_task {
    uint64_t from, to, elements;
    uint64_t sizes[8], strides[8]; /* in elements */
    uint32_t item, dims;
} kf_gather_task;

#endif
