/* Host copies of buffers on the GPU, for comparisons and changes on the CPU. */
#include <stdlib.h>

#include "buffers_cuda.h"
#include "cuda_calls.h"
#include "kforge/list.h"

void kf_cuda_forget_copies(kf_cuda_sets *sets)
{
    for (size_t i = 0; i < sets->copies.count; i++) free(sets->copies.data[i]);
    free(sets->copies.data);
    sets->copies = (kf_cuda_copies){0};
}

/* Copies one of the buffers to the host. The copy is valid until the next fill or poison. */
static const void *host_copy(kf_cuda_sets *sets, const kf_cuda_buffer *buffers, uint32_t set,
                             int argument, kf_error *error)
{
    kf_cuda_device *gpu = sets->gpu;
    const kf_cuda_buffer *b =
        &buffers[(size_t)set * (size_t)sets->problem->argument_count + (size_t)argument];
    bool grown = kf_list_grow(&sets->copies.data, sets->copies.count);
    void *data = grown ? malloc(b->bytes ? b->bytes : 1) : NULL;
    if (!data) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for a copy of %llu bytes of %s",
                (unsigned long long)b->bytes, sets->problem->arguments[argument].name);
        return NULL;
    }
    sets->copies.data[sets->copies.count++] = data;
    if (!kf_cuda_check(gpu,
                       gpu->cuda.copy_out(data, kf_cuda_address(sets, b), b->bytes, gpu->stream),
                       "copying to the host", error) ||
        !kf_cuda_wait(gpu, "copying to the host", error))
        return NULL;
    return data;
}

const void *kf_cuda_output(kf_sets *handle, uint32_t set, int argument, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    return host_copy(sets, sets->buffers, set, argument, error);
}

/* Those that the oracle read. */
const void *kf_cuda_input(kf_sets *handle, uint32_t set, int argument, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    bool input = sets->problem->arguments[argument].kind == KF_INPUT;
    return host_copy(sets, input ? sets->sides[KF_ROLE_BASELINE] : sets->buffers, set, argument,
                     error);
}

const void *kf_cuda_truth(kf_sets *handle, uint32_t set, int argument, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    return host_copy(sets, sets->truths, set, argument, error);
}

/* Changes the input on the CPU, so that both devices have the same numbers. That happens only for
 * outputs in doubt. It takes no inouts: a kernel draws their initial values into the oracle's
 * buffer just before its call. */
bool kf_cuda_nudge_input(kf_sets *handle, uint32_t set, int argument, uint64_t seed, double share,
                         kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    kf_cuda_device *gpu = sets->gpu;
    const kf_problem_argument *a = &sets->problem->arguments[argument];
    size_t entry = (size_t)set * (size_t)sets->problem->argument_count + (size_t)argument;
    kf_cuda_buffer *b = &sets->sides[KF_ROLE_BASELINE][entry];
    if (!kf_cuda_input(handle, set, argument, error)) return false;
    void *data = sets->copies.data[sets->copies.count - 1];
    kf_nudge_input(a, data, seed, share);
    bool done =
        kf_cuda_check(gpu, gpu->cuda.copy_in(kf_cuda_address(sets, b), data, b->bytes, gpu->stream),
                      "copying from the host", error) &&
        kf_cuda_wait(gpu, "copying from the host", error);
    kf_cuda_forget_copies(sets);
    if (!kf_cuda_sides_share(handle)) sets->sides[KF_ROLE_CANDIDATE][entry].stale = true;
    return done && kf_cuda_digests(sets, KF_ROLE_BASELINE, &entry, 1, &b->digest, error);
}

void kf_cuda_poison_read(kf_sets *handle, uint32_t set, int argument, uint64_t first,
                         uint64_t count, void *bytes)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    const kf_cuda_buffer *b =
        &sets->buffers[(size_t)set * (size_t)sets->problem->argument_count + (size_t)argument];
    kf_poison_read(kf_cuda_key(sets->secrets.poison[sets->side], set, argument), bytes,
                   b->data_offset + first, count);
}
