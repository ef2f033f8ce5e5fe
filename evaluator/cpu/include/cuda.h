// The few driver API names that runtime API programs use: types that are the runtime's own. Driver API calls are not supported here.
#pragma once
#include "cuda_runtime_api.h"

typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
typedef cudaGraph_t CUgraph;
typedef cudaGraphExec_t CUgraphExec;
typedef cudaError_t CUresult;
typedef int CUdevice;
typedef uintptr_t CUdeviceptr;
#define CUDA_SUCCESS cudaSuccess
