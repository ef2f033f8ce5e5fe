/* A candidate to start from, with tunables: each thread takes ITEMS consecutive elements. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune THREADS 64 128 256 512
// kforge: tune ITEMS 1 2 4 8 64
// kforge: require THREADS * ITEMS <= 32768
#ifndef THREADS
#define THREADS 256
#endif
#ifndef ITEMS
#define ITEMS 4
#endif

__global__ void __launch_bounds__(THREADS) @ENTRY@_kernel(const float *__restrict__ x, float *__restrict__ y, int64_t n)
{
    int64_t begin = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * ITEMS;
    int64_t end = begin + ITEMS < n ? begin + ITEMS : n;
    for (int64_t i = begin; i < end; i++) y[i] = x[i] / (1.0f + expf(-x[i]));
}

extern "C" void @ENTRY@(const float *x, float *y, int64_t n, cudaStream_t stream)
{
    const int64_t span = (int64_t)THREADS * ITEMS;
    @ENTRY@_kernel<<<(unsigned)((n + span - 1) / span), THREADS, 0, stream>>>(x, y, n);
}
