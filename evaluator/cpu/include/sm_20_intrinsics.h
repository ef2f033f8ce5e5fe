// CUDA has this header for its intrinsics; here they come with all the others.
#pragma once
#include "cuda_runtime.h"
