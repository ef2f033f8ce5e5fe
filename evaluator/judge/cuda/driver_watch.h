/* Watches calls into the driver, to notice a driver that does not answer (kforge/gpu.h). Each
 * function of a loaded driver is replaced by a watched one. */
#ifndef KFORGE_DRIVER_WATCH_H
#define KFORGE_DRIVER_WATCH_H

#include "driver_cuda.h"

/* Does the same as kf_cuda_load, with watched functions. Only cuInit stays unwatched, since
 * kf_cuda_folder needs its address. */
bool kf_cuda_load_watched(kf_cuda *cuda, char *text, size_t size);

#endif
