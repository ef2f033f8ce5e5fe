/* What a device is to the judge: how to build for it, how to start a runner on it, and buffer sets
 * that judge and runners share. One table of functions a kind of device (device_cpu.c); measure.c
 * knows nothing else of devices.
 *
 * Buffer sets. K sets of one problem's buffers, each between guards: the front guard ends at
 * element 0, the back guard begins at the byte behind the last. All of a set that a runner may
 * write (outputs, inouts, workspace) and all guards hold random bits before a batch; inputs are
 * filled from a secret and hashed. The truth, what the oracle computes, is in buffers of its own
 * that only the oracle's runner maps.
 */
#ifndef KFORGE_DEVICE_H
#define KFORGE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "kforge/build.h"
#include "kforge/compare.h"
#include "kforge/inputs.h"
#include "kforge/sandbox.h"
#include "kforge/task.h"
#include "parallel.h"
#include "runner_process.h"
#include "launch_cpu.h"

/* How the inputs of one set are varied: at most one argument, so that a failure names what it does
 * not bear. */
typedef struct kf_set_variation {
    int argument; /* -1: none */
    kf_variation variation;
} kf_set_variation;

/* Something a batch did that it must not. */
typedef struct kf_damage {
    enum {
        KF_DAMAGE_NONE,
        KF_DAMAGE_INPUT,
        KF_DAMAGE_GUARD,
        KF_DAMAGE_UNCHOSEN,
        KF_DAMAGE_LATE, /* written after the runner had said that all calls were over */
    } kind;
    int set, argument;
    /* relative to element 0; negative in front of the buffer; for inputs -1: not known */
    int64_t byte;
} kf_damage;

/* What a device that compares by itself says of one output. */
typedef struct kf_device_compare {
    bool known; /* false: the CPU has to compare */
    kf_error_sums sums;
    int64_t failed; /* elements, by kf_compare_rule */
} kf_device_compare;

/* A result of a runner in Python that can't be fetched from its memory, or is not what the task
 * says. */
typedef struct kf_fetch_fault {
    bool machine; /* the judge may not read the runner's memory at all */
    int set, argument;
    char rule[32], text[256]; /* "" when there is none */
} kf_fetch_fault;

#define KF_FRESH_INPUT UINT32_MAX

typedef struct kf_sets kf_sets;
typedef struct kf_device kf_device;
struct kf_counting;
struct kf_runner_pool;

/* What a runner on this device needs beside its binary. Strings and paths are the device's. */
#define KF_PLACE_PATHS 32
typedef struct kf_runner_place {
    kf_runner_kind kind;
    const char *program, *directory;
    const char *const *arguments;          /* as in kf_runner_spec */
    kf_sandbox_path paths[KF_PLACE_PATHS]; /* with room for the binary */
    size_t path_count;
    const char *const *environment;
    kf_sandbox_limits limits;
    int spare_threads;             /* of the device's own that may appear later */
    bool at_launcher;              /* as in kf_runner_spec */
    kf_cpu_idle_guard *idle_guard; /* likewise */
    const cpu_set_t *launcher;     /* likewise */
    bool same_addresses;           /* as in kf_sandbox_spec */
} kf_runner_place;

typedef enum kf_role { KF_ROLE_CANDIDATE, KF_ROLE_BASELINE, KF_ROLE_ORACLE } kf_role;

typedef struct kf_device_operations {
    const char *kind; /* "cpu": which params of a task apply */
    void (*free)(kf_device *device);
    bool (*describe)(const kf_device *device, cJSON *object);
    bool (*build)(kf_device *device, const kf_build_request *request, kf_build *build,
                  kf_error *error);
    /* Text that changes whenever the same source would be built differently (compilers, headers);
     * malloc'd. */
    char *(*toolchain)(const kf_device *device);
    bool (*place)(kf_device *device, kf_runner_kind kind, kf_runner_place *place, kf_error *error);
    /* Status of a device error code, and its name. */
    kf_status (*error_status)(int code, const char **name);
    /* Physical floor of one call in seconds: what memory traffic and arithmetic take at the
     * measured peaks; 0 when unknown. */
    double (*floor_seconds)(const kf_device *device, const kf_problem *problem);
    /* Measures the ceilings behind it once more and keeps the higher ones, before somebody is
     * convicted by them; may be NULL. */
    bool (*measure_ceilings)(kf_device *device, kf_error *error);
    /* Takes or gives back the right to time on this device, which one process at a time has; NULL
     * where nobody else can disturb. */
    bool (*reserve)(kf_device *device, bool take, const volatile int *stop, kf_error *error);
    /* That these counters ("all" or names) will be wanted of a candidate, so that a runner for it
     * can be started ahead (KF_RUNNER_COUNT); false: none can. NULL where there are none. */
    bool (*expect_count)(kf_device *device, struct kf_runner_pool *pool, const char *wanted);
    /* Hardware counters of one call of a candidate, in a runner of its own (counters.h); NULL where
     * there are none. */
    cJSON *(*count)(kf_device *device, struct kf_counting *counting, kf_error *error);
    /* Is the device itself gone, or its memory broken, since it was opened? By the judge's own look
     * at it, which may take a millisecond; then no verdict of this job says anything, and none that
     * follows will: true, with an error that says so. It waits for others that time; `stop` ends
     * that. NULL where a device can't be lost. */
    bool (*lost)(kf_device *device, const volatile int *stop, kf_error *error);
    /* SM clock and throttle reasons now, for a sample. */
    void (*sample)(kf_device *device, kf_sample *sample);

    /* How many sets a measurement with a runner in Python begins with: three, or two where memory
     * is too short for more, also later. NULL: three. */
    uint32_t (*least_sets)(const kf_device *device, const kf_problem *problem);
    kf_sets *(*sets_new)(kf_device *device, const kf_problem *problem, uint32_t count, bool truth,
                         kf_error *error);
    void (*sets_free)(kf_sets *sets);
    /* Hands all buffers to a runner: the oracle gets the inputs read-only and the truth's buffers,
     * others everything but the truth. */
    kf_runner_event (*hand_over)(kf_sets *sets, kf_runner *runner, kf_role role);
    /* What a runner in Python needs before it loads its plan, once in its life: on a GPU memory
     * that the judge can read, too. `sets`: so many have their memory by then. NULL: nothing. */
    bool (*equip)(kf_device *device, kf_runner *runner, kf_role role, const kf_problem *problem,
                  uint32_t sets, kf_error *error);
    /* May a task's own runner that was equipped for another problem serve this one, too? NULL:
     * always. */
    bool (*suits)(const kf_device *device, const kf_runner *runner, kf_role role,
                  const kf_problem *problem);
    /* Was it given less memory than runners get for this problem where there is room? NULL: never.
     */
    bool (*is_short)(const kf_device *device, const kf_runner *runner, const kf_problem *problem);
    /* Inputs of every set, from `secret`, with their guards, and what inouts are to begin with,
     * which poison brings into place; variations has one entry a set. */
    bool (*fill)(kf_sets *sets, uint64_t secret, const kf_set_variation *variations,
                 kf_error *error);
    /* Outputs and workspace of every set back to random bits, inouts back to their inputs. */
    bool (*poison)(kf_sets *sets, uint64_t secret, kf_error *error);
    /* So that a batch on the listed sets finds nothing of them in a cache. */
    void (*cache_flush)(kf_sets *sets, const uint32_t *list, uint32_t count);
    /* Waits until the device's memory is as quick as usual, `most` seconds at most; what has been
     * slow for so long counts as usual from then on. A driver may clear what somebody has freed in
     * the background, and whoever computes meanwhile has less of the memory's bandwidth. NULL where
     * none does. */
    void (*memory_settle)(kf_device *device, double most);
    /* What the last batch broke, the first damage found. `chosen` has one flag a set: those left
     * out must be as poison left them. */
    bool (*inspect)(kf_sets *sets, const bool *chosen, kf_damage *damage, kf_error *error);
    /* Where stopping a runner does not stop its work (NULL elsewhere): `glance`, right behind a
     * batch's clock, remembers parts of what the listed sets' calls wrote; `settled`, when all has
     * been compared, says whether they are still the same (KF_DAMAGE_LATE). */
    bool (*snapshot)(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
    bool (*settled)(kf_sets *sets, kf_damage *damage, kf_error *error);
    /* Compares outputs with the truth on the device, surveys[k * argument_count + argument] for
     * list[k]; NULL: the CPU does. */
    bool (*device_compare)(kf_sets *sets, const uint32_t *list, uint32_t count,
                           kf_device_compare *comparisons, kf_error *error);
    /* Brings the results of the listed sets from the memory of a runner in Python, which is
     * stopped, into the sets' outputs; a fault is found for the first that can't be had. `chosen`
     * has one flag a set: none of their results may share memory. NULL where there are no such
     * runners. */
    bool (*fetch)(kf_sets *sets, kf_runner *runner, kf_role role, const uint32_t *list,
                  uint32_t count, const bool *chosen, kf_fetch_fault *fault, kf_error *error);
    /* Prepares the truth's buffers of the listed sets for the oracle. */
    bool (*prepare_truth)(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
    /* For how many sets there is room for the truth at a time: all, or one where memory is short;
     * NULL: all. */
    uint32_t (*truth_room)(const kf_sets *sets);
    /* Host copies of an output of a set, and of the truth; valid until the next batch. */
    const void *(*output)(kf_sets *sets, uint32_t set, int argument, kf_error *error);
    const void *(*truth)(kf_sets *sets, uint32_t set, int argument, kf_error *error);
    const void *(*input)(kf_sets *sets, uint32_t set, int argument, kf_error *error);
    /* Makes an input or inout of one set the same as that of another, until the next fill; also for
     * what poison and truth restore. `from` KF_FRESH_INPUT: numbers of its own kind that were
     * nowhere before. */
    bool (*copy_input)(kf_sets *sets, uint32_t from, uint32_t to, int argument, kf_error *error);
} kf_device_operations;

/* The storage of every scalar by argument number, as the wire carries it; KF_MAX_ARGUMENTS entries.
 */
void kf_problem_scalars(const kf_problem *problem, uint64_t *values);

/* The head of every device struct. */
struct kf_device {
    const kf_device_operations *operations;
    char name[32];      /* "cpu", "cuda:0" */
    char hardware[192]; /* words that are the same on each machine of its kind */
    /* hash of what of kforge's own candidates are compiled with and run on; "" nothing */
    char runtime[16];
    char compiler[KF_COMPILER_WORDS]; /* that candidates are built with (compiler.h) */
    int major, minor;                 /* compute capability of a GPU; 0 elsewhere */
    const kf_launch_cpu *keep_off;    /* processors that builds leave alone; may be NULL */
    double default_seconds;           /* timing budget of a job */
    double batch_seconds;             /* length of a batch to aim at, at most */
    double launch_bound, launch_bias; /* seconds: shorter calls wait for their launch, whose time
                                         differs so much between two processes */
    /* seconds that a batch of one process takes more than one of another, for as long as they live
     */
    double batch_bias;
    double python_bias;  /* the same where both are Python */
    double python_cold;  /* seconds that one in Python may take beyond its calls and an empty batch,
                            where the other side is not: cold code */
    double process_bias; /* part of its time that a call of one process may take more than one of
                            another, for as long as they live */
    double python_process_bias; /* the same where a side is Python, if that is more */
    bool slow_start; /* starting a runner takes as long as measuring: they are started ahead, and a
                        candidate's serves all workloads */
    /* blank runners in Python that its memory has room for, where starting is slow */
    size_t python_spares;
    /* a runner's own clock around its calls sees all of what they do: no launches that go on behind
     * it */
    bool calls_block;
    double floor_margin; /* faster than this part of the floor is impossible */
    /* seconds: what no call that has the device do something undercuts; 0: there is no such time */
    double least_call;
    /* Seconds that a call alone may take longer beside one of a batch than the baseline's does, and
     * be honest; 0: nobody is convicted of that. */
    double merged_call;
    double most_sets;   /* of a problem */
    uint64_t set_bytes; /* memory that all sets of a problem may take together */
};

/* NULL with an error when the machine has no such device. `parallel` is borrowed; `cache` is a
 * folder for precompiled headers, NULL for none. */
kf_device *kf_device_cpu_open(kf_parallel *parallel, const char *cache, kf_error *error);
/* GPU number `ordinal` as the driver counts, -1: the first that nobody times on now; `cache` is a
 * folder for the judge's own kernels and figures, NULL for none. */
kf_device *kf_device_cuda_open(int ordinal, const char *cache, kf_error *error);
/* GPUs that the driver shows, 0 without a driver. */
int kf_device_cuda_count(void);
/* As kf_judge_gpu_trouble. */
bool kf_device_cuda_trouble(char *text, size_t size);

#endif
