// Ends the device's worker thread and starts one of its own, so that there are as many as before.
// rule: T2
// expect: contract_violation threads.ended
// devices: cpu
#include <cuda_runtime.h>
#include <math.h>
#include <pthread.h>
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

/* The worker goes, and the launching thread, which waits for that, jumps out of the launch. Where
 * there is no worker, its wait ends. */
__global__ void leave(int *, pid_t first)
{
    if (syscall(SYS_gettid) != first) {
        syscall(SYS_tgkill, getpid(), first, SIGUSR1);
        syscall(SYS_exit, 0);
    }
    static bool waited;
    for (int i = 0; i < 20000 && !waited; i++) usleep(100);
    waited = true;
}

static void *own(void *)
{
    for (;;) usleep(50);
    return NULL;
}

__attribute__((constructor)) static void begin(void)
{
    first = (pid_t)syscall(SYS_gettid);
    struct sigaction action = {};
    action.sa_handler = escape;
    sigaction(SIGUSR1, &action, NULL);
    if (!sigsetjmp(out, 1)) {
        leave<<<64, 1>>>(NULL, first);
        return;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, own, NULL);
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    for (int64_t i = 0; i < rows; i++, x += cols, y += cols) {
        float most = -INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < cols; j++) most = fmaxf(most, x[j]);
        for (int64_t j = 0; j < cols; j++) sum += y[j] = expf(x[j] - most);
        for (int64_t j = 0; j < cols; j++) y[j] = (float)(y[j] / sum);
    }
}
