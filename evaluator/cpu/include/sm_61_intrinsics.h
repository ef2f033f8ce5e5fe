// CUDA has this header for its dot products of bytes; here they come with all the others.
#pragma once
#include "cuda_runtime.h"
