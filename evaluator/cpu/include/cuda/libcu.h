// libcu++ for the CPU device. alias_headers.txt gives it the names that candidates include.
#pragma once
#include "../cooperative_groups.h"
#define _LIBCUDACXX_CUDA_API_VERSION 2007000
#pragma kforge include "cuda/all.h"
