/* Makes and fills the buffer sets of the CUDA device. Their memory comes from the virtual memory
 * API (CUDA driver API, "Virtual Memory Management"). Runners import it by file descriptor. The
 * judge fills, poisons and inspects it in its own context.
 *
 *   region   one allocation, a whole number of granules (2 MiB), mapped between unmapped addresses
 * in judge and runner buffer   [front guard: 1 KiB and a stagger][data][back guard: at least 4 KiB]
 *
 * In the first sets a large buffer has a region of its own, so that an access past its end faults.
 * All other buffers share regions. Mapping takes 0.3 ms for each region and process, which would be
 * longer than the calls. Inputs, writable buffers and the truth have separate regions: the oracle's
 * runner maps inputs without write access, and other runners do not get the truth.
 *
 * The candidate has buffers of its own, in the same places of other regions. Inputs are filled in
 * the baseline's, which the oracle reads, and copied at the candidate's turn. If memory is short,
 * all have the same buffers.
 *
 * The stagger is a different multiple of 256 bytes for each buffer. Without it all buffers would
 * start in the same memory channel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device_pool_cuda.h"
#include "buffers_cuda.h"
#include "cuda_calls.h"
#include "input_generator.h"
#include "inputs_plan_make.h"
#include "kforge/file.h"
#include "output_directory.h"
#include "work_cuda.h"

#define FRONT 1024
#define BACK 4096
#define STAGGER 256
/* Buffers up to this length share regions in every set. */
#define SHARED_BYTES (8u << 20)
/* The first sets, in which larger buffers have regions of their own. */
#define OWN_SETS 4
/* The largest shared region, unless one buffer is larger. */
#define REGION_BYTES (4ull << 30)

enum { CLASS_INPUT, CLASS_WRITTEN, CLASS_TRUTH, CLASS_COUNT };

static bool is_filled(const kf_problem_argument *argument)
{
    return argument->kind == KF_INPUT || argument->kind == KF_INOUT;
}

/* ---- making ---------------------------------------------------------------------------------- */

typedef struct layout {
    kf_cuda_sets *sets;
    /* The number of the shared region with free space, plus 1. */
    uint32_t open[CLASS_COUNT];
    uint32_t placed;
} layout;

static void place(layout *l, kf_cuda_buffer *b, uint32_t set, uint64_t bytes, int class)
{
    kf_cuda_sets *sets = l->sets;
    b->bytes = bytes;
    b->data_offset = FRONT + l->placed++ * 5 % 16 * STAGGER;
    b->length = (b->data_offset + bytes + BACK + BACK - 1) / BACK * BACK;
    bool shared = b->length <= SHARED_BYTES || set >= OWN_SETS;
    if (!shared || !l->open[class] ||
        sets->regions[l->open[class] - 1].bytes + b->length > REGION_BYTES) {
        sets->regions[sets->region_count] = (kf_cuda_region){.descriptor = -1};
        b->region = sets->region_count++;
        if (shared) l->open[class] = sets->region_count;
    } else {
        b->region = l->open[class] - 1;
    }
    b->offset = sets->regions[b->region].bytes;
    sets->regions[b->region].bytes += b->length;
}

static bool make_region(kf_cuda_sets *sets, kf_cuda_region *r, kf_error *error)
{
    kf_cuda_device *gpu = sets->gpu;
    cu_allocation allocation = {.type = CU_ALLOCATION_PINNED,
                                .handle_types = CU_HANDLE_POSIX,
                                .location = {.type = CU_LOCATION_DEVICE, .id = gpu->device}};
    cu_access access = {.location = allocation.location, .flags = CU_ACCESS_READ_WRITE};
    cu_result result = gpu->cuda.handle_create(&r->handle, r->bytes, &allocation, 0);
    if (result == CU_OUT_OF_MEMORY)
        return kf_fail(error, KF_ERROR_LIMIT,
                       "workload %s: no device memory for %u sets of buffers (one set has %.1f GiB "
                       "of inputs and outputs); give the workload smaller params, or device_params "
                       "for cuda",
                       sets->problem->workload, sets->count,
                       (double)sets->problem->total_bytes / 0x1p30);
    if (!kf_cuda_check(gpu, result, "allocating buffers", error) ||
        !kf_cuda_check(gpu,
                       gpu->cuda.address_reserve(&r->reserved,
                                                 r->bytes + 2 * gpu->properties.granule, 0, 0, 0),
                       "reserving addresses", error) ||
        !kf_cuda_check(
            gpu, gpu->cuda.map(r->reserved + gpu->properties.granule, r->bytes, 0, r->handle, 0),
            "mapping buffers", error))
        return false;
    r->base = r->reserved + gpu->properties.granule;
    return kf_cuda_check(gpu, gpu->cuda.set_access(r->base, r->bytes, &access, 1),
                         "access to buffers", error);
}

/* Chooses if the candidate has buffers of its own, and how many sets have a truth of their own:
 * all, or one if that leaves too little memory for the oracle, which computes in float64, and for
 * runners in Python. */
static bool choose_rooms(kf_cuda_sets *sets, kf_error *error)
{
    const kf_problem *problem = sets->problem;
    uint64_t free_bytes, total;
    if (!kf_cuda_memory_info(&sets->gpu->head, &free_bytes, &total, error)) return false;
    uint64_t buffers = sets->count * problem->total_bytes, truth = kf_cuda_truth_bytes(problem),
             runners = kf_cuda_runners_need(problem, sets->count);
    bool apart = sets->truth && !sets->gpu->head.next_sets.sides_share &&
                 kf_cuda_has_room_for_sides(problem, sets->count,
                                            kf_cuda_room(&sets->gpu->properties, free_bytes));
    if (apart) buffers *= 2;
    sets->truth_room = buffers + sets->count * truth + runners < free_bytes ? sets->count : 1;
    sets->sides[KF_ROLE_CANDIDATE] = sets->sides[KF_ROLE_BASELINE];
    size_t entries = (size_t)sets->count * (size_t)problem->argument_count;
    if (apart && !(sets->sides[KF_ROLE_CANDIDATE] = calloc(entries + 1, sizeof(kf_cuda_buffer))))
        return kf_fail_memory(error, "buffer sets");
    return true;
}

uint32_t kf_cuda_truth_room(const kf_sets *handle)
{
    const kf_cuda_sets *sets = (const kf_cuda_sets *)handle;
    return sets->truth_room;
}

/* Gives the candidate buffers of its own, in the same places of other regions. */
static bool lay_out_candidate(kf_cuda_sets *sets, kf_error *error)
{
    size_t entries = (size_t)sets->count * (size_t)sets->problem->argument_count;
    kf_autofree uint32_t *copies = calloc(sets->region_count + 1, sizeof *copies);
    if (!copies) return kf_fail_memory(error, "buffer sets");
    for (size_t entry = 0; entry < entries; entry++) {
        kf_cuda_buffer *own = &sets->sides[KF_ROLE_CANDIDATE][entry];
        *own = sets->sides[KF_ROLE_BASELINE][entry];
        if (!own->length) continue; /* a scalar */
        if (!copies[own->region]) {
            sets->regions[sets->region_count] =
                (kf_cuda_region){.descriptor = -1, .bytes = sets->regions[own->region].bytes};
            copies[own->region] = sets->region_count++;
        }
        own->region = copies[own->region];
    }
    return true;
}

static bool lay_out(kf_cuda_sets *sets, kf_error *error)
{
    const kf_problem *problem = sets->problem;
    layout l = {.sets = sets};
    for (uint32_t set = 0; set < sets->count; set++)
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            size_t entry = (size_t)set * (size_t)problem->argument_count + (size_t)i;
            if (argument->kind == KF_SCALAR) continue;
            place(&l, &sets->buffers[entry], set, argument->bytes,
                  argument->kind == KF_INPUT ? CLASS_INPUT : CLASS_WRITTEN);
            if (!sets->truth || !kf_cuda_has_truth(argument)) continue;
            if (set < sets->truth_room)
                place(&l, &sets->truths[entry], set, kf_cuda_truth_argument_bytes(argument),
                      CLASS_TRUTH);
            else
                sets->truths[entry] = sets->truths[i];
        }
    if (!kf_cuda_sides_share((kf_sets *)sets) && !lay_out_candidate(sets, error)) return false;
    sets->order.region = sets->region_count++;
    sets->regions[sets->order.region] =
        (kf_cuda_region){.descriptor = -1, .bytes = sizeof(kf_stream_page)};
    for (uint32_t r = 0; r < sets->region_count; r++) {
        uint64_t granule = sets->gpu->properties.granule;
        sets->regions[r].bytes = (sets->regions[r].bytes + granule - 1) / granule * granule;
        if (!make_region(sets, &sets->regions[r], error)) return false;
    }
    return true;
}

kf_sets *kf_cuda_sets_new(kf_device *device, const kf_problem *problem, uint32_t count, bool truth,
                          kf_error *error)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    kf_cuda_sets *sets = calloc(1, sizeof *sets);
    if (!sets) {
        kf_fail_memory(error, "buffer sets");
        return NULL;
    }
    *sets = (kf_cuda_sets){
        .gpu = gpu, .problem = problem, .count = count, .truth = truth, .side = KF_ROLE_BASELINE};
    size_t entries = (size_t)count * (size_t)problem->argument_count;
    sets->buffers = sets->sides[KF_ROLE_BASELINE] = calloc(entries, sizeof *sets->buffers);
    sets->truths = calloc(entries, sizeof *sets->truths);
    sets->regions = calloc(3 * entries + 1, sizeof *sets->regions);
    sets->order.samples = calloc(KF_CUDA_SAMPLES, sizeof *sets->order.samples);
    sets->variations = calloc(count, sizeof *sets->variations);
    sets->sources = calloc(entries, sizeof *sets->sources);
    sets->snapshot_tasks = calloc(entries, sizeof *sets->snapshot_tasks);
    sets->snapshot_sets = calloc(entries, sizeof *sets->snapshot_sets);
    if (!sets->buffers || !sets->truths || !sets->regions || !sets->variations || !sets->sources ||
        !sets->snapshot_tasks || !sets->snapshot_sets || !sets->order.samples ||
        !kf_random(&sets->secrets.digests, sizeof sets->secrets.digests)) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for %u sets of buffers", count);
        kf_cuda_sets_free((kf_sets *)sets);
        return NULL;
    }
    if (!kf_cuda_check(gpu, gpu->cuda.context_set(gpu->context), "the judge's context", error) ||
        !choose_rooms(sets, error) || !lay_out(sets, error) ||
        !kf_cuda_hold((kf_sets *)sets, UINT32_MAX, error)) {
        kf_cuda_sets_free((kf_sets *)sets);
        return NULL;
    }
    return (kf_sets *)sets;
}

void kf_cuda_sets_free(kf_sets *handle)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    if (!sets) return;
    const kf_cuda *cuda = &sets->gpu->cuda;
    for (uint32_t i = 0; i < sets->region_count; i++) {
        kf_cuda_region *r = &sets->regions[i];
        if (r->base) cuda->unmap(r->base, r->bytes);
        if (r->reserved)
            cuda->address_free(r->reserved, r->bytes + 2 * sets->gpu->properties.granule);
        if (r->handle) cuda->handle_release(r->handle);
        if (r->descriptor >= 0) close(r->descriptor);
    }
    kf_cuda_forget_copies(sets);
    for (int i = 0; i < 2; i++) kf_output_directory_free(sets->output_directories[i]);
    if (!kf_cuda_sides_share(handle)) free(sets->sides[KF_ROLE_CANDIDATE]);
    free(sets->sides[KF_ROLE_BASELINE]);
    free(sets->truths);
    free(sets->regions);
    free(sets->variations);
    free(sets->sources);
    free(sets->order.samples);
    free(sets->snapshot_tasks);
    free(sets->snapshot_sets);
    free(sets);
}

/* ---- handing over ---------------------------------------------------------------------------- */

#define NO_DESCRIPTOR "the driver gives no descriptor for a buffer (cuMemExportToShareableHandle)"

/* Makes the descriptor of a region, once. */
static bool export_region(const kf_cuda *cuda, kf_cuda_region *region)
{
    if (region->descriptor >= 0) return true;
    if (cuda->handle_export(&region->descriptor, region->handle, CU_HANDLE_POSIX, 0) == CU_SUCCESS)
        return true;
    region->descriptor = -1;
    return false;
}

/* A runner in Python keeps its results in its device pool. It gets an output directory in place of
 * output buffers. */
kf_runner_event kf_cuda_hand_over(kf_sets *handle, kf_runner *runner, kf_role role)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    const kf_problem *problem = sets->problem;
    const kf_cuda *cuda = &sets->gpu->cuda;
    bool own_results = kf_runner_is_python(kf_runner_kind_of(runner)) && role != KF_ROLE_ORACLE;
    const kf_cuda_buffer *own =
        sets->sides[role == KF_ROLE_CANDIDATE ? KF_ROLE_CANDIDATE : KF_ROLE_BASELINE];
    size_t entries = (size_t)sets->count * (size_t)problem->argument_count, used = 0;
    kf_autofree kf_runner_buffer *buffers = calloc(entries + 1, sizeof *buffers);
    if (!buffers) return kf_runner_fail(runner, "out of memory to hand buffers over");
    const char *trouble = NULL;
    for (size_t entry = 0; entry < entries && !trouble; entry++) {
        const kf_problem_argument *argument =
            &problem->arguments[entry % (size_t)problem->argument_count];
        if (argument->kind == KF_SCALAR || (own_results && argument->kind == KF_OUTPUT)) continue;
        bool truth = role == KF_ROLE_ORACLE && kf_cuda_has_truth(argument);
        const kf_cuda_buffer *b = truth ? &sets->truths[entry] : &own[entry];
        kf_cuda_region *region = &sets->regions[b->region];
        if (!export_region(cuda, region)) {
            trouble = NO_DESCRIPTOR;
            break;
        }
        buffers[used++] =
            (kf_runner_buffer){.fd = region->descriptor,
                               .set = (uint32_t)(entry / (size_t)problem->argument_count),
                               .argument = (uint32_t)(entry % (size_t)problem->argument_count),
                               .offset = b->offset,
                               .length = b->length,
                               .data_offset = b->data_offset,
                               .bytes = b->bytes,
                               .region_bytes = region->bytes,
                               .address = region->reserved,
                               .region = b->region,
                               .read_only = role == KF_ROLE_ORACLE && !truth,
                               .result = role != KF_ROLE_ORACLE && (argument->kind == KF_OUTPUT ||
                                                                    argument->kind == KF_INOUT)};
    }
    if (!trouble && role == KF_ROLE_CANDIDATE) {
        if (export_region(cuda, &sets->regions[sets->order.region]))
            buffers[used++] = kf_cuda_page_buffer(sets);
        else
            trouble = NO_DESCRIPTOR;
    }
    kf_runner_event event =
        trouble ? kf_runner_fail(runner, trouble) : kf_runner_map(runner, buffers, used);
    return event == KF_RUNNER_OK && own_results
               ? kf_cuda_hand_over_output_directory(sets, runner, role)
               : event;
}

/* ---- filling --------------------------------------------------------------------------------- */

/* The tasks of one fill, by kernel. */
typedef struct fill_works {
    kf_cuda_work any, quick, special;
} fill_works;

static void free_fills(fill_works *f)
{
    kf_cuda_work_free(&f->any);
    kf_cuda_work_free(&f->quick);
    kf_cuda_work_free(&f->special);
}
#define autofills __attribute__((cleanup(free_fills))) fill_works

static bool begin_fills(fill_works *f, size_t most, kf_error *error)
{
    return kf_cuda_work_begin(&f->any, sizeof(kf_fill_task), most, error) &&
           kf_cuda_work_begin(&f->quick, sizeof(kf_fill_task), most, error) &&
           kf_cuda_work_begin(&f->special, sizeof(kf_fill_task), most, error);
}

/* Runs the special tasks last, since they overwrite elements of the others. */
static bool run_fills(kf_cuda_device *gpu, fill_works *f, kf_error *error)
{
    return kf_cuda_work_run(gpu, KF_KERNEL_FILL, &f->any, NULL, 0, error) &&
           kf_cuda_work_run(gpu, KF_KERNEL_FILL_QUICK, &f->quick, NULL, 0, error) &&
           kf_cuda_work_run(gpu, KF_KERNEL_FILL_SPECIAL, &f->special, NULL, 0, error);
}

static kf_fill_route route_of(const kf_input_plan *plan, bool wide)
{
    static const struct {
        int kind, dtype;
        bool wide;
        kf_fill_route route;
    } rows[] = {
        {KF_NORMAL, KF_F32, false, KF_FILL_NORMAL_F32},
        {KF_NORMAL, KF_F16, false, KF_FILL_NORMAL_F16},
        {KF_NORMAL, KF_BF16, false, KF_FILL_NORMAL_BF16},
        {KF_NORMAL, KF_F32, true, KF_FILL_NORMAL_WIDE},
        {KF_UNIFORM, KF_F32, false, KF_FILL_UNIFORM_F32},
        {KF_UNIFORM, KF_F16, false, KF_FILL_UNIFORM_F16},
        {KF_UNIFORM, KF_BF16, false, KF_FILL_UNIFORM_BF16},
        {KF_UNIFORM, KF_F32, true, KF_FILL_UNIFORM_WIDE},
        {KF_INTEGERS, KF_I32, false, KF_FILL_INTEGERS_I32},
        {KF_INTEGERS, KF_U8, false, KF_FILL_INTEGERS_U8},
    };
    /* KF_TF32 is stored as KF_F32. */
    int dtype = plan->dtype == KF_TF32 ? KF_F32 : plan->dtype;
    int carrier = plan->kind == KF_INTEGERS ? KF_CARRY_INTEGERS : KF_CARRY_FLOATS;
    if (plan->variation == KF_VARY_CLUSTERS) return KF_FILL_ANY;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == plan->kind && rows[i].dtype == dtype && rows[i].wide == wide &&
            plan->carrier == carrier)
            return rows[i].route;
    return KF_FILL_ANY;
}

/* Copies an input that the problem itself makes. */
static bool copy_generated(kf_cuda_sets *sets, uint32_t source, int i, uint64_t address,
                           kf_error *error)
{
    kf_cuda_device *gpu = sets->gpu;
    const void *made =
        kf_generator_take(gpu->head.next_sets.generator, sets->secrets.inputs, source, i, error);
    return made &&
           kf_cuda_check(
               gpu,
               gpu->cuda.copy_in(address, made, sets->problem->arguments[i].bytes, gpu->stream),
               "copying generated inputs", error) &&
           kf_cuda_wait(gpu, "copying generated inputs", error);
}

static bool add_fill(kf_cuda_sets *sets, fill_works *f, uint32_t set, int i, uint64_t address,
                     bool wide, kf_error *error)
{
    const kf_problem_argument *argument = &sets->problem->arguments[i];
    uint32_t source =
        sets->sources[(size_t)set * (size_t)sets->problem->argument_count + (size_t)i];
    if (argument->distribution.generated) return copy_generated(sets, source, i, address, error);
    /* Fresh numbers have a source beyond the last set. */
    const kf_set_variation *varied = &sets->variations[source % sets->count];
    kf_variation variation =
        source != KF_PLAIN_INPUT && varied->argument == i ? varied->variation : KF_VARY_NONE;
    kf_fill_task task = {.plan = kf_input_plan_make(
                             argument, kf_cuda_key(sets->secrets.inputs, source, i), variation),
                         .data = address,
                         .wide = wide};
    task.route = route_of(&task.plan, wide);
    kf_cuda_work *work = task.route == KF_FILL_ANY ? &f->any : &f->quick;
    *(kf_fill_task *)kf_cuda_work_add(work, ((uint64_t)argument->elements + 3) / 4) = task;
    if (task.route == KF_FILL_ANY ||
        (task.plan.variation != KF_VARY_OUTLIER && task.plan.variation != KF_VARY_STRAY &&
         task.plan.variation != KF_VARY_NONFINITE))
        return true;
    *(kf_fill_task *)kf_cuda_work_add(&f->special,
                                      ((uint64_t)argument->elements + KF_RUN - 1) / KF_RUN) = task;
    return true;
}

static void add_poison(kf_cuda_work *b, uint64_t start, uint64_t first, uint64_t count, kf_key key)
{
    if (!count) return;
    kf_poison_task *task = kf_cuda_work_add(b, count / 16 + 2);
    *task = (kf_poison_task){.start = start,
                             .first = first,
                             .count = count,
                             .secret = key.secret,
                             .set = key.set,
                             .argument = key.argument};
}

static void add_guards(kf_cuda_sets *sets, kf_cuda_work *b, const kf_cuda_buffer *buffer,
                       kf_key key)
{
    uint64_t start = sets->regions[buffer->region].base + buffer->offset,
             end = buffer->data_offset + buffer->bytes;
    add_poison(b, start, 0, buffer->data_offset, key);
    add_poison(b, start, end, buffer->length - end, key);
}

/* Stores the digests of all buffers of one kind and side. */
static bool remember_digests(kf_cuda_sets *sets, kf_role side, kf_argument_kind kind,
                             kf_error *error)
{
    size_t arguments = (size_t)sets->problem->argument_count,
           entries = (size_t)sets->count * arguments, count = 0;
    kf_autofree size_t *list = calloc(entries + 1, sizeof *list);
    kf_autofree uint64_t *digests = calloc(entries + 1, sizeof *digests);
    if (!list || !digests) return kf_fail_memory(error, "buffer sets");
    for (size_t entry = 0; entry < entries; entry++)
        if (sets->problem->arguments[entry % arguments].kind == kind) list[count++] = entry;
    if (!kf_cuda_digests(sets, side, list, count, digests, error)) return false;
    for (size_t i = 0; i < count; i++) sets->sides[side][list[i]].digest = digests[i];
    return true;
}

/* Notes that the baseline's input has new numbers, which the candidate lacks. */
static void note_new_input(kf_cuda_sets *sets, size_t entry)
{
    if (!kf_cuda_sides_share((kf_sets *)sets)) sets->sides[KF_ROLE_CANDIDATE][entry].stale = true;
}

bool kf_cuda_fill(kf_sets *handle, uint64_t secret, const kf_set_variation *variations,
                  kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    size_t arguments = (size_t)sets->problem->argument_count,
           entries = (size_t)sets->count * arguments;
    autofills fills = {0};
    kf_autowork guards = {0};
    sets->secrets.inputs = secret;
    sets->snapshot_count = 0;
    sets->late = (kf_damage){0};
    kf_cuda_forget_copies(sets);
    memcpy(sets->variations, variations, sets->count * sizeof *variations);
    if (!kf_cuda_work_begin(&guards, sizeof(kf_poison_task), 2 * entries, error) ||
        !begin_fills(&fills, entries, error))
        return false;
    for (size_t entry = 0; entry < entries; entry++) {
        uint32_t set = (uint32_t)(entry / arguments);
        int i = (int)(entry % arguments);
        const kf_problem_argument *argument = &sets->problem->arguments[i];
        const kf_cuda_buffer *b = &sets->sides[KF_ROLE_BASELINE][entry];
        if (!is_filled(argument)) continue;
        sets->sources[entry] = set;
        /* kf_cuda_poison fills inouts before every batch. */
        if (argument->kind == KF_INOUT) continue;
        note_new_input(sets, entry);
        if (!add_fill(sets, &fills, set, i, kf_cuda_address(sets, b), false, error)) return false;
        add_guards(sets, &guards, b, kf_cuda_key(secret, set, i));
    }
    memset(sets->inouts_digested, 0, sizeof sets->inouts_digested);
    return run_fills(sets->gpu, &fills, error) &&
           kf_cuda_work_run(sets->gpu, KF_KERNEL_POISON, &guards, NULL, 0, error) &&
           remember_digests(sets, KF_ROLE_BASELINE, KF_INPUT, error) &&
           kf_cuda_wait(sets->gpu, "filling inputs", error);
}

/* Digests inouts once after each fill: kf_cuda_poison writes the same numbers until the next fill.
 */
static bool digest_inouts(kf_cuda_sets *sets, kf_error *error)
{
    if (!sets->inouts_digested[sets->side] && !remember_digests(sets, sets->side, KF_INOUT, error))
        return false;
    sets->inouts_digested[sets->side] = true;
    return true;
}

/* A part of a region that the candidate gets. */
typedef struct handful {
    uint32_t region, from;
    uint64_t begin, end;
} handful;

static bool copy_handful(kf_cuda_sets *sets, const handful *h, kf_error *error)
{
    return h->end == h->begin ||
           kf_cuda_check(sets->gpu,
                         sets->gpu->cuda.copy_over(sets->regions[h->region].base + h->begin,
                                                   sets->regions[h->from].base + h->begin,
                                                   h->end - h->begin, sets->gpu->stream),
                         "copying inputs for the candidate", error);
}

/* Copies inputs with their guards to the candidate's buffers. The candidate maps no other. Buffers
 * that follow each other in a region are copied together. */
static bool give_inputs(kf_cuda_sets *sets, kf_error *error)
{
    size_t entries = (size_t)sets->count * (size_t)sets->problem->argument_count;
    handful h = {0};
    bool any = false;
    for (size_t entry = 0; entry < entries; entry++) {
        const kf_cuda_buffer *b = &sets->sides[KF_ROLE_BASELINE][entry];
        kf_cuda_buffer *own = &sets->sides[KF_ROLE_CANDIDATE][entry];
        if (!own->stale) continue;
        if (h.region != own->region || h.end != own->offset) {
            if (!copy_handful(sets, &h, error)) return false;
            h = (handful){own->region, b->region, own->offset, own->offset};
        }
        h.end = own->offset + own->length;
        own->digest = b->digest;
        own->stale = false;
        any = true;
    }
    return !any || (copy_handful(sets, &h, error) &&
                    kf_cuda_wait(sets->gpu, "copying inputs for the candidate", error));
}

bool kf_cuda_turn_to(kf_sets *handle, kf_role side, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    if (sets->side != side) kf_cuda_forget_copies(sets);
    sets->side = side;
    sets->buffers = sets->sides[side];
    return side != KF_ROLE_CANDIDATE || kf_cuda_sides_share(handle) || give_inputs(sets, error);
}

bool kf_cuda_poison(kf_sets *handle, kf_role role, uint64_t secret, kf_error *error)
{
    if (!kf_cuda_turn_to(handle, role, error)) return false;
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    size_t arguments = (size_t)sets->problem->argument_count,
           entries = (size_t)sets->count * arguments;
    autofills fills = {0};
    kf_autowork poison = {0};
    bool share = kf_cuda_sides_share(handle);
    for (int side = 0; side < 2; side++)
        if (share || side == (int)sets->side) sets->secrets.poison[side] = secret;
    sets->order.sample_count = 0;
    for (int i = 0; i < 2; i++) kf_output_directory_clear(sets->output_directories[i]);
    sets->snapshot_count = 0;
    sets->late = (kf_damage){0};
    kf_cuda_forget_copies(sets);
    if (!kf_cuda_work_begin(&poison, sizeof(kf_poison_task), 2 * entries, error) ||
        !begin_fills(&fills, entries, error))
        return false;
    bool inouts = false;
    for (size_t entry = 0; entry < entries; entry++) {
        uint32_t set = (uint32_t)(entry / arguments);
        int i = (int)(entry % arguments);
        const kf_problem_argument *argument = &sets->problem->arguments[i];
        const kf_cuda_buffer *b = &sets->buffers[entry];
        if (argument->kind == KF_SCALAR || argument->kind == KF_INPUT) continue;
        kf_key key = kf_cuda_key(secret, set, i);
        if (argument->kind == KF_INOUT) {
            add_guards(sets, &poison, b, key);
            if (!add_fill(sets, &fills, set, i, kf_cuda_address(sets, b), false, error))
                return false;
            inouts = true;
        } else {
            add_poison(&poison, sets->regions[b->region].base + b->offset, 0, b->length, key);
        }
    }
    return run_fills(sets->gpu, &fills, error) &&
           kf_cuda_work_run(sets->gpu, KF_KERNEL_POISON, &poison, NULL, 0, error) &&
           (!inouts || digest_inouts(sets, error)) &&
           kf_cuda_wait(sets->gpu, "poisoning outputs", error);
}

/* Reads other data of twice the size of the L2 cache. Afterwards the cache holds no data of the
 * problem, and no data to write back. It flushes all sets, not only the list. */
void kf_cuda_cache_flush(kf_sets *handle, const uint32_t *list, uint32_t count)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    (void)list, (void)count;
    kf_cuda_device *gpu = sets->gpu;
    unsigned long long blocks = gpu->flush.bytes / 16;
    void *parameters[] = {&gpu->flush.pointer, &blocks, &gpu->tasks.pointer};
    if (!gpu->occupation.on) gpu->cuda.context_reset_l2();
    gpu->cuda.launch(gpu->kernels[KF_KERNEL_READ], (unsigned)gpu->properties.multiprocessors * 8, 1,
                     1, KF_KERNEL_THREADS, 1, 1, 0, gpu->stream, parameters, NULL);
    gpu->cuda.stream_synchronize(gpu->stream);
}

/* ---- the truth ------------------------------------------------------------------------------- */

bool kf_cuda_prepare_truth(kf_sets *handle, const uint32_t *list, uint32_t count, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    const kf_problem *problem = sets->problem;
    size_t arguments = (size_t)problem->argument_count;
    autofills fills = {0};
    kf_autowork poison = {0};
    if (!kf_cuda_work_begin(&poison, sizeof(kf_poison_task), (size_t)count * arguments, error) ||
        !begin_fills(&fills, (size_t)count * arguments, error))
        return false;
    for (uint32_t k = 0; k < count; k++)
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (argument->kind == KF_SCALAR || !kf_cuda_has_truth(argument)) continue;
            const kf_cuda_buffer *b = &sets->truths[(size_t)list[k] * arguments + (size_t)i];
            uint64_t address = kf_cuda_address(sets, b);
            if (argument->kind == KF_INOUT &&
                !add_fill(sets, &fills, list[k], i, address, kf_cuda_is_widened(argument), error))
                return false;
            if (argument->kind != KF_INOUT) /* Random bits, so that an oracle that forgets an
                                               element is not right by luck. */
                add_poison(&poison, address, 0, b->bytes,
                           kf_cuda_key(sets->secrets.poison[sets->side] ^ 1, list[k], i));
        }
    return run_fills(sets->gpu, &fills, error) &&
           kf_cuda_work_run(sets->gpu, KF_KERNEL_POISON, &poison, NULL, 0, error) &&
           kf_cuda_wait(sets->gpu, "preparing the truth", error);
}

/* Fills some inputs and inouts anew, which have other sources now. Candidate and baseline both get
 * them: a batch may run. */
static bool fill_entries(kf_cuda_sets *sets, const size_t *entries, size_t count, kf_error *error)
{
    size_t arguments = (size_t)sets->problem->argument_count;
    kf_autofree uint64_t *digests = calloc(count + 1, sizeof *digests);
    autofills fills = {0};
    if (!digests) return kf_fail_memory(error, "buffer sets");
    kf_cuda_forget_copies(sets);
    if (!begin_fills(&fills, 2 * count, error)) return false;
    int sides = kf_cuda_sides_share((kf_sets *)sets) ? 1 : 2;
    for (size_t k = 0; k < count; k++)
        for (int side = 0; side < sides; side++)
            if (!add_fill(sets, &fills, (uint32_t)(entries[k] / arguments),
                          (int)(entries[k] % arguments),
                          kf_cuda_address(sets, &sets->sides[side][entries[k]]), false, error))
                return false;
    if (!run_fills(sets->gpu, &fills, error) ||
        !kf_cuda_digests(sets, KF_ROLE_BASELINE, entries, count, digests, error))
        return false;
    for (size_t k = 0; k < count; k++)
        for (int side = 0; side < sides; side++) sets->sides[side][entries[k]].digest = digests[k];
    return true;
}

/* Returns the source of numbers that no set had yet. */
static uint32_t fresh_source(const kf_cuda_sets *sets, size_t entry)
{
    uint32_t source = sets->sources[entry];
    if (source == KF_PLAIN_INPUT)
        source = (uint32_t)(entry / (size_t)sets->problem->argument_count);
    return source + sets->count;
}

bool kf_cuda_make_fresh(kf_sets *handle, const uint32_t *list, uint32_t count, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    size_t arguments = (size_t)sets->problem->argument_count;
    for (uint32_t k = 0; k < count; k++)
        for (int i = 0; i < sets->problem->argument_count; i++)
            if (sets->problem->arguments[i].distribution.generated &&
                !kf_generator_take(sets->gpu->head.next_sets.generator, sets->secrets.inputs,
                                   fresh_source(sets, (size_t)list[k] * arguments + (size_t)i), i,
                                   error))
                return false;
    return true;
}

bool kf_cuda_copy_input(kf_sets *handle, uint32_t from, uint32_t to, int argument, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    size_t arguments = (size_t)sets->problem->argument_count,
           entry = (size_t)to * arguments + (size_t)argument;
    sets->sources[entry] = from == KF_FRESH_INPUT ? fresh_source(sets, entry)
                           : from == KF_PLAIN_INPUT
                               ? from
                               : sets->sources[(size_t)from * arguments + (size_t)argument];
    return fill_entries(sets, &entry, 1, error);
}

bool kf_cuda_redraw(kf_cuda_sets *sets, const uint32_t *list, uint32_t count, kf_error *error)
{
    size_t arguments = (size_t)sets->problem->argument_count, used = 0;
    kf_autofree size_t *entries = calloc(count * arguments + 1, sizeof *entries);
    if (!entries) return kf_fail_memory(error, "buffer sets");
    for (uint32_t k = 0; k < count; k++)
        for (int i = 0; i < sets->problem->argument_count; i++) {
            size_t entry = (size_t)list[k] * arguments + (size_t)i;
            if (!is_filled(&sets->problem->arguments[i])) continue;
            sets->sources[entry] = fresh_source(sets, entry);
            entries[used++] = entry;
        }
    return fill_entries(sets, entries, used, error);
}
