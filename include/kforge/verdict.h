/* Verdicts: all that the judge found out about one candidate, in memory and as JSON
 * ("kforge-verdict/1").
 *
 * What decisions are made from is typed; what is only carried along (build report, counters,
 * provenance) stays JSON. A verdict owns everything in it. JSON round-trips:
 * kf_verdict_from_json(kf_verdict_to_json(v)) equals v, every bit of every double. Reading is
 * strict: a verdict may come from another machine or a file. Text from candidates, compilers and
 * drivers may hold any bytes: every string becomes valid UTF-8 on its way in (kf_text_clean). A
 * verdict belongs to one thread at a time.
 */
#ifndef KFORGE_VERDICT_H
#define KFORGE_VERDICT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/stats.h"

#define KF_VERDICT_SCHEMA "kforge-verdict/1"

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

const char *kf_status_name(kf_status status); /* "wrong_result" */
bool kf_status_parse(const char *name, kf_status *status);
const char *kf_blame_name(kf_blame blame); /* "nobody", "candidate", "task", "machine", "judge" */
bool kf_blame_parse(const char *name, kf_blame *blame);

/* A malloc'd copy of `size` bytes as valid UTF-8: what is not (NUL bytes too) becomes U+FFFD,
 * control characters and those that turn the direction of text become a space. Newlines and tabs
 * stay unless `one_line`. NULL when out of memory. */
char *kf_text_clean(const char *bytes, size_t size, bool one_line);

/* One thing found, with the evidence. `measured` and `limit` are NaN where there is no figure. */
typedef struct kf_finding {
    kf_status status;
    kf_blame blame;
    /* stable identifier: "output.mismatch", "input.mutated", "guard.broken", "unchosen.written", …
     */
    char *rule;
    char *text; /* one line for people and models */
    double measured, limit;
} kf_finding;

/* One batch: the judge's raw material, in the order measured. */
typedef struct kf_sample {
    /* 'b' baseline, 'c' candidate; 'B', 'C' single calls of them, for latency; 'n' null, 'a'
     * baseline alone */
    char side;
    int pair;       /* ABBA pair number, -1 outside pairs */
    int calls;      /* calls in the batch */
    double seconds; /* judge's clock for the whole batch, fixed cost not yet subtracted */
    /* what the runner claimed, NaN when nothing; never used for a decision but a cross-check */
    double claimed;
    double clock_mhz;  /* SM clock, NaN unknown */
    uint64_t throttle; /* NVML throttle reasons, 0 unknown */
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

/* An empty verdict for a job: judge_error until something better is known. NULL only when out of
 * memory. */
kf_verdict *kf_verdict_new(const char *id, const char *task, const char *device);
void kf_verdict_free(kf_verdict *verdict);
KF_DEFINE_AUTO(kf_verdict, kf_verdict_free)
/* Appends; copies all strings. Returns the new element, valid until the next append, or NULL when
 * out of memory (the verdict is then as it was before). */
kf_workload_verdict *kf_verdict_add_workload(kf_verdict *verdict, const char *workload, bool timed);
/* `workload` NULL: belongs to the whole verdict. */
kf_finding *kf_verdict_add_finding(kf_verdict *verdict, kf_workload_verdict *workload,
                                   kf_status status, kf_blame blame, const char *rule,
                                   double measured, double limit, const char *format, ...)
    __attribute__((format(printf, 8, 9)));
kf_output_check *kf_workload_add_output(kf_workload_verdict *workload, const char *argument);
bool kf_workload_add_sample(kf_workload_verdict *workload, const kf_sample *sample);
/* The verdict is on a solution in Python with the weights that its constructor drew, which it has
 * made others of (docs/internals/pytorch.md, Frozen weights). */
#define KF_FLAG_FROZEN "state.frozen"
/* Outputs are as exact as operands in tf32 make them, which PyTorch's defaults allow for
 * convolutions on a GPU, and the baseline's were more exact. */
#define KF_FLAG_TF32 "precision.tf32"
/* In tf32, as PyTorch's defaults have it for convolutions on a GPU, the baseline is more than a
 * tenth of the output off, of which no tolerance follows: PyTorch was told to compute in f32, for
 * baseline and solution. */
#define KF_FLAG_FULL_F32 "precision.f32"
bool kf_verdict_has_flag(const kf_verdict *verdict, const char *flag);
/* A flag that is there already is not added again. */
bool kf_verdict_add_flag(kf_verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Replaces an owned string of the verdict by a cleaned copy; false when out of memory (the old one
 * stays). */
bool kf_verdict_set_text(char **field, const char *text);
/* Settles statuses, blame, message and the combined speedup from findings and workloads, by the
 * order of kf_status. A workload's status is the first of its findings'; without findings the one
 * the judge set. Mismatched elements of an output get a finding "output.mismatch" when the judge
 * has written none. The verdict's status is the first of all findings'; without any it is correct
 * when there are workloads and all are, else judge_error. Findings of status correct are notes. May
 * be called again after changes. */
void kf_verdict_conclude(kf_verdict *verdict);

cJSON *kf_verdict_to_json(const kf_verdict *verdict); /* NULL when out of memory */
kf_verdict *kf_verdict_from_json(const cJSON *json, kf_error *error);

#endif
