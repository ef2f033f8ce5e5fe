/* The CUDA device's parts: the device itself (device_cuda.c), work for its own kernels
 * (work_cuda.h), its ceilings (ceilings_cuda.c), whether its memory is quiet
 * (memory_settle_cuda.c), its buffer sets (sets_cuda.c, inspect_cuda.c) and nvcc (build_cuda.c). */
#ifndef KFORGE_DEVICE_CUDA_H
#define KFORGE_DEVICE_CUDA_H

#include "device.h"
#include "driver_cuda.h"
#include "driver_tools.h"
#include "kernels.h"
#include "launch_cpu.h"
#include "memory_settle.h"
#include "cpu_idle_guard.h"

enum kf_kernel {
    KF_KERNEL_FILL,
    KF_KERNEL_FILL_QUICK,
    KF_KERNEL_FILL_SPECIAL,
    KF_KERNEL_POISON,
    KF_KERNEL_CHECK,
    KF_KERNEL_DIGEST,
    KF_KERNEL_COMPARE,
    KF_KERNEL_SNAPSHOT,
    KF_KERNEL_READ,
    KF_KERNEL_COPY,
    KF_KERNEL_GATHER,
    KF_KERNEL_COUNT
};

/* Device memory that grows when more is asked for; what was in it is lost then. */
typedef struct kf_cuda_room {
    cu_pointer pointer;
    size_t bytes;
} kf_cuda_room;

typedef struct kf_cuda_device {
    kf_device head;
    kf_cuda cuda;
    kf_nvml *nvml;
    char *cache; /* folder, NULL none */
    cu_device device;
    cu_context context;
    cu_stream stream;
    cu_module module;
    cu_function kernels[KF_KERNEL_COUNT];
    int ordinal, multiprocessors, clock_khz;
    size_t l2_bytes, granule;
    uint64_t memory_bytes;
    char uuid[48], driver_folder[4096], driver[64], architecture[32];
    int driver_version;
    kf_cuda_room tasks, results, snapshots, flush; /* flush: twice the L2 */
    double copy_bytes_per_second, read_bytes_per_second;
    kf_memory_settle quiet; /* memory_settle_cuda.c: by reads of quiet_room, */
    kf_cuda_room settle_room;
    cu_event settle_events[2]; /* with these around each */
    /* What a runner is started with; the strings outlive it. */
    char program[4200], directory[4200], node[64], visible[80], libraries[4200];
    const char *environment[20];
    char script[4200], preload[4300], compiling[4200]; /* of a runner in Python */
    const char *arguments[6];
    /* Of runners that count: the metrics' names with commas between them, NULL none yet. */
    char *count_names;
    char count_library[4200], count_search[8500], count_folder[4096], *count_metrics;
    const char *count_environment[20];
    int lock; /* descriptor of the timing lock's file, -1 none */
    bool has_launcher, moved;
    kf_launch_cpu processors;      /* where has_launcher */
    cpu_set_t before;              /* where `moved`: of the thread that has reserved the device */
    kf_cpu_idle_guard *idle_guard; /* may be NULL */
    uint64_t broken_words;         /* uncorrectable errors of its memory when it was opened */
    /* since then: the driver is not asked any more, since it may not answer */
    bool lost;
} kf_cuda_device;

/* ---- device_cuda.c --------------------------------------------------------------------------- */

/* False with an error that says what the driver said about `doing`. */
bool kf_cuda_check(const kf_cuda_device *gpu, cu_result result, const char *doing, kf_error *error);
bool kf_cuda_room_need(kf_cuda_device *gpu, kf_cuda_room *room, size_t bytes, kf_error *error);
bool kf_cuda_wait(kf_cuda_device *gpu, const char *doing, kf_error *error);

/* Measures what the device can do, or reads it from the cache. */
bool kf_cuda_ceilings(kf_cuda_device *gpu, kf_error *error);
/* The device's `measure_ceilings`. */
bool kf_cuda_measure_ceilings(kf_device *device, kf_error *error);
/* memory_settle_cuda.c: finds out what a read takes as a rule, of a device with so much memory; the
 * device's `await_quiet`. */
bool kf_cuda_memory_settle_begin(kf_cuda_device *gpu, uint64_t memory_bytes, kf_error *error);
void kf_cuda_memory_settle_end(kf_cuda_device *gpu);
void kf_cuda_memory_settle(kf_device *device, double most);
/* nvcc in the build jail; and a line that changes when nvcc or the host's compiler does, malloc'd.
 */
bool kf_build_cuda(const kf_cuda_device *gpu, const kf_build_request *request, kf_build *build,
                   kf_error *error);
char *kf_cuda_toolchain(const kf_cuda_device *gpu);
/* "nvcc 13.0.88, gcc 12.2.0": the compiler, and the one that it leaves the host's half to, in words
 * of conditions (compiler.h). */
void kf_cuda_compiler(char words[KF_COMPILER_WORDS]);
/* counters_cuda.c: libcupti of the toolkit or of $KFORGE_CUPTI, links resolved. */
bool kf_cupti_find(char path[4096]);

/* ---- sets_cuda.c ----------------------------------------------------------------------------- */

/* One allocation: shared with runners as a whole, mapped between unmapped addresses. */
typedef struct kf_cuda_region {
    cu_handle handle;
    cu_pointer reserved, base;
    uint64_t bytes;
    /* for runners, the same for all of them: the driver takes a millisecond to make one; -1 none
     * yet */
    int descriptor;
} kf_cuda_region;

typedef struct kf_cuda_buffer {
    uint32_t region;
    uint64_t offset, length, data_offset, bytes; /* offset: in the region */
    uint64_t digest;
} kf_cuda_buffer;

typedef struct kf_cuda_copy {
    uint32_t set;
    int argument;
    bool truth;
    void *data;
} kf_cuda_copy;

struct kf_sets {
    kf_cuda_device *gpu;
    const kf_problem *problem;
    uint32_t count;
    bool truth;
    /* sets that have truths of their own; the others have theirs in the same place */
    uint32_t truth_room;
    kf_cuda_region *regions;
    uint32_t region_count;
    kf_cuda_buffer *buffers, *truths; /* [set * argument_count + argument] */
    uint64_t digest_key, secret, poison_secret;
    bool inouts_digested; /* since the last fill */
    kf_set_variation *variations;
    uint32_t *sources;    /* the set whose numbers a buffer holds, its own but for copies */
    kf_cuda_copy *copies; /* on the host, until the next fill or poison */
    size_t copy_count;
    /* What a glance at the end of the last batch saw lies in the device's room for that. */
    kf_snapshot_task *snapshot_tasks;
    uint32_t *snapshot_sets;
    size_t snapshot_count;
    uint64_t snapshot_seed;
    kf_damage late; /* that an earlier glance's outputs had changed */
    /* Of runners in Python (device_pool_cuda.c). */
    struct kf_output_directory *output_directories[2]; /* by role: of a candidate and a baseline */
    const kf_runner *python;                           /* the candidate's runner, where it is one */
};

kf_sets *kf_cuda_sets_new(kf_device *device, const kf_problem *problem, uint32_t count, bool truth,
                          kf_error *error);
void kf_cuda_sets_free(kf_sets *sets);
kf_runner_event kf_cuda_hand_over(kf_sets *sets, kf_runner *runner, kf_role role);
bool kf_cuda_fill(kf_sets *sets, uint64_t secret, const kf_set_variation *variations,
                  kf_error *error);
bool kf_cuda_poison(kf_sets *sets, uint64_t secret, kf_error *error);
uint32_t kf_cuda_truth_room(const kf_sets *sets);
void kf_cuda_cache_flush(kf_sets *sets, const uint32_t *list, uint32_t count);
bool kf_cuda_prepare_truth(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
bool kf_cuda_copy_input(kf_sets *sets, uint32_t from, uint32_t to, int argument, kf_error *error);

/* Shared by sets_cuda.c and inspect_cuda.c. */
kf_key kf_cuda_key(uint64_t secret, uint32_t set, int argument);
uint64_t kf_cuda_address(const kf_sets *sets, const kf_cuda_buffer *buffer); /* of element 0 */
/* Digests of the listed buffers (entries of sets->buffers), into `digests`. */
bool kf_cuda_digests(kf_sets *sets, const size_t *entries, size_t count, uint64_t *digests,
                     kf_error *error);
void kf_cuda_forget_copies(kf_sets *sets);
bool kf_cuda_is_widened(const kf_problem_argument *argument);
/* Of one set. Pure. */
uint64_t kf_cuda_truth_bytes(const kf_problem *problem);

/* ---- inspect_cuda.c -------------------------------------------------------------------------- */

bool kf_cuda_inspect(kf_sets *sets, const bool *chosen, kf_damage *damage, kf_error *error);
bool kf_cuda_device_compare(kf_sets *sets, const uint32_t *list, uint32_t count,
                            kf_device_compare *comparisons, kf_error *error);
bool kf_cuda_output_snapshot(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
bool kf_cuda_settled(kf_sets *sets, kf_damage *damage, kf_error *error);
const void *kf_cuda_output(kf_sets *sets, uint32_t set, int argument, kf_error *error);
const void *kf_cuda_truth(kf_sets *sets, uint32_t set, int argument, kf_error *error);
const void *kf_cuda_input(kf_sets *sets, uint32_t set, int argument, kf_error *error);

#endif
