/* Work for the judge's own kernels (kernels.h): many tasks of one kind in one launch. Each task
 * gets blocks by its size. So a large buffer among hundreds of small ones gets the whole device. */
#ifndef KFORGE_WORK_CUDA_H
#define KFORGE_WORK_CUDA_H

#include "device_cuda.h"

typedef struct kf_cuda_work {
    char *tasks;
    size_t task_bytes, count;
    /* The size of each task. A thread does one unit at a time. */
    uint64_t *units;
    /* Of each block, in the order of tasks. */
    kf_slice *slices;
    size_t blocks;
} kf_cuda_work;

/* Makes space for `most` tasks of `task_bytes`. kf_cuda_work_free releases it, after a failure,
 * too. */
bool kf_cuda_work_begin(kf_cuda_work *work, size_t task_bytes, size_t most, kf_error *error);
/* Returns the next task, zeroed. The caller fills it in before the next call. */
void *kf_cuda_work_add(kf_cuda_work *work, uint64_t units);
/* Assigns blocks to tasks: work->slices. kf_cuda_work_run calls it if the caller has not. */
bool kf_cuda_work_deal(const kf_cuda_device *gpu, kf_cuda_work *work, kf_error *error);
/* Runs the kernel and waits for it. Its parameters are the addresses of tasks and slices, then
 * `parameters`, at most five. Does nothing without tasks. */
bool kf_cuda_work_run(kf_cuda_device *gpu, enum kf_kernel kernel, kf_cuda_work *work,
                      void **parameters, size_t parameter_count, kf_error *error);
void kf_cuda_work_free(kf_cuda_work *work);
#define kf_autowork __attribute__((cleanup(kf_cuda_work_free))) kf_cuda_work

#endif
