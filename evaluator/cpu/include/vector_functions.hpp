// CUDA has this name too; everything is in vector_types.h.
#pragma once
#include "vector_types.h"
