// What the conformance tests share: CHECK notes a failure with its line, `result` is the program's
// exit status.
#pragma once
#include <cuda_runtime.h>
#include <stdio.h>

static int failures;
#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition) && ++failures <= 10)                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    } while (0)
#define CHECK_NEAR(a, b, tolerance)                                                             \
    do {                                                                                        \
        double a_ = (a), b_ = (b);                                                              \
        if (!(a_ - b_ <= (tolerance) && b_ - a_ <= (tolerance)) && ++failures <= 10)            \
            fprintf(stderr, "%s:%d: %s is %.17g, not %.17g\n", __FILE__, __LINE__, #a, a_, b_); \
    } while (0)
#define CHECK_CUDA(call) CHECK((call) == cudaSuccess)
static int result()
{
    return failures ? 1 : 0;
}

// Memory that host and device see, filled with zeros.
template <class T> static T *memory(size_t count)
{
    T *p = nullptr;
    if (cudaMallocManaged(&p, count * sizeof(T)) != cudaSuccess) return nullptr;
    cudaMemset(p, 0, count * sizeof(T));
    cudaDeviceSynchronize();
    return p;
}
