/* Hardware counters and device time of one call (KF_WIRE_COUNT): after the answer the runner sends
 * one header, then `launches`, `works` and `lines` records, all of fixed size. They are information
 * and never part of a verdict, since the candidate lives in the process that writes them. The judge
 * checks every field (kforge/counters.h, device_work.h). */
#ifndef KFORGE_COUNTERS_WIRE_H
#define KFORGE_COUNTERS_WIRE_H

#include <stdint.h>

/* The most metrics of a request. */
#define KF_COUNT_METRICS 96
/* The most kernels of one call with a record. Later launches are dropped. */
#define KF_COUNT_LAUNCHES 64
/* Bytes of a kernel's name with its NUL. Longer names are cut. */
#define KF_COUNT_NAME 256
#define KF_COUNT_NOTE 200
/* The most rows of device time. Later ones are summed up in the header. */
#define KF_COUNT_WORKS 64
/* The most source lines with samples, and the most reasons of each. */
#define KF_COUNT_LINES 24
#define KF_COUNT_REASONS 3
/* Bytes of the name of a source file, and of a reason, with its NUL. */
#define KF_COUNT_FILE 64
/* Bytes of a file's path with its NUL. Of a longer path the end is kept. */
#define KF_COUNT_MODULE 200
/* More passes than any set of metrics should need. */
#define KF_COUNT_PASSES 128

/* The last step of the counting. */
enum kf_count_stage {
    KF_COUNT_DONE = 0,
    /* libcupti does not load, or is too old and lacks a function. */
    KF_COUNT_NO_LIBRARY,
    /* CUPTI reports an error: `code` is its CUptiResult. */
    KF_COUNT_REFUSED,
    /* The chip has no requested metric. */
    KF_COUNT_NO_METRIC,
    /* The passes did not end. */
    KF_COUNT_UNFINISHED,
    /* A runner in Python: it measures device time only. */
    KF_COUNT_WORK_ONLY,
};

/* The state of a requested metric. */
enum kf_count_metric {
    /* The chip lacks this metric. */
    KF_COUNT_LACKING = 0,
    KF_COUNT_COUNTED,
    /* The chip has the metric, but the allowed passes did not suffice. */
    KF_COUNT_LEFT_OUT,
};

typedef struct kf_count_header {
    /* KF_WIRE_MAGIC */
    uint32_t magic;
    uint32_t stage;
    int32_t code;
    /* Records that follow, and launches without a record. */
    uint32_t launches;
    uint32_t dropped;
    /* Passes that were made, and passes that all metrics of the chip would take. */
    uint32_t passes, all_passes;
    /* The most launches of one pass. */
    uint32_t ranges;
    /* Before the second system call filter. */
    double setup_seconds;
    /* All of the counting. The other times are parts of it. */
    double count_seconds;
    /* Enabling the profiler, until its first pass. */
    double enable_seconds;
    /* CUPTI's work around the calls of all passes. */
    double start_seconds, stop_seconds;
    /* Decoding and evaluating. */
    double read_seconds;
    /* Each pass, with flushing the L2, CUPTI's work around it and the call. */
    float pass_seconds[KF_COUNT_PASSES];
    char chip[32];
    /* The step that failed. */
    char note[KF_COUNT_NOTE];
    /* enum kf_count_metric of the requested metrics, in their order. */
    uint8_t metrics[KF_COUNT_METRICS];
    /* Rows of device time that follow, and the seconds of work without a row. */
    uint32_t works;
    double work_rest_seconds;
    /* Why device time was not measured. "" if it was. */
    char work_note[KF_COUNT_NOTE];
    /* Source lines that follow, and the samples of all lines. */
    uint32_t lines;
    uint64_t line_samples;
    /* Why lines were not sampled. "" if they were, or if the request does not ask for them. */
    char line_note[KF_COUNT_NOTE];
} kf_count_header;

enum kf_count_work_kind { KF_COUNT_KERNEL = 0, KF_COUNT_COPY, KF_COUNT_FILL };

/* Device time of all work of one kind with one name from one file. */
typedef struct kf_count_work {
    /* The mangled name of a kernel. "" for copies and fills. */
    char name[KF_COUNT_NAME];
    /* The file with the code that called the launch function. "" if unknown. */
    char module[KF_COUNT_MODULE];
    uint32_t kind, launches;
    double seconds;
} kf_count_work;

typedef struct kf_count_launch {
    /* The mangled name. "" if unknown. */
    char name[KF_COUNT_NAME];
    uint32_t grid[3], block[3];
    /* Of a thread, a block, a block and a thread. */
    uint32_t registers, static_shared, dynamic_shared, local_bytes;
    /* NaN for an uncounted metric. */
    double values[KF_COUNT_METRICS];
} kf_count_launch;

/* Samples of warps at one source line. */
typedef struct kf_count_line {
    /* The mangled name. */
    char kernel[KF_COUNT_NAME];
    char file[KF_COUNT_FILE];
    uint32_t line, samples;
    /* The warp states with the most samples. "" where there are fewer. */
    struct {
        char name[KF_COUNT_FILE];
        uint32_t samples;
    } reasons[KF_COUNT_REASONS];
} kf_count_line;

/* All records of a request, in the order in which they are sent. */
typedef struct kf_count_records {
    kf_count_header header;
    kf_count_launch launches[KF_COUNT_LAUNCHES];
    kf_count_work works[KF_COUNT_WORKS];
    kf_count_line lines[KF_COUNT_LINES];
} kf_count_records;

/* Environment of a runner that counts: the library's path, and the metrics' names with commas
 * between them. A semicolon in place of a comma starts the optional names, which are left out
 * together if the passes do not suffice. Without a semicolon each name may be left out on its own.
 */
#define KF_COUNT_LIBRARY "COUNTERS_LIBRARY"
#define KF_COUNT_NAMES "COUNTERS_METRICS"
/* Set if the candidate has source lines (nvcc -lineinfo), which are sampled. */
#define KF_COUNT_SAMPLE_LINES "COUNTERS_LINES"

#endif
