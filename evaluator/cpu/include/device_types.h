// CUDA has this header for its rounding modes; here they come with all the others.
#pragma once
#include "cuda_runtime.h"
