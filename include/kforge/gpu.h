/* What may be the matter with a GPU before anything runs on it, in words that `doctor` and the
 * judge share. (Of kf_judge.) */
#ifndef KFORGE_GPU_H
#define KFORGE_GPU_H

#include <stdbool.h>
#include <stddef.h>

/* the driver's error where there is no GPU: nothing that has to be mended */
#define KF_GPU_NONE 100
#define KF_GPU_MIN_MAJOR 7 /* compute capability from which on kforge judges */

/* What to do about a CUDA error that is the machine's and not a program's; NULL for others. */
const char *kf_gpu_remedy(int error);
/* Where GPUs are in MIG mode and none has an instance the driver shows none at all. True: so it is;
 * says which GPU, "; " and what to do. */
bool kf_gpu_without_instance(char *text, size_t size);

/* ---- a driver that does not answer (driver_watch.c) ------------------------------------------ */

#define KF_DRIVER_SECONDS                                                                        \
    60 /* that a call into it may take: where nothing keeps it awake, the first one starts every \
          GPU of the machine, some seconds each */

/* Whoever waits for a call that does not return can do nothing more, so a thread looks. `handler`
 * is called on it when a call has not returned for KF_DRIVER_SECONDS (or $KFORGE_DRIVER_SECONDS)
 * with one line that says which, and what to do; it has to end the process, with nothing that could
 * wait for the driver in turn (_exit). Set it before the driver is used; until then nobody looks.
 */
void kf_gpu_on_silence(void (*handler)(const char *text));
/* Around a call, or several, into libcuda or NVML; `call` has to last. Calls of the thread that
 * does this first are watched, which is the judge's, others are not. They cost a nanosecond and may
 * not be nested. */
void kf_gpu_enter(const char *call);
void kf_gpu_leave(void);

#endif
