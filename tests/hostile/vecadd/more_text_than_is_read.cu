// Macros make 40 MiB of text, more than kforge's own compiler driver reads, which then ends as where the machine lacks something.
// rule: B2
// expect: compile_error build.failed
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>

#define A "0123456789012345678901234567890123456789012345678901234567890123456789"
#define B A A A A A A A A A A
#define C B B B B B B B B B B
#define D C C C C C C C C C C
#define E D D D D D D D D D D
#define F E E E E E E E E E E
static const char *text = F F F F F F;

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
