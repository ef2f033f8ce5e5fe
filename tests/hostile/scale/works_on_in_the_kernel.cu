// A thread has the kernel enter a terabyte of empty pages, which SIGSTOP does not interrupt: the judge can't stop the process, and the machine is blamed.
// rule: E7
// expect: timeout time.limit | contract_violation threads.left
// devices: cpu
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static void *works_on(void *)
{
    size_t size = (size_t)1 << 40;
    void *range = mmap(0, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(range, size, MADV_NOHUGEPAGE);
    madvise(range, size, 22); /* MADV_POPULATE_READ */
    for (;;) usleep(1000000);
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
        pthread_create(&t, 0, works_on, 0);
        usleep(10000);
    }
}
