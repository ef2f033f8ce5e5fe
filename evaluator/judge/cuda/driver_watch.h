/* Notices a driver that does not answer any more (kforge/gpu.h): each function of a loaded driver
 * is replaced by one that is watched. */
#ifndef KFORGE_DRIVER_WATCH_H
#define KFORGE_DRIVER_WATCH_H

#include "driver_cuda.h"

/* As kf_cuda_load. Later calls of cuInit alone are not watched: by its address the driver's folder
 * is found. */
bool kf_cuda_load_watched(kf_cuda *cuda, char *text, size_t size);

#endif
