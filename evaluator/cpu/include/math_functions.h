// CUDA has this header for its mathematics; here they come with all the others.
#pragma once
#include "cuda_runtime.h"
