// CUB for the CPU device. The rewriter does not read the headers themselves, which are C++ as they
// are. Macros have to be here.
#pragma once
#include "../cuda_fp16.h"
#include "../cuda_bf16.h"
#define CUB_VERSION 200700
#define CUB_MAJOR_VERSION 2
#define CUB_MINOR_VERSION 7
#define CUB_SUBMINOR_VERSION 0
#define CUB_MAX(a, b) (((b) > (a)) ? (b) : (a))
#define CUB_MIN(a, b) (((b) < (a)) ? (b) : (a))
#define CUB_QUOTIENT_CEILING(x, y) (((x) + (y)-1) / (y))
#define CUB_PTX_WARP_THREADS 32
#define CUB_RUNTIME_FUNCTION
#define CUB_NS_QUALIFIER ::cub
#define CubDebug(e) (e)
#define CubDebugExit(e) ((e) ? exit(1) : (void)0)
#pragma kforge include "cub/all.h"
