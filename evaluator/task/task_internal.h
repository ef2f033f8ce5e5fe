/* A loaded task, as the files evaluator/task/task_*.c share it. Nothing else includes this header.
 *
 * Loading parses task.json once into formulas (numbers, or expressions over params). Values of
 * params, shapes, scalars and distributions depend on the workload and the device. kf_task_resolve
 * evaluates them from the formulas. Loading resolves every workload for every device, so a task
 * that loads also resolves. README.md says which file does which part. */
#ifndef KFORGE_TASK_INTERNAL_H
#define KFORGE_TASK_INTERNAL_H

#include "kforge/json.h"
#include "kforge/task.h"

/* "cpu", "cuda" */
#define KF_TASK_DEVICES 2
/* longest name of a task, param, argument, …, with its NUL */
#define KF_NAME_BYTES 64
#define KF_MAX_LIBRARIES 7
#define KF_MAX_BASELINES 8
#define KF_MAX_TASK_FILES (2 + KF_MAX_BASELINES + KF_MAX_SEEDS)
/* largest magnitude of a param: a double is exact up to here */
#define KF_EXACT_INTEGER ((int64_t)1 << 53)

/* A number of task.json that may depend on params. */
typedef struct kf_formula {
    bool present;
    /* without an expression */
    kf_value constant;
    /* owned; NULL for a constant */
    kf_expression *expression;
} kf_formula;

typedef struct kf_distribution_spec {
    bool present;
    kf_distribution_kind kind;
    /* with their defaults filled in */
    kf_formula a, b;
    bool vary, nonfinite, generated;
} kf_distribution_spec;

/* Strings of all structs here are borrowed from kf_task.json. */
typedef struct kf_task_argument {
    const char *name;
    kf_argument_kind kind;
    kf_dtype dtype;
    /* a workspace given in bytes: void * */
    bool untyped;
    int dims;
    kf_formula shape[KF_MAX_DIMS];
    kf_formula value;
    kf_distribution_spec distribution;
    bool has_tolerance;
    kf_tolerance tolerance;
} kf_task_argument;

typedef struct kf_task_workload {
    const char *name;
    bool timed, hidden;
    kf_unseen unseen;
    bool devices[KF_TASK_DEVICES];
    /* one for each param of the task, absent if not overridden; NULL without overrides */
    kf_formula *params;
    kf_formula *device_params[KF_TASK_DEVICES];
    /* one for each argument, absent if not overridden; NULL without overrides */
    kf_distribution_spec *distributions;
    /* one row of extents for each argument, 0 if not overridden; NULL without overrides */
    int64_t (*shapes)[KF_MAX_DIMS];
    bool has_tolerance;
    kf_tolerance tolerance;
} kf_task_workload;

/* "params" and "device_params" of the task. */
typedef struct kf_param_table {
    int count;
    const char *names[KF_MAX_PARAMS];
    kf_formula formulas[KF_MAX_PARAMS];
    /* one for each param and device, absent if not overridden; NULL without overrides */
    kf_formula *device[KF_TASK_DEVICES];
} kf_param_table;

/* An entry of "baselines". */
typedef struct kf_named_baseline {
    const char *name;
    /* index into kf_source_list.files */
    int file;
    /* torch.compile translates it */
    bool compiled;
    /* ends with NULL */
    const char *libraries[KF_MAX_LIBRARIES + 1];
} kf_named_baseline;

/* The files that task.json names. */
typedef struct kf_source_list {
    /* each file once, in order of first mention */
    int file_count;
    kf_task_file files[KF_MAX_TASK_FILES];
    /* indices into files */
    int oracle, baseline;
    /* torch.compile translates the baseline */
    bool compiled;
    int baseline_count;
    kf_named_baseline baselines[KF_MAX_BASELINES];
    int seed_count;
    int seeds[KF_MAX_SEEDS];
} kf_source_list;

/* The "torch" object. */
typedef struct kf_torch_layout {
    /* NULL if no file of the task is for PyTorch */
    const cJSON *object;
    /* PyTorch may compute its convolutions on a GPU in tf32 */
    bool tf32;
    int patch_count;
    const char *patch_names[KF_MAX_PARAMS];
    kf_formula patches[KF_MAX_PARAMS];
} kf_torch_layout;

struct kf_task {
    cJSON *json;
    /* for messages: the path of task.json, or "bundle" */
    char *where;
    /* NULL for a bundle */
    char *folder;
    char *canonical;
    char hash[KF_HASH_HEX];

    const char *name, *description, *entry, *precision;
    bool held_out, aliasing;
    /* strings that no candidate may contain; NULL without */
    const cJSON *forbidden;
    /* ends with NULL */
    const char *libraries[KF_MAX_LIBRARIES + 1];
    kf_param_table params;
    int argument_count;
    kf_task_argument arguments[KF_MAX_ARGUMENTS];
    bool has_tolerance;
    kf_tolerance tolerance;
    kf_formula work_bytes, work_flops;
    int workload_count;
    kf_task_workload workloads[KF_MAX_WORKLOADS];
    kf_source_list sources;
    kf_torch_layout torch;
};

/* task_names.c: return NULL for an allowed name, otherwise the fault ("is a keyword of C or C++").
 */

/* For tasks and workloads. */
const char *kf_name_fault(const char *name);
const char *kf_param_fault(const char *name);
const char *kf_argument_fault(const char *name);
const char *kf_file_name_fault(const char *name);

/* task_parse.c: fills all of the task from task->json but the texts of files, `canonical` and
 * `hash`. */
bool kf_task_parse(kf_task *task, kf_error *error);

/* task_fields.c. Each function complains with the field path and returns false, -1 or NULL. */

/* Returns a reader of a child object; its path is the parent's with ".key" or ".key[index]" (index
 * -1: without) appended. */
kf_json_reader kf_task_child(const kf_json_reader *parent, const cJSON *object, const char *key,
                             int index);
/* Returns the index of `word` among `words`; -1 after a complaint that names the nearest word.
 * `kind` says which words these are ("device"). */
int kf_task_choose(kf_json_reader *reader, const char *key, const char *word,
                   const char *const *words, size_t count, const char *kind);
/* Returns an array of at most `most` elements; NULL and a *count of 0 if it is absent. */
const cJSON *kf_task_array(kf_json_reader *reader, const char *key, int most, int *count);
/* Looks up the element type called `name`. */
bool kf_task_dtype(kf_json_reader *reader, const char *key, const char *name, kf_dtype *dtype);
/* Returns a string to which `fault`, one of task_names.c, has no objection. The key is optional if
 * there is a fallback. */
const char *kf_task_name_field(kf_json_reader *reader, const char *key, const char *fallback,
                               const char *(*fault)(const char *));

/* task_formula.c */

/* Reads a number or an expression over the task's params. */
bool kf_formula_read(const kf_task *task, kf_json_reader *reader, const char *key,
                     const cJSON *value, kf_formula *formula);
void kf_formula_free(kf_formula *formula);
kf_formula kf_formula_number(double number);
/* Writes the formula for a message: the expression in quotes, or "it". Returns `text`. */
const char *kf_formula_text(const kf_formula *formula, char text[KF_NAME_BYTES]);
bool kf_formula_evaluate(const kf_formula *formula, const kf_binding *bindings, size_t count,
                         kf_value *value, kf_error *error);
/* Evaluates to an integer; a decimal without a fraction counts as one. */
bool kf_formula_integer(const kf_formula *formula, const kf_binding *bindings, size_t count,
                        int64_t *value, kf_error *error);

/* task_sources.c: reads files, baselines, seeds and libraries, without texts. */
bool kf_task_read_files(kf_task *task, kf_json_reader *top);

/* task_distribution.c */

/* Reads a distribution for an input of type `dtype`. */
bool kf_distribution_read(const kf_task *task, const kf_json_reader *parent, const cJSON *object,
                          const char *key, kf_dtype dtype, kf_distribution_spec *spec);
void kf_distribution_free(kf_distribution_spec *spec);
/* Fills the default distribution of an input. False for integers, which have no default. */
bool kf_distribution_default(kf_dtype dtype, kf_distribution_spec *spec);
/* Evaluates the parameters for an argument with its shape, and checks their ranges. The error has
 * no field path. */
bool kf_distribution_resolve(const kf_distribution_spec *spec, const kf_binding *bindings,
                             size_t count, kf_problem_argument *argument, kf_error *error);
/* Returns the least and greatest value of an integer type. */
void kf_integer_range(kf_dtype dtype, int64_t *low, int64_t *high);
/* True when the value is an integer in range for integer types, and stays finite when rounded to a
 * floating type. */
bool kf_value_fits(kf_dtype dtype, kf_value value);

/* task_param_precedence.c */

/* "cpu", "cuda": the devices that device_params and the "devices" of a workload may name. */
extern const char *const kf_task_devices[KF_TASK_DEVICES];
/* Returns the index of a device, -1 if there is no such device. */
int kf_task_device(const char *name);
/* Evaluates all params for a workload on a device. */
bool kf_params_resolve(const kf_task *task, int workload, int device,
                       kf_binding bindings[KF_MAX_PARAMS], kf_error *error);

/* task_torch.c: reads the "torch" object. Needs the list of files. */
bool kf_task_read_torch(kf_task *task, kf_json_reader *top);

/* task_canonical.c */

/* Returns the canonical text; the caller frees. */
char *kf_canonical_json(const cJSON *value, kf_error *error);
/* Fills `canonical` and `hash`. */
bool kf_task_address(kf_task *task, kf_error *error);

#endif
