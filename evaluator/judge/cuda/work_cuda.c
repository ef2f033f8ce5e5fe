#include "work_cuda.h"

#include "cuda_calls.h"

#include <stdlib.h>
#include <string.h>

/* Twice as many as run at a time, so that the last blocks are short. */
#define BLOCKS_A_MULTIPROCESSOR 16
#define MAX_PARAMETERS 5
bool kf_cuda_work_begin(kf_cuda_work *work, size_t task_bytes, size_t most, kf_error *error)
{
    size_t room = most ? most : 1;
    *work = (kf_cuda_work){.tasks = calloc(room, task_bytes),
                           .task_bytes = task_bytes,
                           .units = calloc(room, sizeof *work->units)};
    return (work->tasks && work->units) || kf_fail_memory(error, "the judge's work on buffers");
}

void *kf_cuda_work_add(kf_cuda_work *work, uint64_t units)
{
    work->units[work->count] = units ? units : 1;
    return work->tasks + work->count++ * work->task_bytes;
}

bool kf_cuda_work_deal(const kf_cuda_device *gpu, kf_cuda_work *work, kf_error *error)
{
    uint64_t all = 0, wanted = (uint64_t)gpu->properties.multiprocessors * BLOCKS_A_MULTIPROCESSOR;
    for (size_t i = 0; i < work->count; i++) all += work->units[i];
    /* The units of a block, a multiple of its threads. So there are at most `wanted` blocks, plus
     * one for each task. */
    uint64_t share = (all / wanted / KF_KERNEL_THREADS + 1) * KF_KERNEL_THREADS;
    work->blocks = 0;
    free(work->slices);
    work->slices = calloc(wanted + work->count, sizeof *work->slices);
    if (!work->slices) return kf_fail_memory(error, "the judge's work on buffers");
    for (size_t i = 0; i < work->count; i++) {
        uint32_t count = (uint32_t)((work->units[i] + share - 1) / share);
        for (uint32_t number = 0; number < count; number++)
            work->slices[work->blocks++] =
                (kf_slice){.task = (uint32_t)i, .number = number, .count = count};
    }
    return true;
}

bool kf_cuda_work_run(kf_cuda_device *gpu, enum kf_kernel kernel, kf_cuda_work *work,
                      void **parameters, size_t parameter_count, kf_error *error)
{
    if (!work->count) return true;
    if (!work->slices && !kf_cuda_work_deal(gpu, work, error)) return false;
    size_t task_bytes = (work->count * work->task_bytes + 15) / 16 * 16,
           slice_bytes = work->blocks * sizeof *work->slices;
    if (!kf_cuda_scratch_need(gpu, &gpu->tasks, task_bytes + slice_bytes, error)) return false;
    cu_pointer slices = gpu->tasks.pointer + task_bytes;
    void *all[MAX_PARAMETERS + 2] = {&gpu->tasks.pointer, &slices};
    for (size_t i = 0; i < parameter_count && i < MAX_PARAMETERS; i++) all[i + 2] = parameters[i];
    return kf_cuda_check(gpu,
                         gpu->cuda.copy_in(gpu->tasks.pointer, work->tasks,
                                           work->count * work->task_bytes, gpu->stream),
                         "sending work", error) &&
           kf_cuda_check(gpu, gpu->cuda.copy_in(slices, work->slices, slice_bytes, gpu->stream),
                         "sending work", error) &&
           kf_cuda_check(gpu,
                         gpu->cuda.launch(gpu->kernels[kernel], (unsigned)work->blocks, 1, 1,
                                          KF_KERNEL_THREADS, 1, 1, 0, gpu->stream, all, NULL),
                         "starting the judge's kernel", error) &&
           /* The next run overwrites the tasks. */
           kf_cuda_wait(gpu, "the judge's kernel", error);
}

void kf_cuda_work_free(kf_cuda_work *work)
{
    free(work->tasks);
    free(work->units);
    free(work->slices);
    *work = (kf_cuda_work){0};
}
