// The few names of the driver API that programs of the runtime API use: types that both share. The
// CPU device does not support calls of the driver API.
#pragma once
#define __cuda_cuda_h__
#include "cuda_runtime_api.h"

typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
typedef cudaGraph_t CUgraph;
typedef cudaGraphExec_t CUgraphExec;
typedef cudaError_t CUresult;
typedef int CUdevice;
typedef uintptr_t CUdeviceptr;
#define CUDA_SUCCESS cudaSuccess
