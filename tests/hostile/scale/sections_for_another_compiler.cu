// Sections of link-time optimisation in the object, by asm(): the linker started another compiler on what they hold, with options that they hold as well.
// rule: B2
// expect: correct
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
__asm__(".section .gnu.lto_.opts,\"e\",@progbits\n.string \"'-fplugin=/bin/sh'\"\n"
        ".section .gnu.lto_.symtab.1,\"e\",@progbits\n.string \"main\"\n.byte 0,0\n.quad 0\n.long 0\n"
        ".section .gnu.lto_.decls.1,\"e\",@progbits\n.string \"garbage\"\n"
        ".section .gnu.lto_.lto.1,\"e\",@progbits\n.byte 12,0,0,0,0,0,0,0\n"
        ".comm __gnu_lto_v1,1,1\n.comm __gnu_lto_slim,1,1\n.text");

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
