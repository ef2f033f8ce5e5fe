#include "device_pool_cuda.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_calls.h"
#include "kforge/file.h"
#include "output_directory.h"
#include "work_cuda.h"

/* The byte that fills a pool: NaN in every floating-point type, -1 in every integer type. */
#define NO_NUMBER 0xff
#define MIN_DEVICE_POOL (256ull << 20)
/* Workspaces of cuBLAS and cuDNN, and temporary memory of kernels. */
#define OWN_DEVICE_POOL (1ull << 30)
/* The temporary memory of a module, as a multiple of the inputs, weights and outputs of a call. */
#define TEMPORARIES 8
/* The sets that a measurement begins with. More sets come later. */
#define FIRST_SETS 3
/* The least sets, if a candidate writes its results into them. */
#define FEWEST_SETS 2
/* With one set, a batch is one call, and each call has inputs that were drawn after the call before
 * it. So the set has to be this multiple of the cache. */
#define SEVERAL_CACHES 8
/* The part of the device's memory for contexts: of the judge, its runners and starting runners. */
#define CONTEXTS_PART 24
/* A pool over this multiple of the wanted size takes memory from others. */
#define SPACIOUS 2
/* The usual pool, as a part of the device's memory. It suits most problems and leaves enough for
 * others. A module may keep many times its arguments between its first and last operation
 * (convolutions before a mean), so a solution gets as much. */
#define COMMON_PART 4
#define COMMON_STEP (1ull << 30)
/* The oracle's memory, as a multiple of the inputs and outputs of a call. ORACLE_PART: in float64,
 * with one or two temporaries. ORACLE_MAX: the most that is left to it. */
#define ORACLE_PART 3
#define ORACLE_MAX 8
/* The least memory of an oracle. It computes in parts (parts.py), or uses the host's memory. */
#define ORACLE_LEAST (4ull << 30)
/* The memory of runners without a pool, as the same multiple. */
#define PLAIN_PART 6

typedef struct device_pool {
    kf_cuda_device *gpu;
    kf_cuda_region region;
} device_pool;

/* ---- making ---------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t kf_cuda_others_bytes(uint64_t device_bytes, uint64_t free_bytes)
{
    uint64_t used = device_bytes > free_bytes ? device_bytes - free_bytes : 0,
             own = device_bytes / CONTEXTS_PART;
    return used > own ? used - own : 0;
}

uint64_t kf_cuda_room(kf_cuda_properties *properties, uint64_t free_bytes)
{
    properties->others_bytes =
        least(properties->others_bytes, kf_cuda_others_bytes(properties->memory_bytes, free_bytes));
    return properties->memory_bytes - properties->others_bytes;
}

static uint64_t input_bytes(const kf_problem *problem)
{
    uint64_t bytes = 0;
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].kind == KF_INPUT) bytes += problem->arguments[i].bytes;
    return bytes;
}

static uint64_t result_bytes(const kf_problem *problem)
{
    uint64_t bytes = 0;
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].kind == KF_OUTPUT) bytes += problem->arguments[i].bytes;
    return bytes;
}

/* Returns the memory that a problem needs with `sets` sets, and `runners` for its runners. */
static uint64_t needed_bytes(const kf_problem *problem, uint32_t sets, uint64_t runners,
                             uint64_t device_bytes)
{
    return sets * problem->total_bytes + kf_cuda_truth_bytes(problem) + runners +
           device_bytes / CONTEXTS_PART;
}

static uint64_t oracle_least(const kf_problem *problem)
{
    return least(ORACLE_PART * problem->total_bytes, ORACLE_LEAST);
}

uint32_t kf_cuda_first_sets(const kf_problem *problem, uint64_t device_bytes, uint32_t fewest)
{
    /* One in each pool. */
    uint64_t temporaries = 2 * result_bytes(problem);
    if (needed_bytes(problem, FIRST_SETS, kf_cuda_runners_need(problem, FIRST_SETS) + temporaries,
                     device_bytes) <= device_bytes)
        return FIRST_SETS;
    uint64_t pools = 2 * kf_cuda_device_pool_least(problem, 2);
    return fewest > 1 || needed_bytes(problem, 2, pools + temporaries + oracle_least(problem),
                                      device_bytes) <= device_bytes
               ? 2
               : 1;
}

uint64_t kf_cuda_least_bytes(const kf_problem *problem, uint64_t device_bytes)
{
    return needed_bytes(problem, 1,
                        2 * kf_cuda_device_pool_least(problem, 1) + oracle_least(problem),
                        device_bytes);
}

/* Holds two results at least: of two calls, or a result and a temporary. */
uint64_t kf_cuda_device_pool_least(const kf_problem *problem, uint32_t first_sets)
{
    return MIN_DEVICE_POOL + (first_sets < 2 ? 2 : first_sets) * result_bytes(problem);
}

/* Returns how many sets the measurement begins with that asks for a pool. */
static uint32_t first_sets(const kf_problem *problem, const kf_cuda_memory *memory)
{
    return memory->sets && memory->sets < FIRST_SETS
               ? memory->sets
               : kf_cuda_first_sets(problem, memory->device_bytes, 1);
}

/* Returns the least pool of a runner, with the inputs that torch.compile is called on. */
static uint64_t pool_bound(const kf_problem *problem, const kf_cuda_memory *memory)
{
    return kf_cuda_device_pool_least(problem, first_sets(problem, memory)) +
           (memory->compiles ? input_bytes(problem) : 0);
}

static uint64_t set_count(const kf_problem *problem, const kf_cuda_memory *memory)
{
    uint64_t sets = least(memory->set_bytes / (problem->total_bytes ? problem->total_bytes : 1),
                          memory->most_sets);
    uint32_t first = first_sets(problem, memory);
    return sets < first ? first : sets;
}

uint64_t kf_cuda_device_pool_wanted(const kf_problem *problem, const kf_cuda_memory *memory)
{
    /* The results of a batch and of the call after it stay until the judge has read them. */
    return OWN_DEVICE_POOL + TEMPORARIES * (problem->total_bytes ? problem->total_bytes : 1) +
           set_count(problem, memory) * result_bytes(problem);
}

uint64_t kf_cuda_device_pool_common(uint64_t device_bytes)
{
    /* A whole number of granules. */
    return (device_bytes / COMMON_PART / COMMON_STEP + 1) * COMMON_STEP;
}

/* Returns the size of a pool with enough memory. */
static uint64_t share(const kf_problem *problem, const kf_cuda_memory *memory)
{
    uint64_t wanted = kf_cuda_device_pool_wanted(problem, memory),
             common = kf_cuda_device_pool_common(memory->device_bytes);
    return wanted > common ? wanted : common;
}

bool kf_cuda_device_pool_suits(uint64_t bytes, const kf_problem *problem,
                               const kf_cuda_memory *memory)
{
    uint64_t wanted = kf_cuda_device_pool_wanted(problem, memory);
    return bytes >= wanted && (bytes <= SPACIOUS * wanted ||
                               bytes <= kf_cuda_device_pool_common(memory->device_bytes));
}

uint64_t kf_cuda_runners_need(const kf_problem *problem, uint32_t sets)
{
    uint64_t device_pools =
                 2 * kf_cuda_device_pool_least(problem, sets < FIRST_SETS ? sets : FIRST_SETS) +
                 ORACLE_PART * problem->total_bytes,
             plain = PLAIN_PART * problem->total_bytes;
    return device_pools > plain ? device_pools : plain;
}

bool kf_cuda_has_room_for_sides(const kf_problem *problem, uint32_t sets, uint64_t device_bytes)
{
    return 2 * sets * problem->total_bytes + kf_cuda_truth_bytes(problem) +
               kf_cuda_runners_need(problem, sets) + 2 * result_bytes(problem) +
               device_bytes / CONTEXTS_PART <=
           device_bytes;
}

/* Returns the oracle's part of `room` next to `device_pools` pools. It gets half of the memory that
 * the pools do not need: its temporaries are unknown, and blocks need some slack. If memory is
 * short, it computes in parts. Its share of the rest makes both pools equal. */
static uint64_t for_oracle(const kf_problem *problem, uint64_t room, uint64_t device_pools,
                           uint64_t bound)
{
    uint64_t needs = ORACLE_PART * problem->total_bytes,
             others = device_pools * (bound + result_bytes(problem)),
             left = room > others ? room - others : 0, fewest = oracle_least(problem);
    if (left < needs)
        return left > fewest ? fewest + 2 * (left - fewest) / (2 + device_pools) : fewest;
    return least(needs + (left - needs) / 2, ORACLE_MAX * problem->total_bytes);
}

uint64_t kf_cuda_device_pool_bytes(const kf_problem *problem, kf_role role, uint64_t free_bytes,
                                   const kf_cuda_memory *memory)
{
    uint32_t first = first_sets(problem, memory);
    uint64_t one = problem->total_bytes ? problem->total_bytes : 1, results = result_bytes(problem),
             bound = pool_bound(problem, memory);
    uint64_t sets = set_count(problem, memory);
    /* More sets follow when the length of a call is known, each with its truth. */
    uint64_t there = memory->sets > first ? least(memory->sets, sets) : first;
    bool apart = kf_cuda_has_room_for_sides(problem, (uint32_t)sets, memory->device_bytes);
    uint64_t later = (sets - there) * ((apart ? 2 : 1) * one + 2 * results),
             /* The candidate gets a pool after the baseline. */
        device_pools = role == KF_ROLE_BASELINE ? 2 : 1;
    uint64_t room = free_bytes > later ? free_bytes - later : 0,
             oracle = for_oracle(problem, room, device_pools, bound);
    room = room > oracle ? room - oracle : 0;
    uint64_t bytes = least(share(problem, memory), room / device_pools);
    return bytes > bound ? bytes : bound;
}

static void device_pool_free(void *data)
{
    device_pool *a = data;
    if (!a) return;
    const kf_cuda *cuda = &a->gpu->cuda;
    kf_cuda_region *r = &a->region;
    if (r->base) cuda->unmap(r->base, r->bytes);
    if (r->reserved) cuda->address_free(r->reserved, r->bytes + 2 * a->gpu->properties.granule);
    if (r->handle) cuda->handle_release(r->handle);
    free(a);
}

/* Sets the error of a failed allocation. A problem that needs a larger GPU is no fault of the
 * machine: several such faults in a row would end a bench. */
static void fail_too_small(const kf_cuda_device *gpu, const kf_problem *problem, uint64_t bytes,
                           kf_error *error)
{
    uint64_t all = kf_cuda_least_bytes(problem, gpu->properties.memory_bytes);
    if (all > gpu->properties.memory_bytes)
        kf_fail(error, KF_ERROR_LIMIT,
                "%s: workload %s: too large for this GPU: it takes about %.0f GiB, and the GPU has "
                "%.0f; give the task smaller params, or device_params for cuda",
                gpu->head.name, problem->workload, (double)all / 0x1p30,
                (double)gpu->properties.memory_bytes / 0x1p30);
    else
        kf_fail(error, KF_ERROR_MACHINE,
                "%s: workload %s: no %.1f GiB of device memory for the results of a runner in "
                "Python; end other processes on the GPU, or give the task smaller params, or "
                "device_params for cuda",
                gpu->head.name, problem->workload, (double)bytes / 0x1p30);
}

/* Makes a pool of `bytes`, or of less, but at least of `bound`. */
static device_pool *device_pool_new(kf_cuda_device *gpu, const kf_problem *problem, uint64_t bytes,
                                    uint64_t bound, kf_error *error)
{
    const kf_cuda *cuda = &gpu->cuda;
    device_pool *a = calloc(1, sizeof *a);
    if (!a) {
        kf_fail_memory(error, "a device pool");
        return NULL;
    }
    a->gpu = gpu;
    a->region.descriptor = -1;
    kf_cuda_region *r = &a->region;
    cu_allocation allocation = {.type = CU_ALLOCATION_PINNED,
                                .handle_types = CU_HANDLE_POSIX,
                                .location = {.type = CU_LOCATION_DEVICE, .id = gpu->device}};
    cu_access access = {.location = allocation.location, .flags = CU_ACCESS_READ_WRITE};
    cu_result result;
    for (;; bytes = bytes / 2 > bound ? bytes / 2 : bound) {
        r->bytes = (bytes + gpu->properties.granule - 1) / gpu->properties.granule *
                   gpu->properties.granule;
        result = cuda->handle_create(&r->handle, r->bytes, &allocation, 0);
        if (result != CU_OUT_OF_MEMORY || bytes <= bound) break;
    }
    if (result == CU_OUT_OF_MEMORY) {
        fail_too_small(gpu, problem, r->bytes, error);
        device_pool_free(a);
        return NULL;
    }
    if (kf_cuda_check(gpu, result, "allocating memory for a runner in Python", error) &&
        kf_cuda_check(
            gpu,
            cuda->address_reserve(&r->reserved, r->bytes + 2 * gpu->properties.granule, 0, 0, 0),
            "reserving addresses", error) &&
        kf_cuda_check(gpu,
                      cuda->map(r->reserved + gpu->properties.granule, r->bytes, 0, r->handle, 0),
                      "mapping a device pool", error)) {
        r->base = r->reserved + gpu->properties.granule;
        if (kf_cuda_check(gpu, cuda->set_access(r->base, r->bytes, &access, 1),
                          "access to a device pool", error) &&
            kf_cuda_check(gpu, cuda->set_bytes(r->base, NO_NUMBER, r->bytes, gpu->stream),
                          "filling a device pool", error) &&
            kf_cuda_wait(gpu, "filling a device pool", error))
            return a;
    }
    device_pool_free(a);
    return NULL;
}

static bool hand_device_pool_over(device_pool *a, kf_runner *runner, kf_error *error)
{
    const kf_cuda *cuda = &a->gpu->cuda;
    int fd = -1;
    if (!kf_cuda_check(a->gpu, cuda->handle_export(&fd, a->region.handle, CU_HANDLE_POSIX, 0),
                       "exporting a device pool", error))
        return false;
    const kf_runner_buffer buffer = {.fd = fd,
                                     .length = a->region.bytes,
                                     .bytes = a->region.bytes,
                                     .region_bytes = a->region.bytes,
                                     .address = a->region.reserved,
                                     .device_pool = true};
    kf_runner_event event = kf_runner_map(runner, &buffer, 1);
    close(fd);
    if (event == KF_RUNNER_OK) return true;
    if (event == KF_RUNNER_STOPPED) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    kf_runner_explanation why;
    kf_autofree char *said = kf_runner_output(runner, 500);
    kf_runner_explain(runner, event, "taking its device memory", &why);
    return kf_fail(error, KF_ERROR_MACHINE, "a runner in Python: %s%s%s", why.text,
                   said ? ": " : "", said ? said : "");
}

bool kf_cuda_memory_info(kf_device *device, uint64_t *free_bytes, uint64_t *all_bytes,
                         kf_error *error)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    size_t available = 0, total = 0;
    if (!kf_cuda_check(gpu, gpu->cuda.context_set(gpu->context), "the judge's context", error) ||
        !kf_cuda_check(gpu, gpu->cuda.memory_info(&available, &total), "its memory", error))
        return false;
    *free_bytes = available, *all_bytes = total;
    return true;
}

static kf_cuda_memory memory_of(const kf_cuda_device *gpu)
{
    return (kf_cuda_memory){.device_bytes =
                                gpu->properties.memory_bytes - gpu->properties.others_bytes,
                            .set_bytes = gpu->head.set_bytes,
                            .most_sets = (uint32_t)gpu->head.most_sets};
}

uint32_t kf_cuda_least_sets(const kf_device *device, const kf_problem *problem, bool own_results)
{
    const kf_cuda_device *gpu = (const kf_cuda_device *)device;
    bool large = problem->total_bytes >= SEVERAL_CACHES * (uint64_t)gpu->properties.l2_bytes;
    return kf_cuda_first_sets(problem, gpu->properties.memory_bytes - gpu->properties.others_bytes,
                              own_results && large ? 1 : FEWEST_SETS);
}

bool kf_cuda_suits(const kf_device *device, const kf_runner *runner, kf_role role,
                   const kf_problem *problem)
{
    const device_pool *a = kf_runner_attachment(runner);
    if (role == KF_ROLE_ORACLE || !a) return true;
    kf_cuda_memory memory = memory_of((const kf_cuda_device *)device);
    return kf_cuda_device_pool_suits(a->region.bytes, problem, &memory);
}

bool kf_cuda_is_short(const kf_device *device, const kf_runner *runner, const kf_problem *problem)
{
    const device_pool *a = kf_runner_attachment(runner);
    kf_cuda_memory memory = memory_of((const kf_cuda_device *)device);
    return a && a->region.bytes < share(problem, &memory);
}

bool kf_cuda_equip(kf_device *device, kf_runner *runner, kf_role role, const kf_problem *problem,
                   uint32_t sets, kf_error *error)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    uint64_t free_bytes, total;
    if (role == KF_ROLE_ORACLE || kf_runner_attachment(runner)) return true;
    if (!kf_cuda_memory_info(device, &free_bytes, &total, error)) return false;
    kf_cuda_memory memory = memory_of(gpu);
    memory.sets = sets;
    memory.compiles = kf_runner_kind_of(runner) == KF_RUNNER_COMPILED;
    device_pool *a =
        device_pool_new(gpu, problem, kf_cuda_device_pool_bytes(problem, role, free_bytes, &memory),
                        pool_bound(problem, &memory), error);
    if (!a) return false;
    kf_runner_attach(runner, a, device_pool_free);
    return hand_device_pool_over(a, runner, error);
}

/* ---- results --------------------------------------------------------------------------------- */

static bool is_within(uint64_t address, uint64_t bytes, uint64_t base, uint64_t size)
{
    return address >= base && bytes <= size && address - base <= size - bytes;
}

bool kf_cuda_may_hold_result(const kf_cuda_sets *sets, const kf_runner *runner, uint64_t address,
                             uint64_t bytes)
{
    const device_pool *a = kf_runner_attachment(runner);
    size_t arguments = (size_t)sets->problem->argument_count;
    const kf_cuda_buffer *own =
        sets->sides[runner == sets->python ? KF_ROLE_CANDIDATE : KF_ROLE_BASELINE];
    if (a && is_within(address, bytes, a->region.base, a->region.bytes)) return true;
    for (size_t entry = 0; entry < sets->count * arguments; entry++) {
        const kf_cuda_buffer *b = &own[entry];
        if (sets->problem->arguments[entry % arguments].kind == KF_INPUT &&
            is_within(address, bytes, kf_cuda_address(sets, b), b->bytes))
            return true;
    }
    return false;
}

static uint32_t list_outputs(const kf_problem *problem, int *outputs)
{
    uint32_t used = 0;
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].kind == KF_OUTPUT) outputs[used++] = i;
    return used;
}

kf_runner_event kf_cuda_hand_over_output_directory(kf_cuda_sets *sets, kf_runner *runner,
                                                   kf_role role)
{
    kf_error error = {0};
    int outputs[KF_MAX_ARGUMENTS];
    kf_output_directory **output_directory = &sets->output_directories[role == KF_ROLE_BASELINE];
    if (!*output_directory && !(*output_directory = kf_output_directory_new(
                                    sets->count, list_outputs(sets->problem, outputs), &error)))
        return kf_runner_fail(runner, error.text);
    if (role == KF_ROLE_CANDIDATE) sets->python = runner;
    kf_runner_buffer shared = kf_output_directory_buffer(*output_directory);
    return kf_runner_map(runner, &shared, 1);
}

static void gather(kf_gather_task *task, const kf_output_directory_place *place,
                   const kf_problem_argument *argument, uint64_t to)
{
    *task = (kf_gather_task){.from = place->address,
                             .to = to,
                             .elements = (uint64_t)argument->elements,
                             .item = (uint32_t)kf_dtype_size(argument->dtype),
                             .dims = place->dims};
    for (uint32_t i = 0; i < place->dims; i++) {
        task->sizes[i] = (uint64_t)place->sizes[i];
        task->strides[i] = (uint64_t)place->strides[i];
    }
}

bool kf_cuda_fetch(kf_sets *handle, kf_runner *runner, kf_role role, const uint32_t *list,
                   uint32_t count, const bool *chosen, kf_fetch_fault *fault, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    kf_cuda_device *gpu = sets->gpu;
    const kf_problem *problem = sets->problem;
    const kf_output_directory *output_directory =
        sets->output_directories[role == KF_ROLE_BASELINE];
    int outputs[KF_MAX_ARGUMENTS];
    uint32_t used = list_outputs(problem, outputs);
    kf_autowork work = {0};
    *fault = (kf_fetch_fault){0};
    if (!kf_cuda_work_begin(&work, sizeof(kf_gather_task), (size_t)count * used, error))
        return false;
    kf_cuda_forget_copies(sets);
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t output = 0; output < used; output++) {
            const kf_problem_argument *argument = &problem->arguments[outputs[output]];
            size_t entry =
                (size_t)list[k] * (size_t)problem->argument_count + (size_t)outputs[output];
            uint64_t to = kf_cuda_address(sets, &sets->sides[role][entry]);
            kf_output_directory_place place;
            if (!kf_output_directory_locate(output_directory, list[k], output, argument,
                                            outputs[output], &place, fault))
                return true;
            if (!kf_cuda_may_hold_result(sets, runner, place.address, place.span)) {
                kf_output_directory_unreadable(
                    fault, list[k], outputs[output], argument,
                    "it does not lie in memory that PyTorch or cudaMalloc gave");
                return true;
            }
            if (!place.plain) {
                gather(kf_cuda_work_add(&work, (uint64_t)argument->elements), &place, argument, to);
            } else if (!kf_cuda_check(
                           gpu,
                           gpu->cuda.copy_over(to, place.address, argument->bytes, gpu->stream),
                           "fetching results", error)) {
                return false;
            }
        }
    if (!kf_cuda_work_run(gpu, KF_KERNEL_GATHER, &work, NULL, 0, error)) return false;
    if (!kf_cuda_wait(gpu, "fetching results", error)) return false;
    return role != KF_ROLE_CANDIDATE ||
           kf_output_directory_check_overlap(output_directory, chosen, sets->count, outputs, fault,
                                             error);
}

bool kf_cuda_hold_results(kf_sets *handle, const uint32_t *list, uint32_t count, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    return kf_output_directory_hold(sets->output_directories[0], list, count) ||
           kf_fail_memory(error, "an output directory");
}

bool kf_cuda_output_snapshot_tasks(kf_cuda_sets *sets, const uint32_t *list, uint32_t count,
                                   size_t *used)
{
    const kf_problem *problem = sets->problem;
    kf_output_directory *output_directory = sets->output_directories[0];
    int outputs[KF_MAX_ARGUMENTS];
    uint32_t output_count = list_outputs(problem, outputs);
    if (!kf_output_directory_remember(output_directory, list, count)) return false;
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t output = 0; output < output_count; output++) {
            kf_output_directory_place place;
            /* kf_cuda_fetch reports faults. */
            kf_fetch_fault fault = {0};
            if (!kf_output_directory_locate(output_directory, list[k], output,
                                            &problem->arguments[outputs[output]], outputs[output],
                                            &place, &fault) ||
                !kf_cuda_may_hold_result(sets, sets->python, place.address, place.span))
                continue;
            uint64_t start = (place.address + 15) / 16 * 16, end = place.address + place.span;
            sets->snapshot_sets[*used] =
                (uint32_t)((size_t)list[k] * (size_t)problem->argument_count +
                           (size_t)outputs[output]);
            sets->snapshot_tasks[(*used)++] =
                (kf_snapshot_task){.data = start, .bytes = end > start ? end - start : 0};
        }
    return true;
}
