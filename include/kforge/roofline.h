/* The bound of a kernel, from its hardware counters: the nearest ceiling, the distance to it, and
 * the stall reasons of its warps. Pure.
 *
 * The rule is that of Nsight Compute's "GPU Speed Of Light". The busiest unit bounds the kernel if
 * it works at 60 % of its peak or more. Otherwise latency bounds it: too few warps can issue, and
 * the stall reasons give the cause. Stalls have the names of Hopper's warp states.
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
    /* L1 and shared memory */
    KF_BOUND_L1,
    KF_BOUND_TENSOR,
    /* an arithmetic pipe, or the one of loads and stores */
    KF_BOUND_PIPE,
    /* the schedulers: an instruction in nearly every cycle */
    KF_BOUND_ISSUE,
    KF_BOUND_LATENCY,
    KF_BOUND_COUNT
} kf_bound;

#define KF_ROOFLINE_STALLS 3

typedef struct kf_stall {
    /* "long_scoreboard" */
    const char *name;
    /* "data from global or local memory" */
    const char *meaning;
    /* of the cycles that the warps spend between two instructions */
    double percent;
} kf_stall;

typedef struct kf_roofline {
    kf_bound bound;
    /* of the bound's peak; for latency, of the nearest ceiling's */
    double percent;
    /* that ceiling in words: "DRAM bandwidth" */
    const char *ceiling;
    /* percent of peak, NaN if unknown; pipe: the busiest of the other pipes */
    double dram, l2, l1, issue, tensor, pipe;
    /* "FMA" */
    const char *pipe_name;
    /* longest first */
    kf_stall stalls[KF_ROOFLINE_STALLS];
    int stall_count;
} kf_roofline;

/* Returns "dram", "l2", "l1", "tensor", "pipe", "issue", "latency" or "unknown". */
const char *kf_bound_name(kf_bound bound);

/* Computes the bound from the metrics of one kernel, by CUPTI's names. False if they contain no
 * ceiling. */
bool kf_roofline_of(const cJSON *metrics, kf_roofline *roofline);
/* Returns {"bound","percent","ceiling","stalls":[{"name","percent"}…]}; the caller frees. NULL
 * without memory. */
cJSON *kf_roofline_json(const kf_roofline *roofline);
/* Appends "bound by DRAM bandwidth: 88 % of its peak (L2 40 %, …); warps wait 62 % of the time for
 * data from global or local memory (long_scoreboard), …". */
void kf_roofline_words(const kf_roofline *roofline, kf_buffer *out);

/* Appends a verdict's counters in words, a few lines a kernel, for people and for prompts. Appends
 * nothing without counters, and the note if they have one. Names of kernels come from candidates,
 * so a prompt must quote the text. */
void kf_counters_words(const cJSON *counters, kf_buffer *out);

#endif
