/* The data of a verdict, without the functions that make one (kforge/verdict.h) or measure
 * (kforge/stats.h). The judge fills these types, the store keeps them and the exports read them, so
 * they belong to none of the three. */
#ifndef KFORGE_VERDICT_TYPES_H
#define KFORGE_VERDICT_TYPES_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A figure with its confidence interval. NaN where there are too few samples. */
typedef struct kf_interval {
    double value, low, high;
} kf_interval;

/* In order of precedence: a verdict's status is the first that applies. */
typedef enum kf_status {
    KF_JUDGE_ERROR,
    KF_COMPILE_ERROR,
    KF_UNSUPPORTED_DEVICE,
    KF_OUT_OF_MEMORY,
    KF_CRASH,
    KF_TIMEOUT,
    KF_LAUNCH_FAILURE,
    KF_CONTRACT_VIOLATION,
    KF_WRONG_RESULT,
    KF_CHEATING,
    KF_INTERFERENCE,
    KF_IMPOSSIBLE,
    KF_CORRECT,
    KF_STATUS_COUNT
} kf_status;

typedef enum kf_blame {
    KF_BLAME_NOBODY,
    KF_BLAME_CANDIDATE,
    KF_BLAME_TASK,
    KF_BLAME_MACHINE,
    KF_BLAME_JUDGE
} kf_blame;

/* Returns "wrong_result" for KF_WRONG_RESULT, and so on. */
const char *kf_status_name(kf_status status);
bool kf_status_parse(const char *name, kf_status *status);
/* Returns "nobody", "candidate", "task", "machine" or "judge". */
const char *kf_blame_name(kf_blame blame);
bool kf_blame_parse(const char *name, kf_blame *blame);

/* One finding with its evidence. `measured` and `limit` are NaN without a figure. */
typedef struct kf_finding {
    kf_status status;
    kf_blame blame;
    /* stable identifier: "output.mismatch", "input.mutated", "guard.broken", … */
    char *rule;
    /* one line for people and models */
    char *text;
    double measured, limit;
} kf_finding;

/* One timed batch, as it was measured. */
typedef struct kf_sample {
    /* 'b' baseline, 'c' candidate; 'B' and 'C' single calls of them, for latency; 'n' empty batch,
     * 'a' baseline solo */
    char side;
    /* number of the ABBA pair, -1 outside pairs */
    int pair;
    /* calls in the batch */
    int calls;
    /* time of the whole batch by the judge's clock, with its fixed cost */
    double seconds;
    /* the time that the runner reported, NaN if it reported no time; for a cross-check only */
    double claimed;
    /* SM clock, NaN if not known */
    double clock_mhz;
    /* NVML throttle reasons, 0 if not known */
    uint64_t throttle;
} kf_sample;

/* Error of one output against the oracle, over all compared elements. */
typedef struct kf_error_figures {
    double rms, max;                   /* candidate's, absolute */
    double baseline_rms, baseline_max; /* baseline's own on the same inputs */
    double allowed_rms, allowed_max;
    int64_t compared;    /* elements */
    int64_t mismatched;  /* elements over the limit */
    int64_t first_index; /* flat index of the first mismatch, -1 none */
    double first_expected, first_got;
    char pattern[64]; /* "tail from 4096", "last column", "every 32nd", …; "" none */
    bool tf32; /* within the limits only because operands in tf32 are allowed (kf_problem_argument);
                  not part of the JSON, KF_FLAG_TF32 is */
} kf_error_figures;

typedef struct kf_output_check {
    char *argument;
    kf_error_figures figures;
} kf_output_check;

typedef struct kf_workload_verdict {
    char *workload;
    bool timed;
    kf_status status; /* judge_error until the judge, having checked all there is to check, sets
                         KF_CORRECT; findings override either */
    kf_finding *findings;
    size_t finding_count;
    kf_output_check *outputs;
    size_t output_count;
    kf_interval speedup;                        /* throughput mode */
    double baseline_seconds, candidate_seconds; /* median per call, fixed cost subtracted */
    kf_interval latency_speedup;
    double latency_baseline_seconds, latency_candidate_seconds;
    double batch_cost_seconds; /* fixed cost per batch, from the null candidate */
    double floor_seconds;      /* physical floor; 0 unknown */
    int sets, pairs;
    kf_sample *samples;
    size_t sample_count;
} kf_workload_verdict;

typedef struct kf_verdict {
    char *id;   /* the job's */
    char *task; /* name */
    /* "" where not reached; code_hash: machine code without symbols */
    char *task_hash, *source_hash, *binary_hash, *code_hash;
    /* "cpu:0", "cuda:0" and below in provenance what it is */
    char *device;
    kf_status status;
    kf_blame blame;
    char *message;        /* one line: what a person needs to know first */
    kf_interval speedup;  /* geometric mean over timed workloads; NaN when not correct */
    bool reverified;      /* measured again in fresh processes, and the intervals agree */
    kf_finding *findings; /* those that belong to no workload: build, load */
    size_t finding_count;
    kf_workload_verdict *workloads;
    size_t workload_count;
    char **flags; /* suspicious but no conviction: "sandbox.denied:fork", "sass.hmma_f16", … */
    size_t flag_count;
    /* {"seconds","log","flags",…,"registers","spill_bytes","shared_bytes"} or NULL */
    cJSON *build;
    cJSON *counters;    /* NULL when not taken */
    cJSON *kernelbench; /* what KernelBench's protocol says of a solution in Python, in that
                           solution's own process: a claim; or NULL */
    /* {"kforge","toolchain","compiler","driver","device","host","sandbox":[…],"keys":[…],…} */
    cJSON *provenance;
    double build_seconds, judge_seconds;
} kf_verdict;

#endif
