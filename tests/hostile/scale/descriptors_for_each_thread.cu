// Threads that share no descriptors, each of which has epoll watch 2,000 files 2,000 times: what a user may have of such watches in all was used up within the
// candidate's time, and no other judge of that user's could start anything.
// rule: E6
// expect: correct
// devices: cpu
#include <cuda_runtime.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static int epolls[2][2000], files[2][2000];
static int watches(void *which)
{
    long k = (long)which;
    for (int i = 0; i < 2000; i++) epolls[k][i] = (int)syscall(SYS_epoll_create1, 0), files[k][i] = (int)syscall(SYS_eventfd2, 0, 0);
    for (int i = 0; i < 2000; i++)
        for (int j = 0; j < 2000; j++) {
            epoll_event event = {};
            if (syscall(SYS_epoll_ctl, epolls[k][i], EPOLL_CTL_ADD, files[k][j], &event)) break;
        }
    for (;;) syscall(SYS_pause);
    return 0;
}
__attribute__((constructor)) static void begin(void)
{
    for (long k = 0; k < 2; k++) {
        char *stack = (char *)malloc(1 << 16);
        clone(watches, stack + (1 << 16), CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, (void *)k);
    }
}
__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
