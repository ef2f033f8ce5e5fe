/* Tasks: the computation, its shapes, and how its outputs are checked
 * (docs/reference/task-format.md).
 *
 * A kf_task is the validated content of a task folder, files included. It can travel to another
 * machine as one JSON value (kf_task_bundle). A loaded task never changes, so threads may share it.
 * kf_task_resolve turns a task and one workload into a kf_problem, which is all that the judge
 * reads: concrete shapes, scalar values, distributions and tolerances.
 *
 * Pointers that these functions return are borrowed from the task, unless a comment says that the
 * caller frees.
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
#include "kforge/verdict_types.h"

#define KF_TASK_SCHEMA "kforge-task/1"
/* the weights of a whole network are arguments */
#define KF_MAX_ARGUMENTS 512
#define KF_MAX_WORKLOADS 64
#define KF_MAX_PARAMS 64
#define KF_MAX_SEEDS 32
/* largest source: a candidate or a file of a task */
#define KF_SOURCE_BYTES (4u << 20)

/* A workload of a task on a device. */
typedef struct kf_problem {
    /* name, borrowed from the task */
    const char *workload;
    /* counts for the speedup */
    bool timed;
    /* models do not see its shapes */
    bool hidden;
    /* only shows if a correct candidate generalises */
    kf_unseen unseen;
    /* its shapes are its own, and the signature does not pass them */
    bool own_shapes;
    kf_problem_argument arguments[KF_MAX_ARGUMENTS];
    int argument_count;
    /* least bytes and operations of one call; work_flops is 0 if the task does not give it */
    double work_bytes, work_flops;
    /* the task does not give work_bytes, so it is kf_problem_least_bytes */
    bool work_bytes_derived;
    /* bytes of all buffers of one set */
    uint64_t total_bytes;
} kf_problem;

/* The language of a file: CUDA C, or a problem file for PyTorch (docs/internals/pytorch.md). */
typedef enum kf_source_kind { KF_SOURCE_CUDA, KF_SOURCE_TORCH } kf_source_kind;

typedef struct kf_task_file {
    /* relative to the task's folder, without ".." */
    char *name;
    /* ends with NUL */
    char *text;
    size_t size;
    kf_source_kind kind;
    /* of a problem file outside the task's folder: its path and the SHA-256 of its text. Borrowed;
     * may be NULL. */
    const char *source, *sha256;
} kf_task_file;

typedef struct kf_task kf_task;

/* Loads `path`, a task.json or its folder, with every file that it names. Errors give the file, the
 * field path and the expected value. The caller frees. */
kf_task *kf_task_load(const char *path, kf_error *error);
/* Converts from and to one self-contained JSON value:
 * {"schema":"kforge-bundle/1","json":{…},"files":{"oracle.cu":"…"}}. The caller frees the result;
 * kf_task_bundle returns NULL without memory. */
kf_task *kf_task_from_bundle(const cJSON *bundle, kf_error *error);
cJSON *kf_task_bundle(const kf_task *task);
void kf_task_free(kf_task *task);
KF_DEFINE_AUTO(kf_task, kf_task_free)

const char *kf_task_name(const kf_task *task);
const char *kf_task_description(const kf_task *task);
/* Returns why a name cannot be an entry, as the rest of a sentence. NULL if it can. */
const char *kf_entry_fault(const char *name);
const char *kf_task_entry(const kf_task *task);
const char *kf_task_precision(const kf_task *task);
/* Returns the content address: a hash over the canonical task.json and all files. */
const char *kf_task_hash(const kf_task *task);
/* Returns the folder from which the task was loaded, NULL for a bundle. */
const char *kf_task_folder(const kf_task *task);
int kf_task_workload_count(const kf_task *task);
/* Returns the name, NULL if there is no such workload. */
const char *kf_task_workload_name(const kf_task *task, int workload);
/* True if a workload only shows whether a correct candidate generalises. */
bool kf_task_is_unseen(const kf_task *task, int workload);
/* True if models and clients must not see anything of the workload of this name, not even the name.
 * True for a name that the task does not have, and for `task` NULL. */
bool kf_task_hides(const kf_task *task, const char *workload);
/* True if the text says "workload NAME" of a hidden one, with or without quotes. A name alone may
 * be any word, as "all". */
bool kf_task_names_hidden(const kf_task *task, const char *text);
/* Returns the oracle. It defines `extern "C" void ENTRY_oracle(…)` with the candidate's signature,
 * except that each floating output and inout is a double *. An inout holds the input values. */
const kf_task_file *kf_task_oracle(const kf_task *task);
/* Returns the baseline, which defines ENTRY. */
const kf_task_file *kf_task_baseline(const kf_task *task);
/* Returns an entry of "baselines" by name, NULL if there is no such entry. */
const kf_task_file *kf_task_baseline_named(const kf_task *task, const char *name);
int kf_task_seed_count(const kf_task *task);
/* Returns a seed, NULL if there is no such seed. */
const kf_task_file *kf_task_seed(const kf_task *task, int seed);
/* True if the baseline runs through torch.compile ("compile": true). `name` NULL: the task's own
 * baseline. */
bool kf_task_baseline_compiled(const kf_task *task, const char *name);
/* True if the oracle or a baseline is a problem file for PyTorch. The task then has a "torch"
 * object, and a candidate may be a Python file with class ModelNew. */
bool kf_task_is_torch(const kf_task *task);
/* Returns the name that a solution in Python may define in place of class ModelNew
 * ("custom_kernel", "Model"); NULL without one. `task` may be NULL. */
const char *kf_task_solution_name(const kf_task *task);
/* True if the source is a solution in Python: it defines ModelNew or the task's other name. */
bool kf_task_is_solution(const kf_task *task, const char *source);
/* Returns the values of the problem file's constants for a workload on a device, for example
 * {"batch_size": 4}. The caller frees; NULL with the error. */
cJSON *kf_task_torch_patches(const kf_task *task, int workload, const char *device,
                             kf_error *error);
/* Returns the libraries that a file of the task may link, ending with NULL: those of its named
 * baseline, else those of the task. */
const char *const *kf_task_file_libraries(const kf_task *task, const kf_task_file *file);
/* Returns the libraries that a candidate may use ("cublas", …), ending with NULL. */
const char *const *kf_task_libraries(const kf_task *task);

/* Makes a workload concrete for `device` ("cpu" or "cuda"; device_params may give smaller params
 * for one of them). Returns true with *applies = false if the task restricts the workload to other
 * devices. Errors give the shape or value that is out of range. `problem` borrows names from the
 * task. */
bool kf_task_resolve(const kf_task *task, int workload, const char *device, kf_problem *problem,
                     bool *applies, kf_error *error);

/* Returns the candidate's prototype without the semicolon, for example `extern "C" void axpy(const
 * float *x, float *y, float a, int64_t n, cudaStream_t stream)`. `oracle`: the oracle's. The caller
 * frees; NULL without memory. */
char *kf_task_prototype(const kf_task *task, bool oracle);

/* Evaluates all params for a workload on a device; names are borrowed. Returns their number, -1 on
 * failure. */
int kf_task_params(const kf_task *task, int workload, const char *device,
                   kf_binding bindings[KF_MAX_PARAMS], kf_error *error);

/* Returns the memory traffic in bytes that no implementation avoids: inputs read once, outputs
 * written once, inouts both. */
double kf_problem_least_bytes(const kf_problem *problem);

/* True for "aliasing": "allow": results of calls may share memory. They are copied out in the
 * stream of the calls, while the clock runs, as the next layer would read them. */
bool kf_task_allows_aliasing(const kf_task *task);
/* Returns the first string of "forbidden" that a source contains, with its line. NULL without. */
const char *kf_task_forbidden(const kf_task *task, const char *source, int *line);
/* True for "held_out": the task stays out of training data and of the tuning of prompts. */
bool kf_task_held_out(const kf_task *task);
/* Returns the validated task.json, for metadata (family, tags, license). */
const cJSON *kf_task_json(const kf_task *task);

/* Returns the canonical text of task.json, for `task show --json` and hashes. The caller frees. */
char *kf_task_canonical(const kf_task *task);

#endif
