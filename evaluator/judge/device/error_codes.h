/* CUDA's error numbers, which driver and runtime share, and what each says of a candidate. */
#ifndef KFORGE_ERROR_CODES_H
#define KFORGE_ERROR_CODES_H

#include "kforge/verdict.h"

kf_status kf_cuda_error_status(int code, const char **name);
/* Is it an error of GPU, driver or system, and of no program? A candidate's runner may say so of
 * itself, too: that alone clears nobody. */
bool kf_cuda_error_is_machine(int code);

#endif
