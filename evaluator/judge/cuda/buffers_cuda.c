/* The parts of buffer sets that several files use: addresses, keys and digests of buffers, and the
 * sizes of the truth. sets_cuda.c makes and fills the sets. */
#include "buffers_cuda.h"

#include "cuda_calls.h"
#include "work_cuda.h"

bool kf_cuda_is_widened(const kf_problem_argument *argument)
{
    return kf_dtype_is_float(argument->dtype) &&
           (argument->kind == KF_OUTPUT || argument->kind == KF_INOUT);
}

bool kf_cuda_has_truth(const kf_problem_argument *argument)
{
    return argument->kind == KF_OUTPUT || argument->kind == KF_INOUT ||
           argument->kind == KF_WORKSPACE;
}

kf_key kf_cuda_key(uint64_t secret, uint32_t set, int argument)
{
    return (kf_key){.secret = secret, .set = set, .argument = (uint32_t)argument};
}

uint64_t kf_cuda_address(const kf_cuda_sets *sets, const kf_cuda_buffer *buffer)
{
    return sets->regions[buffer->region].base + buffer->offset + buffer->data_offset;
}

bool kf_cuda_sides_share(const kf_sets *handle)
{
    const kf_cuda_sets *sets = (const kf_cuda_sets *)handle;
    return sets->sides[KF_ROLE_CANDIDATE] == sets->sides[KF_ROLE_BASELINE];
}

uint64_t kf_cuda_truth_argument_bytes(const kf_problem_argument *argument)
{
    return kf_cuda_is_widened(argument) ? (uint64_t)argument->elements * sizeof(double)
                                        : argument->bytes;
}

uint64_t kf_cuda_truth_bytes(const kf_problem *problem)
{
    uint64_t bytes = 0;
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].kind != KF_SCALAR && kf_cuda_has_truth(&problem->arguments[i]))
            bytes += kf_cuda_truth_argument_bytes(&problem->arguments[i]);
    return bytes;
}

bool kf_cuda_digests(kf_cuda_sets *sets, kf_role side, const size_t *entries, size_t count,
                     uint64_t *digests, kf_error *error)
{
    kf_cuda_device *gpu = sets->gpu;
    kf_autowork b = {0};
    if (!count) return true;
    if (!kf_cuda_work_begin(&b, sizeof(kf_digest_task), count, error)) return false;
    for (size_t i = 0; i < count; i++) {
        const kf_cuda_buffer *buffer = &sets->sides[side][entries[i]];
        kf_digest_task *task = kf_cuda_work_add(&b, buffer->bytes / 16 + 1);
        *task = (kf_digest_task){.data = kf_cuda_address(sets, buffer),
                                 .bytes = buffer->bytes,
                                 .key = sets->secrets.digests};
    }
    void *parameters[] = {&gpu->results.pointer};
    return kf_cuda_scratch_need(gpu, &gpu->results, count * sizeof *digests, error) &&
           kf_cuda_check(
               gpu,
               gpu->cuda.set_bytes(gpu->results.pointer, 0, count * sizeof *digests, gpu->stream),
               "digests", error) &&
           kf_cuda_work_run(gpu, KF_KERNEL_DIGEST, &b, parameters, 1, error) &&
           kf_cuda_check(gpu,
                         gpu->cuda.copy_out(digests, gpu->results.pointer, count * sizeof *digests,
                                            gpu->stream),
                         "digests", error) &&
           kf_cuda_wait(gpu, "digesting inputs", error);
}
