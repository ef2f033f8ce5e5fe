/* What may be the matter with a GPU before anything runs on it, in words that `doctor` and the judge share. (Of kf_judge.) */
#ifndef KFORGE_GPU_H
#define KFORGE_GPU_H

#include <stdbool.h>
#include <stddef.h>

#define KF_GPU_NONE 100      /* the driver's error where there is no GPU: nothing that has to be mended */
#define KF_GPU_LEAST_MAJOR 7 /* compute capability from which on kforge judges */

/* What to do about a CUDA error that is the machine's and not a program's; NULL for others. */
const char *kf_gpu_remedy(int error);
/* Where GPUs are in MIG mode and none has an instance the driver shows none at all. True: so it is; says which GPU, "; " and what to do. */
bool kf_gpu_without_instance(char *text, size_t size);

#endif
