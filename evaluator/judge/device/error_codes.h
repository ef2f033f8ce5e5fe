/* CUDA's error numbers, which driver and runtime share, and the status that each gives a
 * candidate. */
#ifndef KFORGE_ERROR_CODES_H
#define KFORGE_ERROR_CODES_H

#include "kforge/verdict.h"

kf_status kf_cuda_error_status(int code, const char **name);
/* True for an error of the GPU, the driver or the system, not of a program. A candidate's runner
 * can forge the number, so it is no proof. */
bool kf_cuda_error_is_machine(int code);

#endif
