/* The interface of a device: builds for it, runners on it, and buffer sets that judge and runners
 * share. Each kind of device has one table of functions (device_cpu.c, device_cuda.c).
 *
 * Buffer sets. There are several sets of a problem's buffers. Each buffer lies between two guards:
 * the front guard ends at element 0, and the back guard begins after the last byte. Before a batch,
 * the guards and all that a runner may write (outputs, inouts, workspace) hold random bits. Inputs
 * are filled from a secret and digested. The truth, which the oracle computes, has buffers of its
 * own. Only the oracle's runner maps them. The candidate shares no buffer with the others, unless a
 * GPU is too small.
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

/* The variation of the inputs of one set. At most one argument is varied, so that a failure names
 * its cause. */
typedef struct kf_set_variation {
    /* -1: no argument. */
    int argument;
    kf_variation variation;
} kf_set_variation;

/* A forbidden change of a buffer by a batch. */
typedef struct kf_damage {
    enum {
        KF_DAMAGE_NONE,
        KF_DAMAGE_INPUT,
        KF_DAMAGE_GUARD,
        KF_DAMAGE_UNCHOSEN,
        /* Written after the runner had said that all calls were over. */
        KF_DAMAGE_LATE,
        /* Written after work that follows the call in the call's stream. */
        KF_DAMAGE_UNORDERED,
    } kind;
    int set, argument;
    /* From element 0; negative before it. -1 for inputs: unknown. */
    int64_t byte;
} kf_damage;

/* The comparison of one output on the device. */
typedef struct kf_device_compare {
    /* False if the CPU has to compare. */
    bool known;
    kf_error_sums sums;
    /* Elements that fail kf_compare_rule. */
    int64_t failed;
} kf_device_compare;

/* A result of a runner in Python that is unreadable, or is not as the task says. */
typedef struct kf_fetch_fault {
    /* True if the judge may not read the runner's memory at all. */
    bool machine;
    int set, argument;
    /* "" without a fault. */
    char rule[32], text[256];
} kf_fetch_fault;

#define KF_FRESH_INPUT UINT32_MAX
#define KF_PLAIN_INPUT (UINT32_MAX - 1)

/* Bytes of a buffer, from element 0. */
typedef struct kf_part {
    uint64_t offset;
    uint32_t bytes;
} kf_part;

/* Buffer sets. Each device casts this to a struct of its own (kf_cpu_sets, kf_cuda_sets). */
typedef struct kf_sets kf_sets;
typedef struct kf_device kf_device;
struct kf_counting;
struct kf_runner_pool;

/* The program, paths and limits of a runner on this device. The device owns strings and paths. */
#define KF_PLACE_PATHS 32
typedef struct kf_runner_place {
    kf_runner_kind kind;
    const char *program, *directory;
    /* As in kf_runner_spec. */
    const char *const *arguments;
    /* With space for the binary. */
    kf_sandbox_path paths[KF_PLACE_PATHS];
    size_t path_count;
    const char *const *environment;
    kf_sandbox_limits limits;
    /* Threads of the device's own that may appear later. */
    int spare_threads;
    /* As in kf_runner_spec. */
    bool at_launcher, sealed;
    /* Once loaded it needs no file, unless a library of the task does (kf_runner_hide_files). */
    bool hidable;
    kf_cpu_idle_guard *idle_guard;
    const cpu_set_t *launcher;
    /* As in kf_sandbox_spec. */
    bool same_addresses;
} kf_runner_place;

typedef enum kf_role { KF_ROLE_CANDIDATE, KF_ROLE_BASELINE, KF_ROLE_ORACLE } kf_role;

/* Functions for the buffer sets of a device. */
typedef struct kf_buffer_operations {
    kf_sets *(*sets_new)(kf_device *device, const kf_problem *problem, uint32_t count, bool truth,
                         kf_error *error);
    void (*sets_free)(kf_sets *sets);
    /* Finds the device's free memory and all its memory, in bytes. NULL: unknown. */
    bool (*memory)(kf_device *device, uint64_t *free_bytes, uint64_t *all_bytes, kf_error *error);
    /* Hands all buffers to a runner. The oracle gets read-only inputs and the truth's buffers.
     * Other runners get everything but the truth. */
    kf_runner_event (*hand_over)(kf_sets *sets, kf_runner *runner, kf_role role);
    /* Selects a side, candidate or baseline: the functions below mean its buffers. Gives it the
     * inputs that were filled since its last turn. Comes before cache_flush. At first it is the
     * baseline's turn. */
    bool (*turn_to)(kf_sets *sets, kf_role side, kf_error *error);
    /* True if memory is too short for buffers of each side. NULL: never. */
    bool (*sides_share)(const kf_sets *sets);
    /* Fills the inputs of every set from `secret`, with their guards. Remembers the initial values
     * of inouts, which `poison` writes. `variations` has one entry for each set. */
    bool (*fill)(kf_sets *sets, uint64_t secret, const kf_set_variation *variations,
                 kf_error *error);
    /* Selects a side like turn_to. Fills its outputs and workspace of every set with random bits,
     * and inouts with their initial values. */
    bool (*poison)(kf_sets *sets, kf_role side, uint64_t secret, kf_error *error);
    /* Removes the listed sets from the device's caches. */
    void (*cache_flush)(kf_sets *sets, const uint32_t *list, uint32_t count);
    /* For devices on which a stopped runner does not stop its work (NULL on others). `occupy` keeps
     * all other work off the device until `vacate`. `withhold` writes other numbers to secret parts
     * of the inputs, and `vacate` puts the inputs back: it is the first step inside a batch's
     * clock. `occupy` and `vacate` may be called again, without effect. `interruption`: the longest
     * time in seconds in which other work ran in the last occupation; 0 without, INFINITY if the
     * occupation ended early. */
    bool (*occupy)(kf_sets *sets, kf_error *error);
    bool (*withhold)(kf_sets *sets, kf_error *error);
    void (*vacate)(kf_sets *sets);
    bool (*interruption)(kf_sets *sets, double *seconds, kf_error *error);
    /* Finds the first damage of the last batch. `chosen` has one flag for each set. Sets without
     * the flag must be as `poison` left them. */
    bool (*inspect)(kf_sets *sets, const bool *chosen, kf_damage *damage, kf_error *error);
    /* For devices on which a stopped runner does not stop its work (NULL on others). `snapshot`
     * remembers parts of the outputs of the listed sets, right after the clock has stopped.
     * `settled` finds parts that have changed since, after all comparisons (KF_DAMAGE_LATE). */
    bool (*snapshot)(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
    bool (*settled)(kf_sets *sets, kf_damage *damage, kf_error *error);
    /* Compares outputs with the truth on the device: comparisons[k * argument_count + argument] for
     * list[k]. NULL: the CPU compares. */
    bool (*device_compare)(kf_sets *sets, const uint32_t *list, uint32_t count,
                           kf_device_compare *comparisons, kf_error *error);
    /* Prepares the truth's buffers of the listed sets for the oracle. */
    bool (*prepare_truth)(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
    /* Finds what the oracle wrote outside its outputs of the listed sets since prepare_truth. NULL:
     * its outputs have no guards. */
    void (*inspect_truth)(kf_sets *sets, const uint32_t *list, uint32_t count, kf_damage *damage);
    /* Returns how many sets have a truth at a time: all, or one if memory is short. NULL: all. */
    uint32_t (*truth_room)(const kf_sets *sets);
    /* Return host copies of an output, of the truth and of an input. They are valid until the next
     * batch. */
    const void *(*output)(kf_sets *sets, uint32_t set, int argument, kf_error *error);
    const void *(*truth)(kf_sets *sets, uint32_t set, int argument, kf_error *error);
    const void *(*input)(kf_sets *sets, uint32_t set, int argument, kf_error *error);
    /* Makes an input or inout of one set equal to that of another set, until the next fill. A side
     * has it from its next turn on. `poison` and `prepare_truth` restore the copied values, too.
     * `from` KF_FRESH_INPUT: new numbers of the same distribution. KF_PLAIN_INPUT: numbers that are
     * not varied, the same at each call until the next fill. */
    bool (*copy_input)(kf_sets *sets, uint32_t from, uint32_t to, int argument, kf_error *error);
    /* Has the problem's own generator make what KF_FRESH_INPUT or `release` will give the listed
     * sets. NULL: not needed, since the device is never occupied. */
    bool (*make_fresh)(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
    /* Read and write some bytes of a buffer, also while a batch runs. All calls that begin after
     * write_part has returned see the new bytes. Not `live`: an inout that a call has changed keeps
     * its results, and only its initial values change. NULL: no batch is watched
     * (measure_watch.c). */
    bool (*read_part)(kf_sets *sets, uint32_t set, int argument, const kf_part *part, void *data,
                      kf_error *error);
    bool (*write_part)(kf_sets *sets, uint32_t set, int argument, const kf_part *part,
                       const void *data, bool live, kf_error *error);
    /* Makes the present content of an input its right one, until the next fill. */
    bool (*accept_input)(kf_sets *sets, uint32_t set, int argument, kf_error *error);
    /* Moves a share of an input's elements to neighbouring numbers (kf_nudge). */
    bool (*nudge_input)(kf_sets *sets, uint32_t set, int argument, uint64_t seed, double share,
                        kf_error *error);
    /* True if nudge_input takes inouts, too, and moves their initial values. */
    bool nudges_inouts;
    /* Writes bytes of an output as they were before the batch. */
    void (*poison_read)(kf_sets *sets, uint32_t set, int argument, uint64_t first, uint64_t count,
                        void *bytes);
} kf_buffer_operations;

/* Functions for devices on which work of a call can leave the call's stream (stream_page.h). All
 * are NULL on other devices. */
typedef struct kf_order_operations {
    /* Prepares the candidate's stream page for its next batch: opens the gates of the first `open`
     * calls, closes the others, and clears the samples. */
    bool (*hold)(kf_sets *sets, uint32_t open, kf_error *error);
    /* Looks into the device's cache for the inputs of a set. The first look flushes the cache, the
     * one with `again` comes later. *share: which part of one input has been read since. 0 if no
     * input is large enough, or if the device does not show it. */
    bool (*cached)(kf_sets *sets, uint32_t set, bool again, double *share, kf_error *error);
    /* Gives the listed sets new numbers of the same distribution, then opens all gates. For a batch
     * that is held. */
    bool (*release)(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
    /* Keeps the samples of a batch of `count` calls in this order, until the next `poison`. */
    bool (*take_samples)(kf_sets *sets, uint64_t nonce, const uint32_t *order, uint32_t count,
                         kf_error *error);
    /* Finds a sample that differs from the output as it is now (KF_DAMAGE_UNORDERED). */
    bool (*check_samples)(kf_sets *sets, kf_damage *damage, kf_error *error);
    /* Returns the seconds that waiting for an open gate adds to a call. */
    double (*gate_seconds)(const kf_device *device);
} kf_order_operations;

/* Functions for runners in Python, whose results stay in memory of their own. */
typedef struct kf_python_operations {

    /* Returns how many sets a measurement with a runner in Python begins with: three, or fewer if
     * memory is short. One is possible only if the candidate keeps its results in memory of its own
     * (`own_results`). NULL: three. */
    uint32_t (*least_sets)(const kf_device *device, const kf_problem *problem, bool own_results);
    /* Prepares a runner in Python before it loads its first plan: on a GPU, gives it device memory
     * that the judge can read. `sets`: how many sets have their memory by then. NULL: nothing to
     * do. */
    bool (*equip)(kf_device *device, kf_runner *runner, kf_role role, const kf_problem *problem,
                  uint32_t sets, kf_error *error);
    /* True if a runner that was equipped for another problem can serve this one. NULL: always. */
    bool (*suits)(const kf_device *device, const kf_runner *runner, kf_role role,
                  const kf_problem *problem);
    /* True if the runner got less memory than the problem deserves. NULL: never. */
    bool (*is_short)(const kf_device *device, const kf_runner *runner, const kf_problem *problem);
    /* Copies the results of the listed sets from the memory of a stopped runner in Python into the
     * sets' outputs. *fault: the first result that is unreadable or wrong. `chosen` has one flag
     * for each set: their results must not share memory. NULL without runners in Python. */
    bool (*fetch)(kf_sets *sets, kf_runner *runner, kf_role role, const uint32_t *list,
                  uint32_t count, const bool *chosen, kf_fetch_fault *fault, kf_error *error);
    /* Remembers where the candidate's results of the listed sets lie. Until the next `poison`,
     * results of later calls must not share that memory (`fetch`). NULL where `least_sets` is. */
    bool (*hold_results)(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
} kf_python_operations;

/* The table of a kind of device, in four parts: the device itself, its buffers, the memory of
 * runners in Python, and the order of calls in their stream. */
typedef struct kf_device_operations {
    /* "cpu" or "cuda": decides which params of a task apply. */
    const char *kind;
    void (*free)(kf_device *device);
    bool (*describe)(const kf_device *device, cJSON *object);
    bool (*build)(kf_device *device, const kf_build_request *request, kf_build *build,
                  kf_error *error);
    /* Returns a text that changes with everything that changes a build (compilers, headers). The
     * caller frees it. */
    char *(*toolchain)(const kf_device *device);
    bool (*place)(kf_device *device, kf_runner_kind kind, kf_runner_place *place, kf_error *error);
    /* Returns the status of a device error code. *name: its name. */
    kf_status (*error_status)(int code, const char **name);
    /* Returns the physical floor of one call in seconds: memory traffic and arithmetic at the
     * measured peaks. 0 if unknown. */
    double (*floor_seconds)(const kf_device *device, const kf_problem *problem);
    /* Measures the ceilings again and keeps the higher ones. The judge calls it before a conviction
     * by the floor. May be NULL. */
    bool (*measure_ceilings)(kf_device *device, kf_error *error);
    /* Takes or gives back the right to time on this device, which one process at a time has. NULL
     * if no other process can disturb. */
    bool (*reserve)(kf_device *device, bool take, const volatile int *stop, kf_error *error);
    /* The same for the parts of a measurement that are timed, on a device that several processes
     * may use at a time otherwise. Giving back what was not taken has no effect. NULL: `reserve`
     * covers it. */
    bool (*time_alone)(kf_device *device, bool take, const volatile int *stop, kf_error *error);
    /* Announces a request for these counters ("all" or names) and source lines, so that the pool
     * can start a runner ahead (KF_RUNNER_COUNT). False: no runner can count. NULL without
     * counters. */
    bool (*expect_count)(kf_device *device, struct kf_runner_pool *pool, const char *wanted,
                         bool lines);
    /* Returns the hardware counters of one call of a candidate, from a runner of its own
     * (counters.h). NULL without counters. */
    cJSON *(*count)(kf_device *device, struct kf_counting *counting, kf_error *error);
    /* True if the device is gone or its memory is broken since it was opened; *error says how. No
     * verdict of this job or of a later one counts then. The judge checks the device itself, in
     * about a millisecond. It waits for other processes that time; `stop` ends the wait. NULL for a
     * device that cannot be lost. */
    bool (*lost)(kf_device *device, const volatile int *stop, kf_error *error);
    /* Adds the SM clock and throttle reasons of now to a sample. */
    void (*sample)(kf_device *device, kf_sample *sample);
    /* Waits until the device's memory is as fast as usual, at most `most` seconds. A speed that
     * stays low for that long counts as usual afterwards. The driver may clear freed memory in the
     * background, which costs bandwidth meanwhile. NULL if the driver does not. */
    void (*memory_settle)(kf_device *device, double most);

    kf_buffer_operations buffers;
    kf_python_operations python;
    kf_order_operations order;
} kf_device_operations;

/* Writes the storage of every scalar by argument number, as the wire carries it. `values` has
 * KF_MAX_ARGUMENTS entries. */
void kf_problem_scalars(const kf_problem *problem, uint64_t *values);

/* Set by the judge, for sets made from now on. */
typedef struct kf_set_choices {
    /* They take less memory, and their sides share buffers. */
    bool sides_share;
    /* Makes inputs of the workload that is measured (input_generator.h). May be NULL. */
    struct kf_generator *generator;
} kf_set_choices;

/* The first member of every device's struct. */
struct kf_device {
    const kf_device_operations *operations;
    /* "cpu", "cuda:0" */
    char name[32];
    /* The hardware's name, equal on all machines of a kind. */
    char hardware[192];
    /* A hash of kforge's own files that candidates are compiled with and run on. "" on a GPU. */
    char runtime[16];
    /* The compiler of candidates (compiler.h). */
    char compiler[KF_COMPILER_WORDS];
    /* The compute capability of a GPU. 0 for a CPU. */
    int major, minor;
    /* Processors that builds must not use. May be NULL. */
    const kf_launch_cpu *keep_off;
    /* The timing budget of a job. */
    double default_seconds;
    /* The wanted length of a batch, at most. */
    double batch_seconds;
    /* Seconds. Calls shorter than launch_bound wait for their launch. The launch time of two
     * processes differs by launch_bias. */
    double launch_bound, launch_bias;
    /* Seconds by which batches of two processes differ, for the life of the processes. */
    double batch_bias;
    /* The same if both are Python. */
    double python_bias;
    /* Seconds of cold code that one side in Python may take beyond its calls and an empty batch, if
     * the other side is not Python. */
    double python_cold;
    /* The part of a call's time by which two processes differ, for the life of the processes. */
    double process_bias;
    /* The same if a side is Python, if larger. */
    double python_process_bias;
    /* True if starting a runner takes as long as measuring. Runners then start ahead, and the
     * candidate's runner serves all workloads. */
    bool slow_start;
    /* With slow_start: how many blank runners in Python fit into the device's memory. */
    size_t python_spares;
    /* True if a call returns only after all its work. */
    bool calls_block;
    /* A time below this part of the floor is impossible. */
    double floor_margin;
    /* Seconds below which no call with work on the device can be. 0 without this bound. */
    double least_call;
    double most_sets;
    /* The memory of all sets of a problem together. */
    uint64_t set_bytes;
    kf_set_choices next_sets;
};

/* Opens the CPU device. `parallel` is borrowed. `cache`: a folder for precompiled headers, or
 * NULL. */
kf_device *kf_device_cpu_open(kf_parallel *parallel, const char *cache, kf_error *error);
/* Opens GPU number `ordinal` as the driver counts. -1: the first GPU on which no other judge times.
 * `cache`: a folder for the judge's own kernels and figures, or NULL. */
kf_device *kf_device_cuda_open(int ordinal, const char *cache, kf_error *error);
/* Returns the number of GPUs that the driver shows; 0 without a driver. */
int kf_device_cuda_count(void);
/* As kf_judge_gpu_trouble. */
bool kf_device_cuda_trouble(char *text, size_t size);

#endif
