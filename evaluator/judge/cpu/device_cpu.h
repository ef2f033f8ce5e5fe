/* The CPU device: its struct (device_cpu.c) and its buffer sets in shared memory (sets_cpu.c). */
#ifndef KFORGE_DEVICE_CPU_H
#define KFORGE_DEVICE_CPU_H

#include "device.h"
#include "parallel.h"

/* Files that are kept at most, and their bytes at most. */
#define KF_CPU_SPARE_FILES 16
#define KF_CPU_SPARE_BYTES (256ull << 20)

/* Shared memory: a file without a name, and the judge's mapping of it. */
typedef struct kf_cpu_memory {
    int fd;
    unsigned char *base;
    uint64_t size;
    /* The role of the runner that maps it. */
    int use;
} kf_cpu_memory;

typedef struct kf_cpu_device {
    kf_device head;
    kf_parallel *parallel;
    int threads;
    /* From memory, with all threads and cold caches. */
    double read_bytes_per_second;
    uint64_t memory_bytes;
    /* Folder for precompiled headers. Owned, may be NULL. */
    char *cache;
    /* The lock for timing, -1 before its first use, and whether this process has it. */
    int lock;
    bool is_locked;
    /* Memory of earlier sets, with the oldest first. */
    kf_cpu_memory spares[KF_CPU_SPARE_FILES];
    int spare_count;
} kf_cpu_device;

/* ---- shared_memory.c ------------------------------------------------------------------------- */

#define KF_CPU_NO_MEMORY ((kf_cpu_memory){.fd = -1})

/* Takes memory of at least `size` bytes. Its contents are undefined: zeros, or those of earlier
 * sets of the same use. */
bool kf_cpu_memory_take(kf_cpu_device *device, int use, uint64_t size, kf_cpu_memory *memory,
                        kf_error *error);
/* Gives it back for later sets. Memory that a candidate has mapped is released instead, so that no
 * later candidate reads what it holds. */
void kf_cpu_memory_give(kf_cpu_device *device, kf_cpu_memory *memory);
void kf_cpu_memory_release_all(kf_cpu_device *device);

/* Computes the first digits of a hash over kforge's own files that candidates are compiled with and
 * run on (runtime_hash.c): "53f842232d22". */
bool kf_runtime_hash(char *hex, size_t size, kf_error *error);

kf_sets *kf_cpu_sets_new(kf_device *device, const kf_problem *problem, uint32_t count, bool truth,
                         kf_error *error);
void kf_cpu_sets_free(kf_sets *sets);
kf_runner_event kf_cpu_hand_over(kf_sets *sets, kf_runner *runner, kf_role role);
bool kf_cpu_fill(kf_sets *sets, uint64_t secret, const kf_set_variation *variations,
                 kf_error *error);
bool kf_cpu_poison(kf_sets *sets, kf_role side, uint64_t secret, kf_error *error);
void kf_cpu_cache_flush(kf_sets *sets, const uint32_t *list, uint32_t count);
bool kf_cpu_turn_to(kf_sets *sets, kf_role side, kf_error *error);
bool kf_cpu_inspect(kf_sets *sets, const bool *chosen, kf_damage *damage, kf_error *error);
bool kf_cpu_fetch(kf_sets *sets, kf_runner *runner, kf_role role, const uint32_t *list,
                  uint32_t count, const bool *chosen, kf_fetch_fault *fault, kf_error *error);
bool kf_cpu_prepare_truth(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
void kf_cpu_inspect_truth(kf_sets *sets, const uint32_t *list, uint32_t count, kf_damage *damage);
const void *kf_cpu_output(kf_sets *sets, uint32_t set, int argument, kf_error *error);
const void *kf_cpu_truth(kf_sets *sets, uint32_t set, int argument, kf_error *error);
const void *kf_cpu_input(kf_sets *sets, uint32_t set, int argument, kf_error *error);
bool kf_cpu_copy_input(kf_sets *sets, uint32_t from, uint32_t to, int argument, kf_error *error);
bool kf_cpu_read_part(kf_sets *sets, uint32_t set, int argument, const kf_part *part, void *data,
                      kf_error *error);
bool kf_cpu_write_part(kf_sets *sets, uint32_t set, int argument, const kf_part *part,
                       const void *data, bool live, kf_error *error);
bool kf_cpu_accept_input(kf_sets *sets, uint32_t set, int argument, kf_error *error);
bool kf_cpu_nudge_input(kf_sets *sets, uint32_t set, int argument, uint64_t seed, double share,
                        kf_error *error);
void kf_cpu_poison_read(kf_sets *sets, uint32_t set, int argument, uint64_t first, uint64_t count,
                        void *bytes);

#endif
