// CUDA has this header for its atomic functions; here they come with all the others.
#pragma once
#include "cuda_runtime.h"
