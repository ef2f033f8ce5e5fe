/* The order of calls in the candidate's stream: gates that hold the stream, and samples of what it
 * sees (stream_page.h). evaluator/judge/measure/measure_order.c decides when. */
#include <string.h>

#include "cuda_calls.h"
#include "device_pool_cuda.h"
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
