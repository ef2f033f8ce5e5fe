/* What bounds a kernel, out of its counters: which ceiling it is nearest to and how near, and what
 * its warps wait for. Pure.
 *
 * The rule is that of Nsight Compute's "GPU Speed Of Light": a unit that works at 60 % of its peak
 * or more bounds the kernel, the busiest one; when none does, latency does: too few warps that
 * could issue, and the stall reasons say why. Names of stalls are those of Hopper's warp states.
 */
#ifndef KFORGE_ROOFLINE_H
#define KFORGE_ROOFLINE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "kforge/buffer.h"

typedef enum kf_bound {
    KF_BOUND_UNKNOWN,
    KF_BOUND_DRAM,
    KF_BOUND_L2,
    KF_BOUND_L1, /* L1 and shared memory */
    KF_BOUND_TENSOR,
    KF_BOUND_PIPE,  /* an arithmetic pipe or that of loads and stores */
    KF_BOUND_ISSUE, /* the schedulers: an instruction in nearly every cycle */
    KF_BOUND_LATENCY,
    KF_BOUND_COUNT
} kf_bound;

#define KF_ROOFLINE_STALLS 3

typedef struct kf_stall {
    const char *name;    /* "long_scoreboard" */
    const char *meaning; /* "data from global or local memory" */
    double percent;      /* of the cycles that the warps spend between two instructions */
} kf_stall;

typedef struct kf_roofline {
    kf_bound bound;
    /* of the peak of what bounds it; of the nearest ceiling where latency does */
    double percent;
    const char *ceiling; /* that ceiling in words: "DRAM bandwidth" */
    /* per cent of peak, NaN not known; pipe: the busiest of the others */
    double dram, l2, l1, issue, tensor, pipe;
    const char *pipe_name;               /* "FMA" */
    double occupancy;                    /* achieved, per cent; NaN not known */
    kf_stall stalls[KF_ROOFLINE_STALLS]; /* longest first */
    int stall_count;
} kf_roofline;

/* "dram", "l2", "l1", "tensor", "pipe", "issue", "latency", "unknown" */
const char *kf_bound_name(kf_bound bound);

/* From the metrics of one kernel by CUPTI's names; false when they tell nothing of ceilings. */
bool kf_roofline_of(const cJSON *metrics, kf_roofline *roofline);
/* {"bound","percent","ceiling","stalls":[{"name","percent"}…]}; NULL when out of memory. */
cJSON *kf_roofline_json(const kf_roofline *roofline);
/* "bound by DRAM bandwidth: 88 % of its peak (L2 40 %, …); warps wait 62 % of the time for data
 * from global or local memory (long_scoreboard), …". */
void kf_roofline_words(const kf_roofline *roofline, kf_buffer *out);

/* A verdict's counters in words and numbers, a few lines a kernel, for people and for prompts;
 * nothing where there are none, the note where there is one. Kernels' names come from candidates:
 * in a prompt the text may only be quoted. */
void kf_counters_words(const cJSON *counters, kf_buffer *out);

#endif
