// Thrust for the CPU device. The rewriter does not read the headers themselves, which are C++ as
// they are. Macros have to be here.
#pragma once
#include "../cuda_fp16.h"
#include "../cuda_bf16.h"
#define THRUST_VERSION 200700
#define THRUST_MAJOR_VERSION 2
#define THRUST_MINOR_VERSION 7
#define THRUST_SUBMINOR_VERSION 0
#pragma kforge include "thrust/ordering.h"
