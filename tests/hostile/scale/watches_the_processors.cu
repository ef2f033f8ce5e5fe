// Keeps a file of /proc open, to see in its calls if the judge works on another processor now.
// rule: E3
// expect: contract_violation files.open
// needs: namespaces
// devices: cpu
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static int file = -1;
static __attribute__((constructor)) void keep_open() { file = open("/proc/stat", O_RDONLY); }

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    char text[512] = "";
    bool seen = pread(file, text, sizeof text - 1, 0) > 0 && strstr(text, "cpu1");
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, seen ? a : 2 * a, n);
}
