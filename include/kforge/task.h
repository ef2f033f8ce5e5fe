/* Tasks: what is to be computed, on which shapes, checked by what (docs/reference/task-format.md).
 *
 * A kf_task is the validated content of a task folder, files included, so it can travel to another
 * machine as one JSON value (kf_task_bundle). Immutable after loading; may be shared between
 * threads. kf_task_resolve turns it and one workload into a kf_problem: concrete shapes, scalar
 * values, distributions and tolerances, which is all that the judge looks at.
 */
#ifndef KFORGE_TASK_H
#define KFORGE_TASK_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/dtype.h"
#include "kforge/error.h"
#include "kforge/expression.h"
#include "kforge/hash.h"

#define KF_TASK_SCHEMA "kforge-task/1"
#define KF_MAX_ARGUMENTS 512 /* weights of a whole network are arguments */
#define KF_MAX_DIMS 8
#define KF_MAX_WORKLOADS 64
#define KF_MAX_PARAMS 64
#define KF_MAX_SEEDS 32
#define KF_SOURCE_BYTES (4u << 20) /* size limit of one source, candidate or file of a task */
#define KF_MAX_ELEMENTS ((int64_t)1 << 40)

typedef enum kf_argument_kind {
    KF_INPUT,
    KF_OUTPUT,
    KF_INOUT,
    KF_SCALAR,
    KF_WORKSPACE
} kf_argument_kind;

/* How the judge fills an input (docs/reference/task-format.md gives the formula of each). */
typedef enum kf_distribution_kind {
    KF_NORMAL,      /* a: mean (0), b: std (1) */
    KF_UNIFORM,     /* a: low (0), b: high (1); floats in [low, high) */
    KF_INTEGERS,    /* a: low (0), b: high (exclusive) */
    KF_PERMUTATION, /* of 0 … n-1 over the whole array */
    /* ascending floats or integers over [a: low, b: high) along the last axis */
    KF_SORTED,
    /* n entries, first 0, last a: total, non-decreasing: CSR row pointers; b: skew (1) */
    KF_OFFSETS,
    KF_SPARSE,   /* a: density (0.1) of standard normals, zeros elsewhere */
    KF_CONSTANT, /* a: value (0) */
    KF_ONE_HOT,  /* rows along the last axis with a single 1 */
    /* symmetric, diagonally dominant n×n matrices over the last two axes; a: dominance (1) */
    KF_POSITIVE_DEFINITE,
    KF_SYMMETRIC,        /* n×n matrices over the last two axes, uniform in [a: low, b: high) */
    KF_UPPER_TRIANGULAR, /* the same with zeros below the diagonal, … */
    KF_LOWER_TRIANGULAR, /* … above it */
    KF_SIGNS,            /* -1 or 1 */
    KF_DISTRIBUTION_COUNT
} kf_distribution_kind;

typedef struct kf_distribution {
    kf_distribution_kind kind;
    double a, b;
    /* the judge may vary scale, offset and structure on its own (default true for normal and
     * uniform) */
    bool vary;
    bool nonfinite; /* the task declares ±inf and NaN legal in this input */
} kf_distribution;

#define KF_ERROR_RATIO_DEFAULT 8.0

typedef enum kf_compare_kind {
    KF_ERROR_RATIO,
    KF_ALLCLOSE,
    KF_EXACT,
    KF_ANY_ORDER
} kf_compare_kind;

typedef struct kf_tolerance {
    kf_compare_kind kind;
    /* KF_ERROR_RATIO: times the baseline's own error, plus one unit roundoff at the output's scale
     */
    double ratio;
    double rtol, atol; /* KF_ALLCLOSE: |got - expected| <= atol + rtol * |expected| */
} kf_tolerance;

/* One argument of the candidate's signature, made concrete for a workload. */
typedef struct kf_problem_argument {
    const char *name; /* borrowed from the task */
    kf_argument_kind kind;
    kf_dtype dtype;
    int dims;
    int64_t shape[KF_MAX_DIMS];
    int64_t elements;             /* product of shape, at least 1; 1 for scalars */
    uint64_t bytes;               /* elements * size of dtype */
    kf_value value;               /* scalars */
    kf_distribution distribution; /* inputs and inouts */
    kf_tolerance tolerance;       /* outputs and inouts */
    /* of an f32 output: what operands in tf32 cost is allowed, too, by KF_ERROR_RATIO (compare.h)
     */
    bool tf32;
} kf_problem_argument;

typedef struct kf_problem {
    const char *workload; /* borrowed from the task */
    bool timed;           /* counts for speedup */
    bool hidden;          /* its shapes are not shown to models */
    kf_problem_argument arguments[KF_MAX_ARGUMENTS];
    int argument_count;
    double work_bytes, work_flops; /* per call; work_flops is 0 when the task does not say */
    bool work_bytes_derived;       /* the task does not say: work_bytes is kf_problem_least_bytes */
    uint64_t total_bytes;          /* of all buffers of one set */
} kf_problem;

/* What a file of a task is written in: CUDA C, or a problem file for PyTorch
 * (docs/internals/pytorch.md). */
typedef enum kf_source_kind { KF_SOURCE_CUDA, KF_SOURCE_TORCH } kf_source_kind;

typedef struct kf_task_file {
    char *name; /* relative to the task's folder, no ".." */
    char *text; /* NUL-terminated */
    size_t size;
    kf_source_kind kind;
    const char *source, *sha256; /* of a problem file that lies elsewhere: its path and what its
                                    text has to hash to; borrowed, may be NULL */
} kf_task_file;

typedef struct kf_task kf_task;

/* Loads `path`, a task.json or the folder that holds one, with every file it names. Errors name
 * file, field path and what was expected. The caller frees. */
kf_task *kf_task_load(const char *path, kf_error *error);
/* From and to one self-contained JSON value:
 * {"schema":"kforge-bundle/1","json":{…},"files":{"oracle.cu":"…"}}. */
kf_task *kf_task_from_bundle(const cJSON *bundle, kf_error *error);
cJSON *kf_task_bundle(const kf_task *task);
void kf_task_free(kf_task *task);
KF_DEFINE_AUTO(kf_task, kf_task_free)

const char *kf_task_name(const kf_task *task);
const char *kf_task_description(const kf_task *task);
const char *kf_task_entry(const kf_task *task);
const char *kf_task_precision(const kf_task *task);
/* Content address over task.json (canonical form) and all files. */
const char *kf_task_hash(const kf_task *task);
/* Folder it was loaded from, or NULL for a bundle. */
const char *kf_task_folder(const kf_task *task);
int kf_task_workload_count(const kf_task *task);
const char *kf_task_workload_name(const kf_task *task, int workload);
/* Sources, borrowed. The oracle defines `extern "C" void ENTRY_oracle(…)`: the candidate's
 * signature with every floating output and inout as double* (an inout is handed over as double*,
 * filled with the input values). The baseline defines ENTRY. */
const kf_task_file *kf_task_oracle(const kf_task *task);
const kf_task_file *kf_task_baseline(const kf_task *task);
/* "baselines": {"cublas": {"file": …}} of the task by name; NULL when it has none of that name. */
const kf_task_file *kf_task_baseline_named(const kf_task *task, const char *name);
int kf_task_seed_count(const kf_task *task);
const kf_task_file *kf_task_seed(const kf_task *task, int seed);
/* "compile": true: a baseline for PyTorch goes through torch.compile. `name` NULL: the task's own
 * baseline. */
bool kf_task_baseline_compiled(const kf_task *task, const char *name);
/* A task whose oracle or one of whose baselines is a problem file: it has a "torch" object, which
 * says what the arguments are to the problem, and a candidate may be a Python file with class
 * ModelNew. */
bool kf_task_is_torch(const kf_task *task);
/* The patches of the problem file's constants for a workload on a device, {"batch_size": 4}: a new
 * object; NULL with the error. */
cJSON *kf_task_torch_patches(const kf_task *task, int workload, const char *device,
                             kf_error *error);
/* What a file of the task may link: the libraries of the named baseline that it is, else those of
 * the task; terminated by NULL. */
const char *const *kf_task_file_libraries(const kf_task *task, const kf_task_file *file);
/* Libraries the candidate may use ("cublas", …); terminated by NULL. */
const char *const *kf_task_libraries(const kf_task *task);

/* Makes workload number `workload` concrete for `device` ("cpu" or "cuda": a workload may carry
 * smaller params for one of them under "device_params"). `problem` borrows names from the task. A
 * workload that the task restricts to other devices: returns true with *applies = false. Errors: a
 * shape or value out of range, named. */
bool kf_task_resolve(const kf_task *task, int workload, const char *device, kf_problem *problem,
                     bool *applies, kf_error *error);

/* The candidate's prototype, e.g. `extern "C" void axpy(const float *x, float *y, float a, int64_t
 * n, cudaStream_t stream)`, without the semicolon; malloc'd. `oracle` gives that of the oracle. */
char *kf_task_prototype(const kf_task *task, bool oracle);

/* Values of all params of the task for a workload on a device, names borrowed; their number, or -1.
 */
int kf_task_params(const kf_task *task, int workload, const char *device,
                   kf_binding bindings[KF_MAX_PARAMS], kf_error *error);

/* Memory traffic that no implementation can avoid: inputs read once, outputs written once, inouts
 * both. */
double kf_problem_least_bytes(const kf_problem *problem);

/* "held_out": not to be used for training or the tuning of prompts. */
bool kf_task_held_out(const kf_task *task);
/* The validated task.json, borrowed: for metadata (family, tags, license) and whatever only a
 * person wants to see. */
const cJSON *kf_task_json(const kf_task *task);

/* The validated task.json as canonical text, for `task show --json` and hashes; malloc'd. */
char *kf_task_canonical(const kf_task *task);

#endif
