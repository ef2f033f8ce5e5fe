/* What a runner sends back when it has counted (KF_WIRE_COUNT): behind its answer one header, then
 * `launches` records, all of fixed size. Information, never part of a verdict: the candidate lives
 * in the process that writes them. The judge checks every field (kforge/counters.h). */
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

/* What became of a metric that was asked for. */
enum kf_count_metric {
    KF_COUNT_LACKING = 0, /* the chip has no such metric */
    KF_COUNT_COUNTED,
    KF_COUNT_LEFT_OUT, /* it has, but the passes that might be made did not suffice */
};

typedef struct kf_count_header {
    uint32_t magic; /* KF_WIRE_MAGIC */
    uint32_t stage;
    int32_t code;
    uint32_t launches;                  /* records that follow */
    uint32_t dropped;                   /* launches without one */
    uint32_t passes, all_passes;        /* made; what all that the chip has would take */
    uint32_t ranges;                    /* launches of one pass that there was room for */
    double setup_seconds;               /* before the runner was locked in */
    double count_seconds;               /* all of the counting, of which the rest are parts */
    double enable_seconds;              /* the profiler, until its first pass */
    double start_seconds, stop_seconds; /* CUPTI's, around the calls of all passes */
    double read_seconds;                /* decoding and evaluating */
    /* each pass, with emptying the L2, CUPTI's work around it and the call */
    float pass_seconds[KF_COUNT_PASSES];
    char chip[32];
    char note[KF_COUNT_NOTE];          /* which step failed */
    uint8_t metrics[KF_COUNT_METRICS]; /* enum kf_count_metric of those asked for, in their order */
} kf_count_header;

typedef struct kf_count_launch {
    char name[KF_COUNT_NAME]; /* as the compiler mangles it; "" unknown */
    uint32_t grid[3], block[3];
    /* a thread's, a block's, a block's, a thread's */
    uint32_t registers, static_shared, dynamic_shared, local_bytes;
    double values[KF_COUNT_METRICS]; /* NaN where not counted */
} kf_count_launch;

/* Environment of a runner that counts: the library's path, and the metrics' names with commas
 * between them. Where there is a semicolon instead, those behind it are left out together if there
 * is no time for all; without any, each name on its own. */
#define KF_COUNT_LIBRARY "COUNTERS_LIBRARY"
#define KF_COUNT_NAMES "COUNTERS_METRICS"

#endif
