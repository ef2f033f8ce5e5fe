/* The order of calls in the candidate's stream: gates that hold the stream, and samples of what it
 * sees (stream_page.h). evaluator/judge/measure/measure_stream_order.c decides when. */
#include <stdlib.h>
#include <string.h>

#include "cache_look.h"
#include "cuda_calls.h"
#include "device_pool_cuda.h"
#include "kforge/file.h"
#include "output_directory.h"

/* The byte of slots without a sample. */
#define NO_SAMPLE 0x5c

static cu_pointer page_of(const kf_cuda_sets *sets, size_t offset)
{
    return sets->regions[sets->order.region].base + offset;
}

kf_runner_buffer kf_cuda_page_buffer(const kf_cuda_sets *sets)
{
    const kf_cuda_region *region = &sets->regions[sets->order.region];
    return (kf_runner_buffer){.fd = region->descriptor,
                              .length = region->bytes,
                              .bytes = region->bytes,
                              .region_bytes = region->bytes,
                              .address = region->reserved,
                              .region = sets->order.region,
                              .stream_page = true};
}

/* Has the judge's stream set `count` gates from `first` on. */
static bool set_gates(kf_cuda_sets *sets, uint32_t first, uint32_t count, uint32_t value,
                      kf_error *error)
{
    kf_cuda_device *gpu = sets->gpu;
    cu_pointer gates = page_of(sets, offsetof(kf_stream_page, gates)) + 4 * (cu_pointer)first;
    return !count || kf_cuda_check(gpu,
                                   gpu->cuda.set_bytes(gates, (unsigned char)value,
                                                       4 * (size_t)count, gpu->stream),
                                   "setting gates", error);
}

bool kf_cuda_hold(kf_sets *handle, uint32_t open, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    kf_cuda_device *gpu = sets->gpu;
    if (open > KF_WIRE_MAX_SETS) open = KF_WIRE_MAX_SETS;
    return set_gates(sets, 0, open, KF_GATE_OPEN, error) &&
           set_gates(sets, open, KF_WIRE_MAX_SETS - open, 0, error) &&
           kf_cuda_check(gpu,
                         gpu->cuda.set_bytes(page_of(sets, offsetof(kf_stream_page, samples)),
                                             NO_SAMPLE, sizeof(((kf_stream_page *)0)->samples),
                                             gpu->stream),
                         "clearing samples", error) &&
           kf_cuda_wait(gpu, "setting gates", error);
}

bool kf_cuda_release(kf_sets *handle, const uint32_t *list, uint32_t count, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    return kf_cuda_redraw(sets, list, count, error) &&
           set_gates(sets, 0, KF_WIRE_MAX_SETS, KF_GATE_OPEN, error) &&
           kf_cuda_wait(sets->gpu, "opening gates", error);
}

/* ---- what the cache holds -------------------------------------------------------------------- */

/* Words that are looked for, in all inputs together, and the threads that do it. */
#define CACHE_SAMPLES 16384
#define CACHE_THREADS 64
/* Inputs are looked at in lines of the cache, each in one of the two looks. A read brings the words
 * around it into the cache. Of each two lines chance decides which look has the first one. So a
 * candidate cannot read only lines of the first look. */
#define CACHE_LINE 128
/* Pages of device memory. */
#define PAGE_BYTES (2ull << 20)
/* In front of the first element: a word of the guard, in the same page. */
#define GUARD_OFFSET 512
/* Chooses words of a buffer, one in each of `count` equal parts, in the lines of that look. A
 * word's neighbour is in its page. */
static void choose_words(uint64_t address, uint64_t bytes, uint64_t secret, bool again,
                         uint32_t count, uint64_t *random, kf_cache_sample *samples)
{
    uint64_t pairs = bytes / (2 * CACHE_LINE);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t first = pairs * i / count, some = pairs * (i + 1) / count - first;
        uint64_t pair = first + kf_sample_draw(*random, i, 0) % some,
                 word = kf_sample_draw(*random, i, 1) % (CACHE_LINE / 4);
        uint64_t line = 2 * pair + kf_cache_odd_line(secret, pair, again),
                 at = address + line * CACHE_LINE + 4 * word, page = at / PAGE_BYTES * PAGE_BYTES;
        samples[i] = (kf_cache_sample){
            .address = at,
            .neighbour = page > address && at >= page + CACHE_LINE ? page : address - GUARD_OFFSET};
    }
    *random += count;
}

typedef struct cache_look {
    kf_cache_sample *samples;
    /* By input: the end of its samples. */
    uint32_t *ends, inputs, count;
} cache_look;

static bool is_looked_at(const kf_cuda_sets *sets, uint32_t set, int argument)
{
    const kf_problem *problem = sets->problem;
    kf_argument_kind kind = problem->arguments[argument].kind;
    return (kind == KF_INPUT || kind == KF_INOUT) &&
           sets->buffers[(size_t)set * (size_t)problem->argument_count + (size_t)argument].bytes >=
               2 * CACHE_LINE;
}

static bool plan_look(const kf_cuda_sets *sets, uint32_t set, bool again, cache_look *look,
                      kf_error *error)
{
    const kf_problem *problem = sets->problem;
    uint32_t inputs = 0;
    uint64_t random;
    for (int i = 0; i < problem->argument_count; i++) inputs += is_looked_at(sets, set, i);
    look->samples = calloc(CACHE_SAMPLES + inputs, sizeof *look->samples);
    look->ends = calloc(inputs + 1, sizeof *look->ends);
    if (!look->samples || !look->ends) return kf_fail_memory(error, "a look into the cache");
    if (!kf_random(&random, sizeof random))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel's random source (getrandom) refuses");
    for (int i = 0; i < problem->argument_count; i++) {
        if (!is_looked_at(sets, set, i)) continue;
        const kf_cuda_buffer *b =
            &sets->buffers[(size_t)set * (size_t)problem->argument_count + (size_t)i];
        uint64_t pairs = b->bytes / (2 * CACHE_LINE), most = CACHE_SAMPLES / inputs;
        uint32_t words = (uint32_t)(pairs < most ? pairs : most);
        if (!words) continue;
        choose_words(kf_cuda_address(sets, b), b->bytes, sets->order.lines, again, words, &random,
                     look->samples + look->count);
        look->count += words;
        look->ends[look->inputs++] = look->count;
    }
    return true;
}

static bool time_reads(kf_cuda_device *gpu, cache_look *look, kf_error *error)
{
    size_t bytes = look->count * sizeof *look->samples;
    if (!kf_cuda_scratch_need(gpu, &gpu->tasks, bytes, error)) return false;
    void *parameters[] = {&gpu->tasks.pointer, &look->count};
    return kf_cuda_check(gpu,
                         gpu->cuda.copy_in(gpu->tasks.pointer, look->samples, bytes, gpu->stream),
                         "looking into the cache", error) &&
           kf_cuda_check(gpu,
                         gpu->cuda.launch(gpu->kernels[KF_KERNEL_CACHED], CACHE_THREADS, 1, 1, 32,
                                          1, 1, 0, gpu->stream, parameters, NULL),
                         "looking into the cache", error) &&
           kf_cuda_check(gpu,
                         gpu->cuda.copy_out(look->samples, gpu->tasks.pointer, bytes, gpu->stream),
                         "looking into the cache", error) &&
           kf_cuda_wait(gpu, "looking into the cache", error);
}

bool kf_cuda_cached(kf_sets *handle, uint32_t set, bool again, double *share, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    kf_cuda_order *order = &sets->order;
    cache_look look = {0};
    kf_cache_shares shares = {0};
    *share = 0;
    if (!again && !kf_random(&order->lines, sizeof order->lines))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel's random source (getrandom) refuses");
    if (!again) kf_cuda_cache_flush(handle, &set, 1);
    bool done = plan_look(sets, set, again, &look, error) &&
                (!look.count || time_reads(sets->gpu, &look, error));
    for (uint32_t first = 0; done && shares.count < look.inputs; shares.count++) {
        uint32_t end = look.ends[shares.count];
        shares.inputs[shares.count] = kf_cache_count(look.samples + first, end - first);
        first = end;
    }
    if (done && again) *share = kf_cache_read_since(&order->flushed, &shares);
    if (done && !again) order->flushed = shares;
    free(look.samples);
    free(look.ends);
    return done;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Finds out where a sampled output lies. False if it has no sample that can be compared. */
static bool locate(const kf_cuda_sets *sets, uint32_t output, kf_cuda_sample *sample,
                   uint64_t *bytes)
{
    const kf_problem_argument *argument = &sets->problem->arguments[sample->argument];
    kf_output_directory_place place;
    kf_fetch_fault fault = {0};
    *bytes = argument->bytes;
    if (!sets->python) {
        sample->address = kf_cuda_address(
            sets, &sets->buffers[(size_t)sample->set * (size_t)sets->problem->argument_count +
                                 (size_t)sample->argument]);
        return true;
    }
    if (!kf_output_directory_locate(sets->output_directories[0], sample->set, output, argument,
                                    sample->argument, &place, &fault) ||
        !kf_cuda_may_hold_result(sets, sets->python, place.address, place.span))
        return false;
    sample->address = place.address;
    /* runner.py samples one element of a result with gaps. */
    if (!place.plain) *bytes = kf_dtype_size(argument->dtype);
    return true;
}

static bool is_empty(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != NO_SAMPLE) return false;
    return true;
}

bool kf_cuda_take_samples(kf_sets *handle, uint64_t nonce, const uint32_t *order, uint32_t count,
                          kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    kf_cuda_device *gpu = sets->gpu;
    unsigned char found[KF_SAMPLE_SLOTS][KF_SAMPLE_ROWS * KF_SAMPLE_WIDTH];
    int outputs[KF_MAX_ARGUMENTS];
    uint32_t output_count = 0;
    for (int i = 0; i < sets->problem->argument_count; i++) {
        kf_argument_kind kind = sets->problem->arguments[i].kind;
        if (kind == KF_OUTPUT || (kind == KF_INOUT && !sets->python)) outputs[output_count++] = i;
    }
    if (!output_count) return true;
    if (!kf_cuda_check(gpu,
                       gpu->cuda.copy_out(found, page_of(sets, offsetof(kf_stream_page, samples)),
                                          sizeof found, gpu->stream),
                       "reading samples", error) ||
        !kf_cuda_wait(gpu, "reading samples", error))
        return false;
    for (uint32_t slot = 0; slot < KF_SAMPLE_SLOTS && sets->order.sample_count < KF_CUDA_SAMPLES;
         slot++) {
        kf_cuda_sample *sample = &sets->order.samples[sets->order.sample_count];
        uint32_t output = kf_sample_output(nonce, slot, output_count);
        uint64_t bytes;
        sample->set = order[kf_sample_call(nonce, slot, count)];
        sample->argument = outputs[output];
        if (!locate(sets, output, sample, &bytes)) continue;
        sample->layout = kf_sample_layout(nonce, slot, bytes);
        size_t size = (size_t)sample->layout.rows * sample->layout.width;
        if (is_empty(found[slot], size)) continue;
        memcpy(sample->bytes, found[slot], size);
        sets->order.sample_count++;
    }
    return true;
}

bool kf_cuda_check_samples(kf_sets *handle, kf_damage *damage, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    kf_cuda_device *gpu = sets->gpu;
    *damage = (kf_damage){.kind = KF_DAMAGE_NONE};
    for (uint32_t i = 0; i < sets->order.sample_count; i++) {
        const kf_cuda_sample *sample = &sets->order.samples[i];
        const kf_stream_sample *layout = &sample->layout;
        unsigned char now[KF_SAMPLE_ROWS * KF_SAMPLE_WIDTH];
        const cu_rows rows = {.from = {.type = CU_MEMORY_DEVICE,
                                       .device = sample->address + layout->offset,
                                       .pitch = layout->pitch},
                              .to = {.type = CU_MEMORY_HOST, .host = now, .pitch = layout->width},
                              .width = layout->width,
                              .height = layout->rows};
        if (!kf_cuda_check(gpu, gpu->cuda.copy_rows(&rows, gpu->stream), "comparing samples",
                           error) ||
            !kf_cuda_wait(gpu, "comparing samples", error))
            return false;
        if (memcmp(now, sample->bytes, (size_t)layout->rows * layout->width) == 0) continue;
        *damage = (kf_damage){.kind = KF_DAMAGE_UNORDERED,
                              .set = (int)sample->set,
                              .argument = sample->argument,
                              .byte = -1};
        return true;
    }
    return true;
}

double kf_cuda_gate_seconds(const kf_device *device)
{
    return ((const kf_cuda_device *)device)->gate_seconds;
}
