/* The device pool: the device memory of a runner in Python on a GPU.
 *
 * The judge allocates and maps the pool (virtual memory API), and hands it over before the runner
 * loads a plan. In the runner, all memory of cudaMalloc comes from it
 * (evaluator/runner/torch_cuda.c). So results lie where PyTorch put them, and the judge can read
 * them. The output directory says where. The judge gathers them in its own context, after the clock
 * has stopped.
 *
 * A pool belongs to one runner, for the runner's life (kf_runner_attach). It begins filled with NaN
 * bytes. So a runner finds no earlier contents of the memory, such as right answers. */
#ifndef KFORGE_DEVICE_POOL_CUDA_H
#define KFORGE_DEVICE_POOL_CUDA_H

#include "buffers_cuda.h"

/* Operation `equip`: gives a runner its pool. Does nothing for a runner with a pool, and for the
 * oracle, which writes into the truth's buffers itself. */
bool kf_cuda_equip(kf_device *device, kf_runner *runner, kf_role role, const kf_problem *problem,
                   uint32_t sets, kf_error *error);
/* Operation `suits`: true if the runner's pool is neither too small nor far too large for the
 * problem. */
bool kf_cuda_suits(const kf_device *device, const kf_runner *runner, kf_role role,
                   const kf_problem *problem);
/* Operation `is_short`: true if memory was short and the pool is smaller than wanted. If a solution
 * runs out of memory then, it may be without fault. */
bool kf_cuda_is_short(const kf_device *device, const kf_runner *runner, const kf_problem *problem);
/* Operation `least_sets`. */
uint32_t kf_cuda_least_sets(const kf_device *device, const kf_problem *problem, bool own_results);
/* Operation `memory`. */
bool kf_cuda_memory_info(kf_device *device, uint64_t *free_bytes, uint64_t *all_bytes,
                         kf_error *error);
/* True if these bytes are in the runner's pool, or in the sets' inputs, since a result may be a
 * view of an input. `address`: in the judge's address space. */
bool kf_cuda_may_hold_result(const kf_cuda_sets *sets, const kf_runner *runner, uint64_t address,
                             uint64_t bytes);
/* Operation `fetch`. */
bool kf_cuda_fetch(kf_sets *sets, kf_runner *runner, kf_role role, const uint32_t *list,
                   uint32_t count, const bool *chosen, kf_fetch_fault *fault, kf_error *error);
/* Operation `hold_results`. */
bool kf_cuda_hold_results(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error);
/* Prepares the snapshot of a candidate in Python: remembers the output directory's records of the
 * listed sets, and adds a task for each result. False without memory. */
bool kf_cuda_output_snapshot_tasks(kf_cuda_sets *sets, const uint32_t *list, uint32_t count,
                                   size_t *used);
kf_runner_event kf_cuda_hand_over_output_directory(kf_cuda_sets *sets, kf_runner *runner,
                                                   kf_role role);

/* The device's memory: in all but what other programs have, and for sets. */
typedef struct kf_cuda_memory {
    uint64_t device_bytes, set_bytes;
    uint32_t most_sets;
    /* The number of sets that have their memory already. 0: the sets that a measurement begins
     * with. */
    uint32_t sets;
    /* The pool's runner compiles, on inputs of its own, when it loads its plan. */
    bool compiles;
} kf_cuda_memory;

/* Returns how much of the device's memory other programs have at most, if so much is free. The
 * judge's own contexts are no other programs. Pure. */
uint64_t kf_cuda_others_bytes(uint64_t device_bytes, uint64_t free_bytes);
/* Returns the device's memory without that of other programs. Notes that they have less than
 * before, but never that they have more: the memory could be a candidate's, and a candidate must
 * not decide what the judge has room for. */
uint64_t kf_cuda_room(kf_cuda_properties *properties, uint64_t free_bytes);
/* Returns how many sets a measurement begins with: three, or less if three sets, one truth and
 * runners in Python do not fit into the device, but at least `fewest` (1 or 2). Pure. */
uint32_t kf_cuda_first_sets(const kf_problem *problem, uint64_t device_bytes, uint32_t fewest);
/* Returns about how much memory a problem takes with one set and all runners. Pure. */
uint64_t kf_cuda_least_bytes(const kf_problem *problem, uint64_t device_bytes);
/* Returns the least size of a pool: the results of the first sets, two at least. Pure. */
uint64_t kf_cuda_device_pool_least(const kf_problem *problem, uint32_t first_sets);
/* Returns the wanted size of a pool. Pure. */
uint64_t kf_cuda_device_pool_wanted(const kf_problem *problem, const kf_cuda_memory *memory);
/* Returns the usual size of a baseline's pool. It suits most problems, since starting a new runner
 * takes seconds. Pure. */
uint64_t kf_cuda_device_pool_common(uint64_t device_bytes);
/* True if a pool of `bytes` suits the problem. Pure. */
bool kf_cuda_device_pool_suits(uint64_t bytes, const kf_problem *problem,
                               const kf_cuda_memory *memory);
/* Returns the size of a pool. `free_bytes`: free memory of the device, after the oracle has given
 * its temporary memory back (runner.py). A candidate's pool is as large as its baseline's if
 * possible: with smaller workspaces cuDNN chooses slower or less exact algorithms. Pure. */
uint64_t kf_cuda_device_pool_bytes(const kf_problem *problem, kf_role role, uint64_t free_bytes,
                                   const kf_cuda_memory *memory);
/* Returns the least device memory of a problem's runners, without its sets and truths. Pure. */
uint64_t kf_cuda_runners_need(const kf_problem *problem, uint32_t sets);
/* True if candidate and baseline can have buffers of their own, with so many sets. A candidate that
 * holds memory does not change that. Pure. */
bool kf_cuda_has_room_for_sides(const kf_problem *problem, uint32_t sets, uint64_t device_bytes);

#endif
