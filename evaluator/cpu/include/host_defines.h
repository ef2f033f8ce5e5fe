// Ranges and attributes of host code: cuda_runtime.h has them all.
#pragma once
#include "cuda_runtime.h"
