// kforge: tune BLOCK 64 128
#ifndef BLOCK
#define BLOCK 64
#endif
namespace { template <typename T> __device__ T twice(T value) { return value + value; } }
__global__ void scale(const float *__restrict__ in, float *out, long n)
{
    const long at = blockIdx.x * (long)BLOCK + threadIdx.x; /* mine */
    if (at < n) out[at] = twice(in[at]) * 0x1.8p1f + 'a' - R"(raw "text")"[0];
}
extern "C" void axpy(const float *x, float *y, long n, cudaStream_t stream)
{
    scale<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(x, y, n);
}
