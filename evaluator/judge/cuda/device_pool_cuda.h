/* A runner in Python's device memory on a GPU. The judge allocates it (virtual memory API), maps
 * it, and hands it over before anything of others is loaded; in the runner it stands for all that
 * cudaMalloc gives (../runner/torch_cuda.c). So results lie where PyTorch put them and in the
 * judge's own memory at the same time: the ledger says where, and they are gathered in the judge's
 * context when the clock has stopped.
 *
 * An arena belongs to one runner, as long as that lives (kf_runner_attach), and begins filled with
 * bytes that are no number: nothing of what was in that memory before, right answers among it, can
 * be found there. */
#ifndef KFORGE_DEVICE_POOL_CUDA_H
#define KFORGE_DEVICE_POOL_CUDA_H

#include "buffers_cuda.h"

/* The device's `equip`. Nothing happens for a runner that has one, and for the oracle, which writes
 * into the truth's buffers itself. */
bool kf_cuda_equip(kf_device *device, kf_runner *runner, kf_role role, const kf_problem *problem,
                   uint32_t sets, kf_error *error);
/* The device's `suits`: an arena is as long-lived as its runner, and neither too small for another
 * problem nor far too large. */
bool kf_cuda_suits(const kf_device *device, const kf_runner *runner, kf_role role,
                   const kf_problem *problem);
/* The device's `is_short`: the arena is smaller than it is to be where there is room, so what finds
 * no memory in it may be no fault of a solution's. */
bool kf_cuda_is_short(const kf_device *device, const kf_runner *runner, const kf_problem *problem);
/* The device's `least_sets`. */
uint32_t kf_cuda_least_sets(const kf_device *device, const kf_problem *problem);
/* Are these bytes in the arena of that runner, or among the sets' inputs, which a result may be a
 * view of? `address` is one of the judge's. */
bool kf_cuda_may_hold_result(const kf_cuda_sets *sets, const kf_runner *runner, uint64_t address,
                             uint64_t bytes);
/* The device's `fetch`. */
bool kf_cuda_fetch(kf_sets *sets, kf_runner *runner, kf_role role, const uint32_t *list,
                   uint32_t count, const bool *chosen, kf_fetch_fault *fault, kf_error *error);
/* For a glance at a candidate in Python: remembers what the ledger says of the listed sets now, and
 * adds what there is to look at. False: out of memory. */
bool kf_cuda_output_snapshot_tasks(kf_cuda_sets *sets, const uint32_t *list, uint32_t count,
                                   size_t *used);
/* Hands the ledger over. */
kf_runner_event kf_cuda_hand_over_output_directory(kf_cuda_sets *sets, kf_runner *runner,
                                                   kf_role role);

/* What there is to share out: of the device in all, and for sets. */
typedef struct kf_cuda_memory {
    uint64_t device_bytes, set_bytes;
    uint32_t most_sets;
    uint32_t sets; /* that have their memory already; 0: those that a measurement begins with */
} kf_cuda_memory;

/* Sets that a measurement begins with: three, or two on a device that has no room for three, one
 * truth and runners in Python. Pure. */
uint32_t kf_cuda_first_sets(const kf_problem *problem, uint64_t device_bytes);
/* About what a problem takes of a device with two sets, all runners together. Pure. */
uint64_t kf_cuda_least_bytes(const kf_problem *problem, uint64_t device_bytes);
/* What a runner needs at least: the results of the first sets. Pure. */
uint64_t kf_cuda_device_pool_least(const kf_problem *problem, uint32_t first_sets);
/* How large an arena would be where there is memory for it. Pure. */
uint64_t kf_cuda_device_pool_wanted(const kf_problem *problem, const kf_cuda_memory *memory);
/* What a baseline's has at least where there is memory for it, because a runner that does not suit
 * the next problem is started anew, which takes seconds. Pure. */
uint64_t kf_cuda_device_pool_common(uint64_t device_bytes);
/* Is one of so many bytes as good for this problem? Pure. */
bool kf_cuda_device_pool_suits(uint64_t bytes, const kf_problem *problem,
                               const kf_cuda_memory *memory);
/* How large an arena is to be. `free_bytes`: of the device, now, while the oracle has given back
 * what it computes in (runner.py does where that is much). A candidate's is as large as its
 * baseline's, as far as can be: with less room for workspaces cuDNN takes slower algorithms, or
 * less exact ones. Pure. */
uint64_t kf_cuda_device_pool_bytes(const kf_problem *problem, kf_role role, uint64_t free_bytes,
                                   const kf_cuda_memory *memory);
/* Device memory that the runners of a problem take beside its sets and truths, where it is scarce.
 * Pure. */
uint64_t kf_cuda_runners_need(const kf_problem *problem, uint32_t sets);

#endif
