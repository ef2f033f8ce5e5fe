/* The judge's own kernels (kernels.cu) and what they are handed, laid out alike for the C compiler and for NVRTC. Each takes an array of
 * tasks, one row of blocks a task, so that hundreds of small buffers cost one launch. */
#ifndef KFORGE_KERNELS_H
#define KFORGE_KERNELS_H

#include "inputs_plan.h"

#define KF_KERNEL_THREADS 256
#define KF_GLANCES 64 /* blocks of 16 bytes of an output looked at when a batch is over */

typedef struct kf_fill_task {
    kf_input_plan plan;
    uint64_t data;
    uint64_t wide; /* 1: as float64, whatever the type (the truth of an inout) */
} kf_fill_task;

/* Bytes [first, first + count) of the buffer at `start`, poisoned under a key. `start` is a multiple of 16. */
typedef struct kf_poison_task {
    uint64_t start, first, count, secret;
    uint32_t set, argument;
} kf_poison_task;

typedef struct kf_digest_task {
    uint64_t data, bytes, key;
} kf_digest_task;

typedef struct kf_survey_task {
    uint64_t got, expected, elements;
    double slope, base, largest, roundoff; /* kf_element_rule */
    int32_t dtype, counts, rounded, unused;
} kf_survey_task;

/* What one block of the survey found; the CPU adds them up in order, so that sums don't depend on luck. */
typedef struct kf_survey_part {
    double sum_square, max, scale_square, scale_max;
    int64_t nonfinite, first_nonfinite, failed;
} kf_survey_part;

typedef struct kf_glance_task {
    uint64_t data, bytes;
} kf_glance_task;

/* A result that is not contiguous: element by element into a buffer. */
typedef struct kf_gather_task {
    uint64_t from, to, elements;
    uint64_t sizes[8], strides[8]; /* in elements */
    uint32_t item, dims;
} kf_gather_task;

#endif
