// Ends the device's worker thread in a call. What the kernel writes then may come late.
// rule: T13
// expect: contract_violation threads.ended | timeout time.limit | crash runner.crashed
// devices: cpu
#include <cuda_runtime.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t first;
static sigjmp_buf out;

static void escape(int)
{
    siglongjmp(out, 1);
}
__global__ void leave(float *y, pid_t first)
{
    if (syscall(SYS_gettid) != first) {
        syscall(SYS_set_tid_address, y);
        syscall(SYS_tgkill, getpid(), first, SIGUSR1);
        syscall(SYS_exit, 0);
    }
    for (volatile long i = 0; i < 20000000; i++) {
    }
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static int calls;
    for (int64_t i = 0; i < n; i++) y[i] = a * x[i];
    if (calls++ != 2) return;
    first = (pid_t)syscall(SYS_gettid);
    struct sigaction action = {};
    action.sa_handler = escape;
    sigaction(SIGUSR1, &action, NULL);
    if (!sigsetjmp(out, 1)) leave<<<64, 1, 0, stream>>>(y + n / 2, first);
}
