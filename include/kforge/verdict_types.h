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

/* Returns "wrong_result". */
const char *kf_status_name(kf_status status);
bool kf_status_parse(const char *name, kf_status *status);
/* Returns "nobody", "candidate", "task", "machine" or "judge". */
const char *kf_blame_name(kf_blame blame);
bool kf_blame_parse(const char *name, kf_blame *blame);

/* A finding with its evidence. */
typedef struct kf_finding {
    kf_status status;
    kf_blame blame;
    /* stable identifier: "output.mismatch", "input.mutated", "guard.broken", …
     * (docs/reference/verdict-rules.md) */
    char *rule;
    /* one line for people and models */
    char *text;
    /* NaN without a figure */
    double measured, limit;
} kf_finding;

/* A raw measurement: one batch of calls. Samples are in the order of measurement. */
typedef struct kf_sample {
    /* 'b' baseline, 'c' candidate; 'B', 'C' their single calls, for latency; 'n' empty batch, 'a'
     * baseline alone */
    char side;
    /* number of the ABBA pair, -1 outside of pairs */
    int pair;
    /* calls in the batch */
    int calls;
    /* by the judge's clock, for the whole batch, including its fixed cost */
    double seconds;
    /* by the runner's clock, NaN if it gave no time; only a cross-check uses it */
    double claimed;
    /* SM clock, NaN if unknown */
    double clock_mhz;
    /* NVML throttle reasons, 0 if unknown */
    uint64_t throttle;
} kf_sample;

/* The error of one output against the oracle's, over all compared elements. */
typedef struct kf_error_figures {
    /* the candidate's absolute error */
    double rms, max;
    /* the baseline's on the same inputs */
    double baseline_rms, baseline_max;
    double allowed_rms, allowed_max;
    /* elements */
    int64_t compared;
    /* elements over the limit */
    int64_t mismatched;
    /* flat index of the first mismatch, -1 without a mismatch */
    int64_t first_index;
    double first_expected, first_got;
    /* "tail from 4096", "last column", "every 32nd", …; "" without a mismatch */
    char pattern[64];
    /* passes only because the limits allow tf32 operands (kf_problem_argument). Not in the JSON;
     * KF_FLAG_TF32 is. */
    bool tf32;
    /* fails by little, as with too few bits (kf_is_inaccurate). Not in the JSON. */
    bool inaccurate;
    /* flat indices of a mismatch in the middle and of the last one. Not in the JSON. */
    int64_t middle_index, last_index;
} kf_error_figures;

typedef struct kf_output_check {
    char *argument;
    kf_error_figures figures;
} kf_output_check;

/* Whether a workload decides, or only shows if a correct candidate generalises: to sizes, or to
 * values, that differ from the given ones. */
typedef enum kf_unseen { KF_GIVEN, KF_UNSEEN_SIZES, KF_UNSEEN_DATA, KF_UNSEEN_COUNT } kf_unseen;
/* Returns "sizes" or "data"; "" for KF_GIVEN. */
const char *kf_unseen_name(kf_unseen unseen);
bool kf_unseen_parse(const char *name, kf_unseen *unseen);

typedef struct kf_workload_verdict {
    char *workload;
    bool timed;
    kf_unseen unseen;
    /* KF_JUDGE_ERROR until the judge has checked everything and sets KF_CORRECT. Findings override
     * both. */
    kf_status status;
    kf_finding *findings;
    size_t finding_count;
    kf_output_check *outputs;
    size_t output_count;
    /* of throughput: many calls a batch */
    kf_interval speedup;
    /* median of a call, without the fixed cost of its batch */
    double baseline_seconds, candidate_seconds;
    /* of single calls */
    kf_interval latency_speedup;
    double latency_baseline_seconds, latency_candidate_seconds;
    /* fixed cost of a batch, measured with an empty candidate */
    double batch_cost_seconds;
    /* the least time that the device allows; 0 if unknown */
    double floor_seconds;
    int sets, pairs;
    kf_sample *samples;
    size_t sample_count;
} kf_workload_verdict;

typedef struct kf_verdict {
    /* of the job */
    char *id;
    /* name of the task */
    char *task;
    /* "" if the judge did not get that far; code_hash: of the whole binary */
    char *task_hash, *source_hash, *binary_hash, *code_hash;
    /* "cpu:0", "cuda:0"; provenance describes the device */
    char *device;
    kf_status status;
    kf_blame blame;
    /* one line for people */
    char *message;
    /* geometric mean over timed workloads; NaN if not correct */
    kf_interval speedup;
    /* a second measurement in new processes agrees */
    bool reverified;
    /* findings that belong to no workload: build, load */
    kf_finding *findings;
    size_t finding_count;
    kf_workload_verdict *workloads;
    size_t workload_count;
    /* suspicious, but no conviction: "sandbox.denied:fork", "sass.hmma_f16", … */
    char **flags;
    size_t flag_count;
    /* {"seconds","log","flags",…,"registers","spill_bytes","shared_bytes"} or NULL */
    cJSON *build;
    /* NULL if not requested */
    cJSON *counters;
    /* result of KernelBench's own protocol for a Python solution, or NULL. The solution's process
     * computes it, so it is only a claim. */
    cJSON *kernelbench;
    /* {"kforge","toolchain","compiler","driver","device","host","sandbox":[…],"keys":[…],…} */
    cJSON *provenance;
    double build_seconds, judge_seconds;
} kf_verdict;

/* The candidate's wrong output looks like a cheat's. A rule follows: "suspected:state.skips_work"
 * (docs/reference/verdict-rules.md). */
#define KF_FLAG_SUSPECTED "suspected:"

#endif
