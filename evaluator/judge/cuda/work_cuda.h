/* Work for the judge's own kernels (kernels.h): tasks of one kind, which one launch does. Blocks
 * are dealt out by what there is to do, so that a few large buffers among hundreds of small ones
 * have the whole device. */
#ifndef KFORGE_WORK_CUDA_H
#define KFORGE_WORK_CUDA_H

#include "device_cuda.h"

typedef struct kf_cuda_work {
    char *tasks;
    size_t task_bytes, count;
    uint64_t *units;  /* of each task: what one thread does at a time */
    kf_slice *slices; /* of each block, in the order of tasks */
    size_t blocks;
} kf_cuda_work;

/* Room for `most` tasks of that size; released by kf_cuda_work_free, also where this failed. */
bool kf_cuda_work_begin(kf_cuda_work *work, size_t task_bytes, size_t most, kf_error *error);
/* The next task, zeroed, to be filled in before the next call. */
void *kf_cuda_work_add(kf_cuda_work *work, uint64_t units);
/* Deals the blocks out: work->slices says which block does what. Done by kf_cuda_work_run where
 * nobody has to know before. */
bool kf_cuda_work_deal(const kf_cuda_device *gpu, kf_cuda_work *work, kf_error *error);
/* Runs the kernel and waits for it. It gets the tasks' address, that of the slices, and
 * `parameters`, at most five. Nothing to do is done. */
bool kf_cuda_work_run(kf_cuda_device *gpu, enum kf_kernel kernel, kf_cuda_work *work,
                      void **parameters, size_t parameter_count, kf_error *error);
void kf_cuda_work_free(kf_cuda_work *work);
#define kf_autowork __attribute__((cleanup(kf_cuda_work_free))) kf_cuda_work

#endif
