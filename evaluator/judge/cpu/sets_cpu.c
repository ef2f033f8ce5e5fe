/* Buffer sets of the CPU device. Candidate, baseline and oracle share no memory: each maps a memfd
 * of its own. Those of candidate and baseline hold inputs, outputs and workspace, the oracle's
 * inputs, and a second one of the oracle's the truth, in float64. All are sealed against resizing,
 * so that no runner can remove pages from the judge.
 *
 * Inputs are drawn into the oracle's file, and the initial values of inouts into the judge's own
 * memory. Each side gets copies when its turn comes (kf_cpu_turn_to), because copying is much
 * faster than drawing.
 *
 *   file     [buffer of set 0, argument 0][set 0, argument 1]…   each a whole number of pages
 *   buffer   [front guard: a page and a stagger][data][back guard: to the end of the page, and a
 * page]
 *
 * The stagger is a different multiple of 256 bytes for each buffer. Without it all buffers would
 * start at the same offset in a page, where loads wait for unrelated stores ("4K aliasing", Intel
 * optimization manual). */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache_flush.h"
#include "device_cpu.h"
#include "input_generator.h"
#include "output_directory.h"
#include "dtype_bulk.h"
#include "digest.h"
#include "kforge/file.h"

#define ROLES 3
/* The use of the memory for the truth. */
#define TRUTH ROLES
#define STAGGER 256
#define LINE 64

typedef struct buffer {
    uint64_t offset, length, data_offset, bytes;
    /* Of an input or inout as it was drawn. */
    uint64_t digest;
    /* How often it was drawn, and which of these numbers candidate and baseline have. */
    uint32_t drawn, given[2];
    /* The drawn values may be in a cache, and not yet in memory. */
    bool dirty;
    /* Of an inout: the offset of its initial values in sets->kept. */
    uint64_t kept;
} buffer;

typedef struct kf_cpu_sets {
    kf_cpu_device *device;
    const kf_problem *problem;
    uint32_t count;
    /* By role. The buffers lie at the same offsets in each. In the oracle's only the inputs are
     * used, so the rest of that file takes no memory. */
    kf_cpu_memory memory[ROLES], truth;
    unsigned char *kept;
    uint64_t size, input_size, truth_size, kept_size;
    /* poison_secret: of candidate and baseline */
    uint64_t digest_key, secret, poison_secret[2];
    /* KF_ROLE_CANDIDATE or KF_ROLE_BASELINE: the other functions mean the buffers of this side. */
    kf_role side;
    /* [set * argument_count + argument] */
    buffer *buffers, *truths;
    kf_set_variation *variations;
    /* By entry, the set from which the numbers of a buffer are drawn: its own, except for copies.
     */
    uint32_t *sources;
    /* Of runners in Python: of the candidate and of the baseline. */
    kf_output_directory *output_directories[2];
} kf_cpu_sets;

static bool is_truth(const kf_problem_argument *argument)
{
    return argument->kind == KF_OUTPUT || argument->kind == KF_INOUT ||
           argument->kind == KF_WORKSPACE;
}

static bool is_widened(const kf_problem_argument *argument)
{
    return kf_dtype_is_float(argument->dtype) &&
           (argument->kind == KF_OUTPUT || argument->kind == KF_INOUT);
}

static bool is_filled(const kf_problem_argument *argument)
{
    return argument->kind == KF_INPUT || argument->kind == KF_INOUT;
}

static uint64_t place(buffer *b, uint64_t bytes, uint64_t offset, uint32_t number)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    b->offset = offset;
    b->data_offset = page + number * 5 % 16 * STAGGER;
    b->bytes = bytes;
    b->length = (b->data_offset + bytes + page - 1) / page * page + page;
    return offset + b->length;
}

kf_sets *kf_cpu_sets_new(kf_device *device, const kf_problem *problem, uint32_t count, bool truth,
                         kf_error *error)
{
    kf_cpu_device *cpu = (kf_cpu_device *)device;
    kf_cpu_sets *sets = calloc(1, sizeof *sets);
    if (!sets) {
        kf_fail_memory(error, "buffer sets");
        return NULL;
    }
    *sets = (kf_cpu_sets){.device = cpu,
                          .problem = problem,
                          .count = count,
                          .memory = {KF_CPU_NO_MEMORY, KF_CPU_NO_MEMORY, KF_CPU_NO_MEMORY},
                          .truth = KF_CPU_NO_MEMORY,
                          .side = KF_ROLE_BASELINE};
    size_t entries = (size_t)count * (size_t)problem->argument_count;
    sets->buffers = calloc(entries, sizeof *sets->buffers);
    sets->truths = calloc(entries, sizeof *sets->truths);
    sets->variations = calloc(count, sizeof *sets->variations);
    sets->sources = calloc(entries, sizeof *sets->sources);
    if (!sets->buffers || !sets->truths || !sets->sources || !sets->variations ||
        !kf_random(&sets->digest_key, sizeof sets->digest_key)) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for %u sets of buffers", count);
        kf_cpu_sets_free((kf_sets *)sets);
        return NULL;
    }
    for (uint32_t set = 0; set < count; set++)
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            size_t entry = (size_t)set * (size_t)problem->argument_count + (size_t)i;
            if (argument->kind == KF_SCALAR) continue;
            sets->size = place(&sets->buffers[entry], argument->bytes, sets->size, (uint32_t)entry);
            if (argument->kind == KF_INPUT) sets->input_size += argument->bytes;
            if (argument->kind == KF_INOUT) {
                sets->buffers[entry].kept = sets->kept_size;
                sets->kept_size += (argument->bytes + LINE - 1) / LINE * LINE;
            }
            if (!truth || !is_truth(argument)) continue;
            uint64_t bytes = is_widened(argument) ? (uint64_t)argument->elements * sizeof(double)
                                                  : argument->bytes;
            sets->truth_size =
                place(&sets->truths[entry], bytes, sets->truth_size, (uint32_t)entry);
        }
    /* Without enough memory SIGBUS or the OOM killer would end the judge later. */
    uint64_t all = 2 * sets->size + sets->input_size + sets->truth_size + sets->kept_size;
    if (all > cpu->memory_bytes / 2) {
        kf_fail(error, KF_ERROR_LIMIT,
                "workload %s takes %.1f GiB for %u sets of buffers, more than half of this "
                "machine's memory (%.1f GiB): give it "
                "smaller "
                "device_params for cpu",
                problem->workload, (double)all / 0x1p30, count, (double)cpu->memory_bytes / 0x1p30);
        kf_cpu_sets_free((kf_sets *)sets);
        return NULL;
    }
    bool shared = true;
    for (int role = 0; role < ROLES && sets->size && shared; role++)
        shared = kf_cpu_memory_take(cpu, role, sets->size, &sets->memory[role], error);
    if (shared && sets->truth_size)
        shared = kf_cpu_memory_take(cpu, TRUTH, sets->truth_size, &sets->truth, error);
    if (!shared) {
        kf_cpu_sets_free((kf_sets *)sets);
        return NULL;
    }
    if (sets->kept_size) {
        void *kept =
            mmap(NULL, sets->kept_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (kept == MAP_FAILED) {
            kf_fail(error, KF_ERROR_MEMORY, "out of memory for %u sets of buffers", count);
            kf_cpu_sets_free((kf_sets *)sets);
            return NULL;
        }
        sets->kept = kept;
    }
    return (kf_sets *)sets;
}

void kf_cpu_sets_free(kf_sets *handle)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    if (!sets) return;
    for (int role = 0; role < ROLES; role++) kf_cpu_memory_give(sets->device, &sets->memory[role]);
    kf_cpu_memory_give(sets->device, &sets->truth);
    if (sets->kept) munmap(sets->kept, sets->kept_size);
    for (int i = 0; i < 2; i++) kf_output_directory_free(sets->output_directories[i]);
    free(sets->buffers);
    free(sets->truths);
    free(sets->variations);
    free(sets->sources);
    free(sets);
}

static unsigned char *data_of(const kf_cpu_sets *sets, const buffer *b)
{
    return sets->memory[sets->side].base + b->offset + b->data_offset;
}

static unsigned char *oracle_data_of(const kf_cpu_sets *sets, const buffer *b)
{
    return sets->memory[KF_ROLE_ORACLE].base + b->offset + b->data_offset;
}

/* Returns what the oracle gets of an input or inout. */
static unsigned char *initial_of(const kf_cpu_sets *sets, const buffer *b, bool inout)
{
    return inout ? sets->kept + b->kept : oracle_data_of(sets, b);
}

static uint32_t count_outputs(const kf_problem *problem)
{
    uint32_t outputs = 0;
    for (int i = 0; i < problem->argument_count; i++)
        outputs += problem->arguments[i].kind == KF_OUTPUT;
    return outputs;
}

static kf_runner_event hand_over_output_directory(kf_cpu_sets *sets, kf_runner *runner,
                                                  kf_role role)
{
    kf_error error = {0};
    kf_output_directory **output_directory = &sets->output_directories[role == KF_ROLE_BASELINE];
    if (!*output_directory && !(*output_directory = kf_output_directory_new(
                                    sets->count, count_outputs(sets->problem), &error)))
        return kf_runner_fail(runner, error.text);
    kf_runner_buffer shared = kf_output_directory_buffer(*output_directory);
    return kf_runner_map(runner, &shared, 1);
}

/* A runner in Python keeps its results in its own memory. It gets an output directory in place of
 * output buffers. */
kf_runner_event kf_cpu_hand_over(kf_sets *handle, kf_runner *runner, kf_role role)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    bool own_results = kf_runner_is_python(kf_runner_kind_of(runner)) && role != KF_ROLE_ORACLE;
    const kf_problem *problem = sets->problem;
    kf_runner_buffer buffers[64];
    size_t used = 0;
    kf_runner_event event = KF_RUNNER_OK;
    for (uint32_t set = 0; set < sets->count && event == KF_RUNNER_OK; set++)
        for (int i = 0; i < problem->argument_count && event == KF_RUNNER_OK; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (argument->kind == KF_SCALAR || (own_results && argument->kind == KF_OUTPUT))
                continue;
            bool truth = role == KF_ROLE_ORACLE && is_truth(argument);
            const buffer *b =
                &(truth ? sets->truths
                        : sets->buffers)[(size_t)set * (size_t)problem->argument_count + (size_t)i];
            buffers[used++] =
                (kf_runner_buffer){.fd = truth ? sets->truth.fd : sets->memory[role].fd,
                                   .set = set,
                                   .argument = (uint32_t)i,
                                   .offset = b->offset,
                                   .length = b->length,
                                   .data_offset = b->data_offset,
                                   .bytes = b->bytes,
                                   .read_only = role == KF_ROLE_ORACLE && !truth};
            if (used == sizeof buffers / sizeof *buffers) {
                event = kf_runner_map(runner, buffers, used);
                used = 0;
            }
        }
    if (event == KF_RUNNER_OK && used) event = kf_runner_map(runner, buffers, used);
    return event == KF_RUNNER_OK && own_results ? hand_over_output_directory(sets, runner, role)
                                                : event;
}

bool kf_cpu_fetch(kf_sets *handle, kf_runner *runner, kf_role role, const uint32_t *list,
                  uint32_t count, const bool *chosen, kf_fetch_fault *fault, kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    const kf_problem *problem = sets->problem;
    const kf_output_directory *output_directory =
        sets->output_directories[role == KF_ROLE_BASELINE];
    sets->side = role;
    int outputs[KF_MAX_ARGUMENTS];
    uint32_t used = 0;
    *fault = (kf_fetch_fault){0};
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].kind == KF_OUTPUT) outputs[used++] = i;
    for (uint32_t k = 0; k < count && !fault->rule[0]; k++)
        for (uint32_t output = 0; output < used && !fault->rule[0]; output++) {
            const buffer *b = &sets->buffers[(size_t)list[k] * (size_t)problem->argument_count +
                                             (size_t)outputs[output]];
            if (!kf_output_directory_fetch(output_directory, kf_runner_pid(runner), list[k], output,
                                           &problem->arguments[outputs[output]], outputs[output],
                                           data_of(sets, b), fault, error))
                return false;
        }
    if (fault->rule[0] || role != KF_ROLE_CANDIDATE) return true;
    return kf_output_directory_check_overlap(output_directory, chosen, sets->count, outputs, fault,
                                             error);
}

/* ---- filling --------------------------------------------------------------------------------- */

static kf_key key_of(uint64_t secret, uint32_t set, int argument)
{
    return (kf_key){.secret = secret, .set = set, .argument = (uint32_t)argument};
}

static kf_variation variation_of(const kf_cpu_sets *sets, uint32_t set, int argument)
{
    /* Fresh numbers have a source beyond the last set. */
    const kf_set_variation *varied = &sets->variations[set % sets->count];
    return set != KF_PLAIN_INPUT && varied->argument == argument ? varied->variation : KF_VARY_NONE;
}

static void note_drawn(kf_cpu_sets *sets, buffer *b, const unsigned char *data)
{
    b->digest = kf_digest(sets->digest_key, data, b->bytes);
    b->drawn++;
    b->dirty = true;
}

/* Draws the initial values of an input into the oracle's buffer, those of an inout into
 * sets->kept. */
static void generate(kf_cpu_sets *sets, uint32_t set, int i)
{
    const kf_problem_argument *argument = &sets->problem->arguments[i];
    size_t entry = (size_t)set * (size_t)sets->problem->argument_count + (size_t)i;
    buffer *b = &sets->buffers[entry];
    uint32_t source = sets->sources[entry];
    unsigned char *data = initial_of(sets, b, argument->kind == KF_INOUT);
    kf_input_fill(argument, key_of(sets->secret, source, i), variation_of(sets, source, i), data, 0,
                  argument->elements);
    note_drawn(sets, b, data);
}

/* Copies an input that the problem itself makes. */
static bool take_generated(kf_cpu_sets *sets, uint32_t set, int i, kf_error *error)
{
    size_t entry = (size_t)set * (size_t)sets->problem->argument_count + (size_t)i;
    buffer *b = &sets->buffers[entry];
    const void *made = kf_generator_take(sets->device->head.next_sets.generator, sets->secret,
                                         sets->sources[entry], i, error);
    if (!made) return false;
    memcpy(oracle_data_of(sets, b), made, b->bytes);
    note_drawn(sets, b, oracle_data_of(sets, b));
    return true;
}

/* `start`: of the buffer with its guards. */
static void poison_guards(unsigned char *start, const buffer *b, kf_key key)
{
    uint64_t end = b->data_offset + b->bytes;
    kf_poison_fill(key, start, 0, b->data_offset);
    kf_poison_fill(key, start, end, b->length - end);
}

static void fill_one(void *context, size_t entry)
{
    kf_cpu_sets *sets = context;
    uint32_t set = (uint32_t)(entry / (size_t)sets->problem->argument_count);
    int i = (int)(entry % (size_t)sets->problem->argument_count);
    const kf_problem_argument *argument = &sets->problem->arguments[i];
    if (!is_filled(argument)) return;
    sets->sources[entry] = set;
    if (!argument->distribution.generated) generate(sets, set, i);
}

bool kf_cpu_fill(kf_sets *handle, uint64_t secret, const kf_set_variation *variations,
                 kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    sets->secret = secret;
    memcpy(sets->variations, variations, sets->count * sizeof *variations);
    kf_parallel_for(sets->device->parallel,
                    (size_t)sets->count * (size_t)sets->problem->argument_count, fill_one, sets);
    for (uint32_t set = 0; set < sets->count; set++)
        for (int i = 0; i < sets->problem->argument_count; i++)
            if (sets->problem->arguments[i].distribution.generated &&
                !take_generated(sets, set, i, error))
                return false;
    return true;
}

/* Gives the side a drawn input, or an inout's initial values, unless it has them. */
static void give_one(void *context, size_t entry)
{
    kf_cpu_sets *sets = context;
    uint32_t set = (uint32_t)(entry / (size_t)sets->problem->argument_count);
    int i = (int)(entry % (size_t)sets->problem->argument_count);
    bool inout = sets->problem->arguments[i].kind == KF_INOUT;
    buffer *b = &sets->buffers[entry];
    if (!is_filled(&sets->problem->arguments[i]) || b->given[sets->side] == b->drawn) return;
    b->given[sets->side] = b->drawn;
    memcpy(data_of(sets, b), initial_of(sets, b, inout), b->bytes);
    if (!inout)
        poison_guards(sets->memory[sets->side].base + b->offset, b, key_of(sets->secret, set, i));
}

bool kf_cpu_turn_to(kf_sets *handle, kf_role side, kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    (void)error;
    sets->side = side;
    size_t entries = (size_t)sets->count * (size_t)sets->problem->argument_count, stale = 0;
    for (size_t entry = 0; entry < entries && !stale; entry++)
        stale = sets->buffers[entry].given[side] != sets->buffers[entry].drawn;
    if (stale) kf_parallel_for(sets->device->parallel, entries, give_one, sets);
    return true;
}

static void poison_one(void *context, size_t entry)
{
    kf_cpu_sets *sets = context;
    uint32_t set = (uint32_t)(entry / (size_t)sets->problem->argument_count);
    int i = (int)(entry % (size_t)sets->problem->argument_count);
    const kf_problem_argument *argument = &sets->problem->arguments[i];
    buffer *b = &sets->buffers[entry];
    if (argument->kind == KF_INPUT) give_one(context, entry);
    if (argument->kind == KF_SCALAR || argument->kind == KF_INPUT) return;
    kf_key key = key_of(sets->poison_secret[sets->side], set, i);
    if (argument->kind == KF_INOUT) {
        poison_guards(sets->memory[sets->side].base + b->offset, b, key);
        memcpy(data_of(sets, b), sets->kept + b->kept, b->bytes);
        b->given[sets->side] = b->drawn;
    } else {
        kf_poison_fill(key, sets->memory[sets->side].base + b->offset, 0, b->length);
    }
}

/* Copies each inout once: kf_cpu_turn_to would copy new initial values, too. */
bool kf_cpu_poison(kf_sets *handle, kf_role side, uint64_t secret, kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    (void)error;
    sets->side = side;
    sets->poison_secret[side] = secret;
    kf_output_directory_clear(sets->output_directories[side == KF_ROLE_BASELINE]);
    kf_parallel_for(sets->device->parallel,
                    (size_t)sets->count * (size_t)sets->problem->argument_count, poison_one, sets);
    return true;
}

typedef struct selection {
    kf_cpu_sets *sets;
    const uint32_t *list;
} selection;

static void flush_one(void *context, size_t item)
{
    const selection *all = context;
    size_t arguments = (size_t)all->sets->problem->argument_count;
    const buffer *b =
        &all->sets->buffers[all->list[item / arguments] * arguments + item % arguments];
    if (b->length) kf_cache_flush(data_of(all->sets, b), b->bytes);
}

/* Lines of drawn values would else be written to memory while a batch is timed. */
static void flush_drawn(void *context, size_t entry)
{
    kf_cpu_sets *sets = context;
    buffer *b = &sets->buffers[entry];
    if (!b->dirty) return;
    bool inout =
        sets->problem->arguments[entry % (size_t)sets->problem->argument_count].kind == KF_INOUT;
    kf_cache_flush(inout ? sets->kept + b->kept : oracle_data_of(sets, b), b->bytes);
    b->dirty = false;
}

void kf_cpu_cache_flush(kf_sets *handle, const uint32_t *list, uint32_t count)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    selection all = {sets, list};
    kf_parallel_for(sets->device->parallel,
                    (size_t)sets->count * (size_t)sets->problem->argument_count, flush_drawn, sets);
    kf_parallel_for(sets->device->parallel, (size_t)count * (size_t)sets->problem->argument_count,
                    flush_one, &all);
}

/* ---- inspecting ------------------------------------------------------------------------------ */

typedef struct inspection {
    kf_cpu_sets *sets;
    const bool *chosen;
    kf_damage *damages; /* one a buffer */
} inspection;

static bool guards_intact(const unsigned char *start, const buffer *b, kf_key key, int64_t *byte)
{
    uint64_t end = b->data_offset + b->bytes, where = 0;
    if (!kf_poison_intact(key, start, 0, b->data_offset, &where) ||
        !kf_poison_intact(key, start, end, b->length - end, &where)) {
        *byte = (int64_t)where - (int64_t)b->data_offset;
        return false;
    }
    return true;
}

static void inspect_one(void *context, size_t entry)
{
    inspection *all = context;
    kf_cpu_sets *sets = all->sets;
    uint32_t set = (uint32_t)(entry / (size_t)sets->problem->argument_count);
    int i = (int)(entry % (size_t)sets->problem->argument_count);
    const kf_problem_argument *argument = &sets->problem->arguments[i];
    const buffer *b = &sets->buffers[entry];
    if (argument->kind == KF_SCALAR) return;
    kf_damage damage = {.set = (int)set, .argument = i, .byte = -1};
    bool input = argument->kind == KF_INPUT;
    kf_key key = key_of(input ? sets->secret : sets->poison_secret[sets->side], set, i);
    bool still = input || (argument->kind == KF_INOUT && !all->chosen[set]); /* must be as filled */
    if (!guards_intact(sets->memory[sets->side].base + b->offset, b, key, &damage.byte))
        damage.kind = KF_DAMAGE_GUARD;
    else if (still && kf_digest(sets->digest_key, data_of(sets, b), b->bytes) != b->digest)
        damage.kind = input ? KF_DAMAGE_INPUT : KF_DAMAGE_UNCHOSEN;
    else if (argument->kind == KF_OUTPUT && !all->chosen[set]) {
        uint64_t where = 0;
        if (kf_poison_intact(key, sets->memory[sets->side].base + b->offset, b->data_offset,
                             b->bytes, &where))
            return;
        damage.kind = KF_DAMAGE_UNCHOSEN;
        damage.byte = (int64_t)where - (int64_t)b->data_offset;
    } else {
        return;
    }
    all->damages[entry] = damage;
}

bool kf_cpu_inspect(kf_sets *handle, const bool *chosen, kf_damage *damage, kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    size_t entries = (size_t)sets->count * (size_t)sets->problem->argument_count;
    kf_autofree kf_damage *damages = calloc(entries, sizeof *damages);
    if (!damages) return kf_fail_memory(error, "buffer sets");
    inspection all = {sets, chosen, damages};
    kf_parallel_for(sets->device->parallel, entries, inspect_one, &all);
    *damage = (kf_damage){0};
    for (size_t i = 0; i < entries && damage->kind == KF_DAMAGE_NONE; i++) *damage = damages[i];
    return true;
}

/* ---- the truth ------------------------------------------------------------------------------- */

static kf_key truth_key(const kf_cpu_sets *sets, uint32_t set, int argument)
{
    return key_of(sets->poison_secret[sets->side] ^ 1, set, argument);
}

static void prepare_one(void *context, size_t item)
{
    const selection *all = context;
    kf_cpu_sets *sets = all->sets;
    size_t arguments = (size_t)sets->problem->argument_count;
    uint32_t set = all->list[item / arguments];
    int i = (int)(item % arguments);
    const kf_problem_argument *argument = &sets->problem->arguments[i];
    if (argument->kind == KF_SCALAR || !is_truth(argument)) return;
    size_t entry = (size_t)set * arguments + (size_t)i;
    const buffer *b = &sets->truths[entry];
    unsigned char *start = sets->truth.base + b->offset, *data = start + b->data_offset;
    kf_key key = truth_key(sets, set, i);
    poison_guards(start, b, key);
    /* not zeros: an oracle that forgets an element must not look right by luck */
    if (argument->kind != KF_INOUT) {
        kf_poison_fill(key, data, 0, b->bytes);
    } else if (!is_widened(argument)) {
        memcpy(data, sets->kept + sets->buffers[entry].kept, argument->bytes);
    } else {
        kf_load_doubles(argument->dtype, sets->kept + sets->buffers[entry].kept,
                        (size_t)argument->elements, (double *)data);
    }
}

bool kf_cpu_prepare_truth(kf_sets *handle, const uint32_t *list, uint32_t count, kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    (void)error;
    selection all = {sets, list};
    kf_parallel_for(sets->device->parallel, (size_t)count * (size_t)sets->problem->argument_count,
                    prepare_one, &all);
    return true;
}

void kf_cpu_inspect_truth(kf_sets *handle, const uint32_t *list, uint32_t count, kf_damage *damage)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    *damage = (kf_damage){0};
    for (uint32_t k = 0; k < count; k++)
        for (int i = 0; i < sets->problem->argument_count; i++) {
            const kf_problem_argument *argument = &sets->problem->arguments[i];
            const buffer *b =
                &sets->truths[(size_t)list[k] * (size_t)sets->problem->argument_count + (size_t)i];
            if (argument->kind == KF_SCALAR || !is_truth(argument)) continue;
            *damage = (kf_damage){
                .kind = KF_DAMAGE_GUARD, .set = (int)list[k], .argument = i, .byte = -1};
            if (!guards_intact(sets->truth.base + b->offset, b, truth_key(sets, list[k], i),
                               &damage->byte))
                return;
            *damage = (kf_damage){0};
        }
}

const void *kf_cpu_output(kf_sets *handle, uint32_t set, int argument, kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    (void)error;
    return data_of(
        sets,
        &sets->buffers[(size_t)set * (size_t)sets->problem->argument_count + (size_t)argument]);
}

const void *kf_cpu_input(kf_sets *handle, uint32_t set, int argument, kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    const buffer *b =
        &sets->buffers[(size_t)set * (size_t)sets->problem->argument_count + (size_t)argument];
    return sets->problem->arguments[argument].kind == KF_INPUT
               ? oracle_data_of(sets, b)
               : kf_cpu_output(handle, set, argument, error);
}

const void *kf_cpu_truth(kf_sets *handle, uint32_t set, int argument, kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    (void)error;
    const buffer *b =
        &sets->truths[(size_t)set * (size_t)sets->problem->argument_count + (size_t)argument];
    return sets->truth.base + b->offset + b->data_offset;
}

/* Returns the source of numbers that no set had yet. */
static uint32_t fresh_source(const kf_cpu_sets *sets, size_t entry)
{
    uint32_t source = sets->sources[entry];
    if (source == KF_PLAIN_INPUT)
        source = (uint32_t)(entry / (size_t)sets->problem->argument_count);
    return source + sets->count;
}

bool kf_cpu_copy_input(kf_sets *handle, uint32_t from, uint32_t to, int argument, kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    size_t arguments = (size_t)sets->problem->argument_count,
           entry = (size_t)to * arguments + (size_t)argument;
    sets->sources[entry] = from == KF_FRESH_INPUT ? fresh_source(sets, entry)
                           : from == KF_PLAIN_INPUT
                               ? from
                               : sets->sources[(size_t)from * arguments + (size_t)argument];
    if (sets->problem->arguments[argument].distribution.generated)
        return take_generated(sets, to, argument, error);
    generate(sets, to, argument);
    return true;
}

/* Returns the address of a part. */
static unsigned char *part_of(const kf_cpu_sets *sets, uint32_t set, int argument,
                              const kf_part *part)
{
    size_t entry = (size_t)set * (size_t)sets->problem->argument_count + (size_t)argument;
    return data_of(sets, &sets->buffers[entry]) + part->offset;
}

bool kf_cpu_read_part(kf_sets *handle, uint32_t set, int argument, const kf_part *part, void *data,
                      kf_error *error)
{
    (void)error;
    memcpy(data, part_of((kf_cpu_sets *)handle, set, argument, part), part->bytes);
    return true;
}

bool kf_cpu_write_part(kf_sets *handle, uint32_t set, int argument, const kf_part *part,
                       const void *data, bool live, kf_error *error)
{
    const kf_cpu_sets *sets = (const kf_cpu_sets *)handle;
    const buffer *b =
        &sets->buffers[(size_t)set * (size_t)sets->problem->argument_count + (size_t)argument];
    bool inout = sets->problem->arguments[argument].kind == KF_INOUT;
    (void)error;
    if (live || !inout) memcpy(data_of(sets, b) + part->offset, data, part->bytes);
    memcpy(initial_of(sets, b, inout) + part->offset, data, part->bytes);
    /* The caller then looks at what has begun. */
    static int order;
    __atomic_fetch_add(&order, 1, __ATOMIC_SEQ_CST);
    return true;
}

bool kf_cpu_accept_input(kf_sets *handle, uint32_t set, int argument, kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    (void)error;
    buffer *b =
        &sets->buffers[(size_t)set * (size_t)sets->problem->argument_count + (size_t)argument];
    bool inout = sets->problem->arguments[argument].kind == KF_INOUT;
    b->digest = kf_digest(sets->digest_key, initial_of(sets, b, inout), b->bytes);
    /* write_part has given it to this side. The other one, and a side that lacks the rest of the
     * input, get it at their next turn. */
    bool current = b->given[sets->side] == b->drawn;
    b->drawn++;
    if (current) b->given[sets->side] = b->drawn;
    return true;
}

bool kf_cpu_nudge_input(kf_sets *handle, uint32_t set, int argument, uint64_t seed, double share,
                        kf_error *error)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    (void)error;
    const kf_problem_argument *a = &sets->problem->arguments[argument];
    buffer *b =
        &sets->buffers[(size_t)set * (size_t)sets->problem->argument_count + (size_t)argument];
    void *data = initial_of(sets, b, a->kind == KF_INOUT);
    kf_nudge_input(a, data, seed, share);
    b->digest = kf_digest(sets->digest_key, data, b->bytes);
    b->drawn++;
    return true;
}

void kf_cpu_poison_read(kf_sets *handle, uint32_t set, int argument, uint64_t first, uint64_t count,
                        void *bytes)
{
    kf_cpu_sets *sets = (kf_cpu_sets *)handle;
    const buffer *b =
        &sets->buffers[(size_t)set * (size_t)sets->problem->argument_count + (size_t)argument];
    kf_poison_read(key_of(sets->poison_secret[sets->side], set, argument), bytes,
                   b->data_offset + first, count);
}
