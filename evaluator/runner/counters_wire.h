/* What a runner sends back when it has counted (KF_WIRE_COUNT): behind its answer one header, then `launches` records, all of fixed size. Information,
 * never part of a verdict: the candidate lives in the process that writes them. The judge checks every field (kforge/counters.h). */
#ifndef KFORGE_COUNTERS_WIRE_H
#define KFORGE_COUNTERS_WIRE_H

#include <stdint.h>

#define KF_COUNT_METRICS 96  /* most of one pass over a candidate */
#define KF_COUNT_LAUNCHES 64 /* kernels of one call that are told apart; later ones are dropped */
#define KF_COUNT_NAME 256    /* bytes of a kernel's name, its end included; longer ones are cut */
#define KF_COUNT_NOTE 200
#define KF_COUNT_PASSES 128 /* more than any set of metrics should need */

/* How far it came. */
enum kf_count_stage {
    KF_COUNT_DONE = 0,
    KF_COUNT_NO_LIBRARY, /* libcupti does not load, or lacks a function: it is too old */
    KF_COUNT_REFUSED,    /* CUPTI says no: `code` is its CUptiResult */
    KF_COUNT_NO_METRIC,  /* the chip has none of those asked for */
    KF_COUNT_UNFINISHED, /* passes that never end */
};

typedef struct kf_count_header {
    uint32_t magic; /* KF_WIRE_MAGIC */
    uint32_t stage;
    int32_t code;
    uint32_t launches; /* records that follow */
    uint32_t dropped;  /* launches without one */
    uint32_t passes;
    double setup_seconds, count_seconds;
    char chip[32];
    char note[KF_COUNT_NOTE];            /* which step failed */
    uint8_t available[KF_COUNT_METRICS]; /* of the metrics asked for, in their order: 1 the chip has it */
} kf_count_header;

typedef struct kf_count_launch {
    char name[KF_COUNT_NAME]; /* as the compiler mangles it; "" unknown */
    uint32_t grid[3], block[3];
    uint32_t registers, static_shared, dynamic_shared, local_bytes; /* a thread's, a block's, a block's, a thread's */
    double values[KF_COUNT_METRICS];                                /* NaN where not available */
} kf_count_launch;

#endif
