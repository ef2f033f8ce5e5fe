// Writes to every folder that takes it until none does.
// rule: E6
// expect: correct | crash runner.crashed | out_of_memory memory.limit
#include <cuda_runtime.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <vector>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static bool tried;
    if (!tried) {
        tried = true;
        signal(SIGXFSZ, SIG_IGN);
        static char block[1 << 20];
        memset(block, 1, sizeof block);
        long written = 0;
        for (const char *folder : {"/tmp", "/dev/shm", "/var/tmp", "/run", "."})
            for (int file = 0; file < 4; file++) {
                char path[64];
                snprintf(path, sizeof path, "%s/filler%d", folder, file);
                int fd = open(path, O_CREAT | O_WRONLY, 0600);
                for (int i = 0; fd >= 0 && i < 128 && write(fd, block, sizeof block) == (ssize_t)sizeof block; i++) written++;
                if (fd >= 0) close(fd);
            }
        if (written > 300) return; // MiB: there is no limit
    }
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
