/* The judge's own kernels (kernels.cu) and what they are handed, laid out alike for the C compiler
 * and for NVRTC. Each takes an array of tasks and a slice for each of its blocks, so that hundreds
 * of small buffers cost one launch and a large one among them has the whole device. */
#ifndef KFORGE_KERNELS_H
#define KFORGE_KERNELS_H

#include "inputs_plan.h"

#define KF_KERNEL_THREADS 256
#define KF_SNAPSHOTS 64 /* blocks of 16 bytes of an output looked at when a batch is over */

/* What one block works on: it is the `number`th of the `count` blocks that its task has. */
typedef struct kf_slice {
    uint32_t task, number, count;
} kf_slice;

/* kf_fill makes anything. Most of what is filled is one of these, which kf_fill_quick makes several
 * times as fast, having no code for anything else; the few elements that a variation makes special
 * are then put right by kf_fill_special. */
typedef enum kf_fill_route {
    KF_FILL_ANY,
    KF_FILL_NORMAL_F32,
    KF_FILL_NORMAL_F16,
    KF_FILL_NORMAL_BF16,
    KF_FILL_NORMAL_WIDE, /* of f32 */
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
    uint32_t wide;  /* 1: as float64, whatever the type (the truth of an inout) */
    uint32_t route; /* kf_fill_route */
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

/* What one block of the survey found; the CPU adds them up in order, so that sums don't depend on
 * luck. */
typedef struct kf_device_compare_part {
    double sum_square, max, scale_square, scale_max;
    int64_t nonfinite, first_nonfinite, failed;
} kf_device_compare_part;

typedef struct kf_snapshot_task {
    uint64_t data, bytes;
} kf_snapshot_task;

/* A result that is not contiguous: element by element into a buffer. */
typedef struct kf_gather_task {
    uint64_t from, to, elements;
    uint64_t sizes[8], strides[8]; /* in elements */
    uint32_t item, dims;
} kf_gather_task;

#endif
