// Hundreds of threads read past the page cache, where no stop interrupts them.
// rule: E7
// expect: contract_violation threads.left | timeout time.limit | crash runner.crashed
#include <cuda_runtime.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char files[8][256];
static int file_count;

static int note(struct dl_phdr_info *info, size_t, void *)
{
    bool library = strstr(info->dlpi_name, ".so") != NULL;
    if (file_count < 8 && library) strncpy(files[file_count++], info->dlpi_name, 255);
    return 0;
}
static void *reads(void *number)
{
    void *block = NULL;
    if (!file_count || posix_memalign(&block, 4096, 1 << 16)) return 0;
    for (;;) {
        int file = open(files[(uintptr_t)number % file_count], O_RDONLY | O_DIRECT);
        off_t at = 0;
        while (file >= 0 && pread(file, block, 1 << 16, at) > 0) at += 1 << 16;
        if (file >= 0) close(file);
        if (file < 0) usleep(10000);
    }
}
__attribute__((constructor)) static void begin(void)
{
    dl_iterate_phdr(note, 0);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 15);
    for (uintptr_t i = 0; i < 400; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, reads, (void *)i)) break;
    }
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
