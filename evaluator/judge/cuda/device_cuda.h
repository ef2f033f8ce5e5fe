/* One GPU through the CUDA driver API: the device's struct and the functions of its files.
 *
 *   device_cuda.c         opens, describes and reserves the device; its table of operations
 *   cuda_calls.h          checked calls into the driver, memory for the judge's own work
 *   work_cuda.h           launches of the judge's own kernels
 *   buffers_cuda.h        buffer sets (sets_cuda.c, inspect_cuda.c, host_copies_cuda.c)
 *   device_pool_cuda.h    memory of runners in Python
 *   ceilings_cuda.c       bandwidth, launch time, the time of a gate
 *   occupy_cuda.c         keeps other work off the device while inputs are there
 *   order_cuda.c          gates and samples in the candidate's stream
 *   memory_settle_cuda.c  waits until the driver has cleared freed memory
 *   build_cuda.c          nvcc in the build jail
 *   counters_cuda.h       hardware counters */
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
    KF_KERNEL_OCCUPY,
    KF_KERNEL_WITHHOLD,
    KF_KERNEL_REVEAL,
    KF_KERNEL_READ,
    KF_KERNEL_COPY,
    KF_KERNEL_CACHED,
    KF_KERNEL_GATHER,
    KF_KERNEL_COUNT
};

/* Device memory for the judge's own work. kf_cuda_scratch_need makes it larger. */
typedef struct kf_cuda_scratch {
    cu_pointer pointer;
    size_t bytes;
} kf_cuda_scratch;

/* Properties of the GPU and its driver, read once when the device is opened. */
typedef struct kf_cuda_properties {
    /* The device's number as the driver counts. */
    int ordinal;
    int multiprocessors, clock_khz;
    size_t l2_bytes;
    /* The unit of virtual memory allocations. */
    size_t granule;
    uint64_t memory_bytes;
    /* The most memory of it that other programs can have, as far as was seen. */
    uint64_t others_bytes;
    /* "GPU-..." or, for an instance of a GPU, "MIG-...". */
    char uuid[48];
    char driver_folder[4096], driver[64];
    /* nvcc's target: "90a". */
    char architecture[32];
    int driver_version;
} kf_cuda_properties;

/* Bytes a second. */
typedef struct kf_cuda_bandwidth {
    double copy, read;
} kf_cuda_bandwidth;

/* Timed reads of `memory`, with an event before and after each (memory_settle_cuda.c). */
typedef struct kf_cuda_settle {
    kf_memory_settle reads;
    kf_cuda_scratch memory;
    cu_event events[2];
} kf_cuda_settle;

/* The device occupied by a kernel of the judge (occupy_cuda.c). */
typedef struct kf_cuda_occupation {
    cu_stream stream;
    /* Host memory that the device reads. */
    kf_occupy_switch *door;
    kf_cuda_scratch report, withheld;
    /* True while the kernel runs, or is about to. */
    bool on;
    /* True if the occupation ended early, or began late, since the last kf_cuda_interruption. */
    bool broken;
} kf_cuda_occupation;

/* Strings and lists of a kf_runner_place. They are valid until the next call of `place`. */
typedef struct kf_cuda_place {
    char program[4200], directory[4200], node[64], visible[80], libraries[4200];
    const char *environment[20];
    /* Of a runner in Python. */
    char script[4200], preload[4300], compiling[4200];
    const char *arguments[6];
} kf_cuda_place;

/* Strings and lists of the place of a runner that reads hardware counters. */
typedef struct kf_cuda_counting {
    /* The metrics' names with commas between them. NULL before the first job that counts. */
    char *names;
    /* True if runners sample source lines. */
    bool lines;
    char library[4200], search[8500], folder[4096], *metrics;
    const char *environment[28];
} kf_cuda_counting;

/* The processors that runners on this device launch from. */
typedef struct kf_cuda_launcher {
    /* True if `processors` is valid. */
    bool known;
    /* True while the thread that reserved the device is kept off `processors`. */
    bool moved;
    kf_launch_cpu processors;
    /* If `moved`: the thread's processors before. */
    cpu_set_t before;
    /* May be NULL. */
    kf_cpu_idle_guard *idle_guard;
} kf_cuda_launcher;

typedef struct kf_cuda_device {
    kf_device head;
    kf_cuda cuda;
    kf_nvml *nvml;
    /* Folder for kernels and figures. NULL without a cache. */
    char *cache;
    cu_device device;
    cu_context context;
    cu_stream stream;
    cu_module module;
    cu_function kernels[KF_KERNEL_COUNT];
    kf_cuda_properties properties;
    kf_cuda_scratch tasks, results, snapshots;
    /* Twice the size of the L2 cache. */
    kf_cuda_scratch flush;
    kf_cuda_bandwidth bandwidth;
    /* Seconds that a stream's wait for an open gate adds to a call. */
    double gate_seconds;
    kf_cuda_settle settle;
    kf_cuda_occupation occupation;
    kf_cuda_place place;
    kf_cuda_counting counting;
    kf_cuda_launcher launcher;
    /* Descriptor of the timing lock's file. -1 before the first reservation. */
    int lock;
    /* Uncorrectable memory errors that NVML counted when the device was opened. */
    uint64_t broken_words;
    /* True once the device was lost. The driver may not answer any more, so no call goes to it. */
    bool lost;
} kf_cuda_device;

/* Reads from the cache, or measures, what the device reaches at best: bandwidth and launch time. */
bool kf_cuda_ceilings(kf_cuda_device *gpu, kf_error *error);
/* Operation `measure_ceilings` of the device. */
bool kf_cuda_measure_ceilings(kf_device *device, kf_error *error);

/* Learns the usual time of a read, on a device with `memory_bytes` of memory. */
bool kf_cuda_memory_settle_begin(kf_cuda_device *gpu, uint64_t memory_bytes, kf_error *error);
void kf_cuda_memory_settle_end(kf_cuda_device *gpu);
/* Operation `memory_settle` of the device. */
void kf_cuda_memory_settle(kf_device *device, double most);

/* Prepares the device for kf_cuda_occupy. kf_cuda_occupy_close releases all of it, after a failure,
 * too. */
bool kf_cuda_occupy_open(kf_cuda_device *gpu, kf_error *error);
void kf_cuda_occupy_close(kf_cuda_device *gpu);

/* Runs nvcc in the build jail. */
bool kf_build_cuda(const kf_cuda_device *gpu, const kf_build_request *request, kf_build *build,
                   kf_error *error);
/* Returns a line that changes with nvcc and with the host's compiler. The caller frees it. */
char *kf_cuda_toolchain(const kf_cuda_device *gpu);
/* Writes the versions of nvcc and of its host compiler, as environment ids have them (compiler.h):
 * "nvcc 13.0.88, gcc 12.2.0". */
void kf_cuda_compiler(char words[KF_COMPILER_WORDS]);

/* Finds libcupti in $KFORGE_CUPTI or in the CUDA toolkit. `path` has its links resolved. */
bool kf_cupti_find(char path[4096]);

#endif
