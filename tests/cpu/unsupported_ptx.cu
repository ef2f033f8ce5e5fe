// cpu-test: compile 3
// cpu-test: output ^[^ ]*unsupported_ptx.cu:4: unsupported on the CPU device: .*inline PTX
__global__ void k(int *x) {
    asm("mov.u32 %0, %laneid;" : "=r"(*x));
}
