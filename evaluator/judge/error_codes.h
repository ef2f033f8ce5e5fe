/* CUDA's error numbers, which driver and runtime share, and what each says of a candidate. */
#ifndef KFORGE_ERROR_CODES_H
#define KFORGE_ERROR_CODES_H

#include "kforge/verdict.h"

kf_status kf_cuda_error_status(int code, const char **name);

#endif
