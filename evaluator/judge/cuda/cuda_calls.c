/* Calls into the driver that every file of the CUDA device makes. */
#include "cuda_calls.h"

#include "gpu_remedy.h"

bool kf_cuda_check(const kf_cuda_device *gpu, cu_result result, const char *doing, kf_error *error)
{
    if (result == CU_SUCCESS) return true;
    char words[256];
    kf_cuda_describe(&gpu->cuda, result, words, sizeof words);
    const char *remedy = kf_gpu_remedy(result);
    return kf_fail(error, KF_ERROR_MACHINE, "%s, %s: %s%s%s", gpu->head.name, doing, words,
                   remedy ? "; " : "", remedy ? remedy : "");
}

void kf_cuda_occupy_end(kf_cuda_device *gpu)
{
    if (!gpu->occupation.on) return;
    __atomic_store_n(&gpu->occupation.door->stop, 1, __ATOMIC_RELEASE);
    gpu->cuda.stream_synchronize(gpu->occupation.stream);
    gpu->occupation.on = false;
}

void kf_cuda_occupy_break(kf_cuda_device *gpu)
{
    if (!gpu->occupation.on) return;
    kf_cuda_occupy_end(gpu);
    gpu->occupation.broken = true;
}

bool kf_cuda_scratch_need(kf_cuda_device *gpu, kf_cuda_scratch *scratch, size_t bytes,
                          kf_error *error)
{
    if (scratch->bytes >= bytes) return true;
    size_t wanted = 1 << 20;
    while (wanted < bytes) wanted *= 2;
    kf_cuda_occupy_break(gpu);
    if (scratch->pointer) {
        gpu->cuda.stream_synchronize(gpu->stream);
        gpu->cuda.release(scratch->pointer);
    }
    *scratch = (kf_cuda_scratch){0};
    if (!kf_cuda_check(gpu, gpu->cuda.allocate(&scratch->pointer, wanted),
                       "memory for the judge's own work", error))
        return false;
    scratch->bytes = wanted;
    return true;
}

bool kf_cuda_wait(kf_cuda_device *gpu, const char *doing, kf_error *error)
{
    return kf_cuda_check(gpu, gpu->cuda.stream_synchronize(gpu->stream), doing, error);
}
