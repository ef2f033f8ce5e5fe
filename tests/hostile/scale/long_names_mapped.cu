// Maps a file with a name of 255 line feeds 65,000 times. /proc/PID/maps writes each as four bytes.
// rule: E6
// expect: out_of_memory memory.limit
// devices: cpu
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((constructor)) static void begin()
{
    char name[512], line_feeds[256] = {0};
    const char *folder = getenv("TMPDIR");
    memset(line_feeds, '\n', 255);
    snprintf(name, sizeof name, "%s/%s", folder ? folder : "/tmp", line_feeds);
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    if (fd < 0) return;
    if (ftruncate(fd, 8192 * 4096l)) return;
    char *at = (char *)mmap(nullptr, 65000 * 4096ul, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    for (int i = 0; i < 65000; i++)
        mmap(at + i * 4096ul, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (i & 8191 ^ 1) * 4096l);
    close(fd);
}
__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
