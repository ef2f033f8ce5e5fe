/* CUDA errors that are faults of the machine, and what a user can do about them. `doctor`, the
 * judge and the runners share this text. */
#ifndef KFORGE_GPU_REMEDY_H
#define KFORGE_GPU_REMEDY_H

/* The driver's error on a machine without a GPU. It is no fault. */
#define KF_GPU_NONE 100
/* The least compute capability on which kforge judges. */
#define KF_GPU_MIN_MAJOR 7

/* Returns what to do about a CUDA error of the machine; NULL for an error of a program. */
const char *kf_gpu_remedy(int error);

#endif
