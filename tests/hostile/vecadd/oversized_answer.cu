// Writes a megabyte into the judge's socket.
// rule: E9
// expect: cheating protocol.forged | timeout time.limit
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static char noise[1 << 20];
    memset(noise, 0x66, sizeof noise);
    send(3, noise, sizeof noise, MSG_DONTWAIT);
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
