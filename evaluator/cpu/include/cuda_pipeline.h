// The C++ pipeline of libcu++ is not supported; the primitives are.
#pragma once
#include "cuda_pipeline_primitives.h"
