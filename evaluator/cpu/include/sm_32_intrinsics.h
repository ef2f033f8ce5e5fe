// CUDA has this header for its cached loads; here they come with all the others.
#pragma once
#include "cuda_runtime.h"
