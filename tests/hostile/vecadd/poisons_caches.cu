// Leaves files where compilers and drivers keep theirs.
// rule: E8
// expect: correct
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static int calls;
    if (calls++ == 0) {
        for (const char *folder :
             {"/root/.nv", "/root/.cache", "/root/.cache/kforge", "/tmp/.nv", "/usr/local/cuda", "/usr/lib", "/usr/include"}) {
            char path[128];
            mkdir(folder, 0700);
            snprintf(path, sizeof path, "%s/kforge_poison", folder);
            int fd = open(path, O_CREAT | O_WRONLY, 0600);
            if (fd >= 0 && folder[1] == 'u') return; // the system's folders are not for writing
        }
        setenv("CUDA_CACHE_PATH", "/tmp/.nv", 1);
    }
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
