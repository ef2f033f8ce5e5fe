// A thread waits for another as a caller of vfork does, which no stop interrupts: the judge can't stop the process, and the machine is blamed.
// rule: E7
// expect: correct | contract_violation threads.left
// devices: cpu
#include <cuda_runtime.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static int child(void *)
{
    for (;;) usleep(1000000);
    return 0;
}
static void *waits(void *)
{
    char *stack = (char *)malloc(1 << 16);
    clone(child, stack + (1 << 16), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK, 0);
    return 0;
}
__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static int once;
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    if (!once++) {
        pthread_t t;
        pthread_create(&t, 0, waits, 0);
        usleep(10000);
    }
}
