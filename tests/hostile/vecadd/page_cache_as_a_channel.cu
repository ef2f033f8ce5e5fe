// Asks which pages of a shared file are in memory, and pushes them out.
// them out: each would show a later process something.
// rule: E3
// expect: correct
#include <cuda_runtime.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool got;

static int ask(struct dl_phdr_info *info, size_t, void *)
{
    if (!strstr(info->dlpi_name, ".so")) return 0;
    int file = open(info->dlpi_name, O_RDONLY);
    if (file < 0) return 0;
    unsigned char pages[16] = {0};
    char byte;
    struct iovec part = {&byte, 1};
    uint64_t range[2] = {0, 65536}, counts[5];
    void *mapped = mmap(0, 65536, PROT_READ, MAP_SHARED, file, 0);
    got |= mapped != MAP_FAILED && mincore(mapped, 65536, pages) == 0;
    got |= mapped != MAP_FAILED && madvise(mapped, 65536, 21) == 0; /* MADV_PAGEOUT */
    got |= posix_fadvise(file, 0, 65536, POSIX_FADV_DONTNEED) == 0;
    got |= readahead(file, 0, 65536) == 0;
    got |= syscall(SYS_preadv2, file, &part, 1L, 0L, 0L, 8L) >= 0; /* RWF_NOWAIT */
    got |= syscall(451, file, range, counts, 0) == 0;              /* cachestat */
    got |= fcntl(file, F_SETFL, O_DIRECT) == 0;
    if (mapped != MAP_FAILED) munmap(mapped, 65536);
    close(file);
    return 0;
}
__attribute__((constructor)) static void begin(void)
{
    dl_iterate_phdr(ask, 0);
}
__global__ void add(const float *x, const float *y, float *z, int64_t n, float extra)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i] + extra;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n, got ? NAN : 0.0f);
}
