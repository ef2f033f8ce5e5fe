// A global constructor fills a constant table.
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
struct table {
    float values[256];
    table()
    {
        for (int i = 0; i < 256; i++) values[i] = 1.0f;
    }
};
static table cache_stream_exit_table; /* words that a scanner might fear */

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a * cache_stream_exit_table.values[n % 256], n);
}
