// For the conformance tests of the CPU device: a check that fails ends the program and names its
// line.
#pragma once
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

// The call has to return ERROR.
#define EXPECT(error, call)                                                                     \
    do {                                                                                        \
        cudaError_t got_ = (call);                                                              \
        if (got_ != (error)) {                                                                  \
            fprintf(stderr, "%s:%d: %s returned %s instead of %s\n", __FILE__, __LINE__, #call, \
                    cudaGetErrorName(got_), #error);                                            \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

#define OK(call) EXPECT(cudaSuccess, call)
