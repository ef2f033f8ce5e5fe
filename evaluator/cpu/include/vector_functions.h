// make_float4 and its like come with the types.
#pragma once
#include "vector_types.h"
