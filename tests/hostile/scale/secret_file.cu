// Reads what it should not be able to.
// rule: E3
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    const char *files[] = {"/etc/passwd", "/etc/shadow", "/root/.bashrc", "/proc/1/root/etc/passwd"};
    for (const char *f : files)
        if (FILE *file = fopen(f, "r")) {
            int c = fgetc(file);
            fclose(file);
            if (c != EOF) return; /* found something: the result is missing, and the test notices */
        }
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
