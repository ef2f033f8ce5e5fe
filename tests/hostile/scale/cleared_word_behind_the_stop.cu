// Ends a thread with the call. The word that the kernel clears then lies in the input.
// rule: T13
// expect: contract_violation input.mutated | contract_violation threads.left | correct
// devices: cpu
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static const float *input;
static int64_t count;
static volatile int ready;

static void *ends(void *)
{
    syscall(SYS_set_tid_address, input + count / 2);
    ready = 1;
    syscall(SYS_exit, 0);
    return 0;
}
__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    cudaStreamSynchronize(stream);
    input = x, count = n, ready = 0;
    pthread_t thread;
    if (pthread_create(&thread, 0, ends, 0)) return;
    pthread_detach(thread);
    while (!ready) continue;
}
