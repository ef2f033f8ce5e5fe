/* Verdicts: the judge's results for one candidate, in memory and as JSON ("kforge-verdict/1").
 *
 * Values that decide are typed. The build report, counters and provenance stay JSON. A verdict owns
 * all of its content, and belongs to one thread at a time.
 *
 * kf_verdict_from_json(kf_verdict_to_json(v)) equals v in every bit of every double. Reading is
 * strict, because a verdict may come from another machine or a file. Text of candidates, compilers
 * and drivers may contain any bytes. Functions that store text turn it into valid UTF-8
 * (kf_text_clean).
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

/* Returns "wrong_result". */
const char *kf_status_name(kf_status status);
bool kf_status_parse(const char *name, kf_status *status);
/* Returns "nobody", "candidate", "task", "machine" or "judge". */
const char *kf_blame_name(kf_blame blame);
bool kf_blame_parse(const char *name, kf_blame *blame);

/* Copies `size` bytes as valid UTF-8. Invalid bytes and NUL become U+FFFD. Control characters, and
 * characters that change the direction of text, become a space. Newlines and tabs stay unless
 * `one_line`. The caller frees; NULL without memory. */
char *kf_text_clean(const char *bytes, size_t size, bool one_line);

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
} kf_error_figures;

typedef struct kf_output_check {
    char *argument;
    kf_error_figures figures;
} kf_output_check;

typedef struct kf_workload_verdict {
    char *workload;
    bool timed;
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
    /* "" if the judge did not get that far; code_hash: machine code without symbols */
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

/* Makes an empty verdict for a job, with status KF_JUDGE_ERROR. The caller frees; NULL without
 * memory. */
kf_verdict *kf_verdict_new(const char *id, const char *task, const char *device);
void kf_verdict_free(kf_verdict *verdict);
KF_DEFINE_AUTO(kf_verdict, kf_verdict_free)
/* The next four functions append and copy all strings. They return the new element, valid until the
 * next append. Without memory they return NULL or false and change nothing. */
kf_workload_verdict *kf_verdict_add_workload(kf_verdict *verdict, const char *workload, bool timed);
/* `workload` NULL: the finding belongs to the whole verdict. */
kf_finding *kf_verdict_add_finding(kf_verdict *verdict, kf_workload_verdict *workload,
                                   kf_status status, kf_blame blame, const char *rule,
                                   double measured, double limit, const char *format, ...)
    __attribute__((format(printf, 8, 9)));
kf_output_check *kf_workload_add_output(kf_workload_verdict *workload, const char *argument);
bool kf_workload_add_sample(kf_workload_verdict *workload, const kf_sample *sample);
/* The Python solution was judged with the weights that its constructor drew, because it had
 * replaced them (docs/internals/pytorch.md, Frozen weights). */
#define KF_FLAG_FROZEN "state.frozen"
/* An output has the precision of tf32 operands, and the baseline was more exact. PyTorch's defaults
 * allow tf32 for convolutions on a GPU. */
#define KF_FLAG_TF32 "precision.tf32"
/* PyTorch computed baseline and solution in f32, not in its default tf32 for convolutions. With
 * tf32 the baseline errs by more than a tenth of the output, which gives no usable tolerance. */
#define KF_FLAG_FULL_F32 "precision.f32"
bool kf_verdict_has_flag(const kf_verdict *verdict, const char *flag);
/* Adds a flag unless the verdict has it. False without memory. */
bool kf_verdict_add_flag(kf_verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Replaces an owned string of the verdict by a cleaned copy. Without memory returns false and keeps
 * the old string. */
bool kf_verdict_set_text(char **field, const char *text);
/* Computes statuses, blame, message and the combined speedup from findings and workloads.
 *
 *   workload  the finding with the first status (order of kf_status); without findings, the status
 *             that the judge set
 *   verdict   the finding with the first status; without findings KF_CORRECT if there are workloads
 *             and all are correct, else KF_JUDGE_ERROR
 *
 * Findings with status KF_CORRECT are notes. If an output has mismatched elements and the judge
 * added no finding, this adds "output.mismatch". May be called again after changes. */
void kf_verdict_conclude(kf_verdict *verdict);

/* Both results are the caller's to free. kf_verdict_to_json returns NULL without memory. */
cJSON *kf_verdict_to_json(const kf_verdict *verdict);
kf_verdict *kf_verdict_from_json(const cJSON *json, kf_error *error);

#endif
