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

#include "kforge/argument.h"
#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/expression.h"
#include "kforge/hash.h"

#define KF_TASK_SCHEMA "kforge-task/1"
#define KF_MAX_ARGUMENTS 512 /* weights of a whole network are arguments */
#define KF_MAX_WORKLOADS 64
#define KF_MAX_PARAMS 64
#define KF_MAX_SEEDS 32
#define KF_SOURCE_BYTES (4u << 20) /* size limit of one source, candidate or file of a task */

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
