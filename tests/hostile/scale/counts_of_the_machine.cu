// Has the assembler include /proc/stat: right or wrong by the machine's count of context switches.
// rule: B1
// expect: compile_error build.failed
// needs: landlock
#include <cuda_runtime.h>
#include <stdint.h>

__asm__(".macro nothing name\n.macro \\name all:vararg\n.endm\n.endm\n"
        ".irp name,cpu,cpu0,cpu1,cpu2,cpu3,intr,btime,processes\n nothing \\name\n.endr\n"
        ".irp name,procs_running,procs_blocked,softirq\n nothing \\name\n.endr\n"
        ".macro ctxt n\n.data\n.globl luck\nluck: .quad \\n\n.text\n.endm\n"
        ".include \"/proc/stat\"\n");
extern "C" long luck;

extern "C" __global__ void scale_all(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    scale_all<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, luck % 2 ? a : 2 * a, n);
}
