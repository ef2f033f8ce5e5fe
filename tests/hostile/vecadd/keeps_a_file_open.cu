// Opens a library while it is loaded and keeps it open, to read from the disk in calls.
// rule: E3
// expect: contract_violation files.open
// needs: namespaces
// devices: cpu
#include <cuda_runtime.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static int file = -1;

static int open_one(struct dl_phdr_info *info, size_t, void *)
{
    if (file < 0 && strstr(info->dlpi_name, "libc.so")) file = open(info->dlpi_name, O_RDONLY);
    return 0;
}
__attribute__((constructor)) static void begin(void)
{
    dl_iterate_phdr(open_one, 0);
}
__global__ void add(const float *x, const float *y, float *z, int64_t n, float extra)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i] + extra;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    bool got = false;
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n, got ? NAN : 0.0f);
}
