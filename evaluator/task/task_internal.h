/* A loaded task, as the files evaluator/model/task_*.c share it. Nothing outside them includes
 * this.
 *
 * task.json is parsed once into formulas (a number, or an expression over params). What depends on
 * the workload and the device — values of params, shapes, scalars, distributions — is evaluated by
 * kf_task_resolve from these formulas. Loading resolves every workload for every device, so that a
 * task that loads also resolves.
 *
 *   task_load.c          files and bundles, accessors          task_parse.c         task.json ->
 * kf_task task_names.c         which names are allowed               task_distribution.c  the table
 * of distributions task_params.c        params with overrides and cycles      task_resolve.c
 * kf_task + workload -> kf_problem task_canonical.c     canonical text and content address
 * task_prototype.c     C signatures task_torch.c         the "torch" object for PyTorch
 * task_sources.c       which files a task names task_lint.c          static advice
 * task_lint_outputs.c  degenerate tasks, by their outputs
 */
#ifndef KFORGE_TASK_INTERNAL_H
#define KFORGE_TASK_INTERNAL_H

#include "kforge/json.h"
#include "kforge/task.h"

#define KF_TASK_DEVICES 2 /* "cpu", "cuda" */
#define KF_NAME_BYTES 64  /* longest name of anything, with its NUL */
#define KF_MAX_LIBRARIES 7
#define KF_MAX_BASELINES 8
#define KF_MAX_TASK_FILES (2 + KF_MAX_BASELINES + KF_MAX_SEEDS)
/* largest magnitude of a param: what a JSON number still names exactly */
#define KF_EXACT_INTEGER ((int64_t)1 << 53)

/* A number of task.json that may depend on params. */
typedef struct kf_formula {
    bool present;
    kf_value constant;         /* when there is no expression */
    kf_expression *expression; /* owned */
} kf_formula;

typedef struct kf_distribution_spec {
    bool present;
    kf_distribution_kind kind;
    kf_formula a, b; /* defaults filled in */
    bool vary, nonfinite;
} kf_distribution_spec;

typedef struct kf_task_argument {
    const char *name; /* strings are borrowed from kf_task.json throughout */
    kf_argument_kind kind;
    kf_dtype dtype;
    bool untyped; /* a workspace given in bytes: void * */
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
    bool devices[KF_TASK_DEVICES];
    /* one per param of the task, absent where not overridden; NULL: none */
    kf_formula *params;
    kf_formula *device_params[KF_TASK_DEVICES]; /* likewise */
    /* one per argument, absent where not overridden; NULL: none */
    kf_distribution_spec *distributions;
    bool has_tolerance;
    kf_tolerance tolerance;
} kf_task_workload;

struct kf_task {
    cJSON *json;
    char *where;  /* for messages: path of task.json, or "bundle" */
    char *folder; /* NULL for a bundle */
    char *canonical;
    char hash[KF_HASH_HEX];

    const char *name, *description, *entry, *precision;
    int param_count;
    const char *param_names[KF_MAX_PARAMS];
    kf_formula params[KF_MAX_PARAMS];
    kf_formula *device_params[KF_TASK_DEVICES];
    int argument_count;
    kf_task_argument arguments[KF_MAX_ARGUMENTS];
    bool has_tolerance;
    kf_tolerance tolerance;
    kf_formula work_bytes, work_flops;
    int workload_count;
    kf_task_workload workloads[KF_MAX_WORKLOADS];
    const char *libraries[KF_MAX_LIBRARIES + 1]; /* ends with NULL */
    bool held_out;

    int file_count; /* each file once, in order of first mention */
    kf_task_file files[KF_MAX_TASK_FILES];
    int oracle, baseline; /* indices into files */
    bool compiled;        /* the baseline */
    int baseline_count;
    struct {
        const char *name;
        int file;
        bool compiled;
        const char *libraries[KF_MAX_LIBRARIES + 1];
    } baselines[KF_MAX_BASELINES];
    int seed_count;
    int seeds[KF_MAX_SEEDS];
    const cJSON *torch; /* NULL: none of its files is for PyTorch */
    bool tf32;          /* on a GPU PyTorch may compute its convolutions in tf32 */
    int patch_count;
    const char *patch_names[KF_MAX_PARAMS];
    kf_formula patches[KF_MAX_PARAMS];
};

/* task_names.c: NULL when the name may be used, otherwise what is wrong with it ("is a keyword of
 * C++"). */
const char *kf_name_fault(const char *name); /* of tasks and workloads */
const char *kf_param_fault(const char *name);
const char *kf_argument_fault(const char *name);
const char *kf_entry_fault(const char *name);
const char *kf_file_name_fault(const char *name);

/* task_parse.c: fills everything but files' texts, canonical and hash from task->json. */
bool kf_task_parse(kf_task *task, kf_error *error);
extern const char *const kf_task_devices[KF_TASK_DEVICES];
int kf_task_device(const char *name); /* index, -1 unknown */
/* A reader of a child object; the path is that of the parent with "[index]" or ".key" behind it. */
kf_json_reader kf_task_child(const kf_json_reader *parent, const cJSON *object, const char *key,
                             int index);
/* The index of `word` among `words`; -1 after a complaint that names the nearest. */
int kf_task_choose(kf_json_reader *reader, const char *key, const char *word,
                   const char *const *words, size_t count, const char *what);
/* An array of at most `most` elements; *count is 0 when it is absent. */
const cJSON *kf_task_array(kf_json_reader *reader, const char *key, int most, int *count);
bool kf_task_no_memory(kf_json_reader *reader); /* false, with the error set */
/* Reads a number or an expression over the task's params. */
bool kf_formula_read(const kf_task *task, kf_json_reader *reader, const char *key,
                     const cJSON *value, kf_formula *formula);
void kf_formula_free(kf_formula *formula);
kf_formula kf_formula_number(double number);
const char *kf_formula_text(const kf_formula *formula, char text[KF_NAME_BYTES]); /* for messages */

/* task_sources.c: files, baselines, seeds and libraries, without texts. */
bool kf_task_read_files(kf_task *task, kf_json_reader *top);

/* task_distribution.c */
bool kf_distribution_read(const kf_task *task, const kf_json_reader *parent, const cJSON *object,
                          const char *key, kf_dtype dtype, kf_distribution_spec *spec);
void kf_distribution_free(kf_distribution_spec *spec);
/* What an input without a distribution gets; false: integers have none. */
bool kf_distribution_default(kf_dtype dtype, kf_distribution_spec *spec);
/* Evaluates the parameters for one argument with its shape and checks their ranges; error without a
 * path. */
bool kf_distribution_resolve(const kf_distribution_spec *spec, const kf_binding *bindings,
                             size_t count, kf_problem_argument *argument, kf_error *error);
/* Least and greatest value of an integer type. */
void kf_integer_range(kf_dtype dtype, int64_t *low, int64_t *high);
/* True when the value is an integer in range for integer types, and stays finite when rounded to a
 * floating type. */
bool kf_value_fits(kf_dtype dtype, kf_value value);

/* task_params.c: values of all params for a workload on a device. */
bool kf_params_resolve(const kf_task *task, int workload, int device,
                       kf_binding bindings[KF_MAX_PARAMS], kf_error *error);
bool kf_formula_evaluate(const kf_formula *formula, const kf_binding *bindings, size_t count,
                         kf_value *value, kf_error *error);
/* The same for an integer; a decimal that is one counts. */
bool kf_formula_integer(const kf_formula *formula, const kf_binding *bindings, size_t count,
                        int64_t *value, kf_error *error);

/* task_torch.c: the "torch" object, when the files are known. */
bool kf_task_read_torch(kf_task *task, kf_json_reader *top);

/* task_canonical.c */
char *kf_canonical_json(const cJSON *value, kf_error *error);
bool kf_task_address(kf_task *task, kf_error *error);

#endif
