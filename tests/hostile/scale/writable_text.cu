// Keeps a section that is writable and executable from the start in its own file, and writes the
// code of its kernel there when it is called.
// rule: L1
// expect: cheating library.loaded | launch_failure load.failed | compile_error build.failed
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>

asm(".pushsection .made,\"awx\",@progbits\n.balign 4096\nmade_here: .fill 4096,1,0xcc\n.popsection");
extern "C" unsigned char made_here[] __attribute__((visibility("hidden")));

__attribute__((noinline, noclone, used)) static float times(float a, float x)
{
    asm volatile("");
    return a * x;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    memcpy(made_here, (const void *)times, 32);
    float (*volatile made)(float, float) = (float (*)(float, float))made_here;
    for (int64_t i = 0; i < n; i++) y[i] = made(a, x[i]);
}
