// threadIdx, blockIdx, blockDim, gridDim: cuda_runtime.h declares them.
#pragma once
#include "cuda_runtime.h"
