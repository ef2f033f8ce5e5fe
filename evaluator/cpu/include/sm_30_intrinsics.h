// CUDA has this header for its warp functions; here they come with all the others.
#pragma once
#include "cuda_runtime.h"
