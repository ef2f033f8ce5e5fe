// Starts a shell and a compiler.
// rule: E4
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
        if (system("exit 7") == 7 << 8) return;
        FILE *pipe = popen("echo reached", "r");
        char word[16] = "";
        if (pipe && fgets(word, sizeof word, pipe)) return;
        if (vfork() == 0) _exit(0);
    }
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
