// A thread asks for which of a hundred terabytes of pages are in memory: the kernel is busy with that for minutes, and no signal ends it, SIGKILL included.
// rule: E7
// expect: contract_violation threads.left
// devices: cpu
#include <cuda_runtime.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static void *works_on(void *)
{
    size_t size = (size_t)1 << 46, answers = size / 4096, part = 32 << 20;
    void *range = mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int file = open("/tmp/answers", O_RDWR | O_CREAT, 0600);
    char *answer = (char *)mmap(0, answers, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!ftruncate(file, (off_t)part)) /* the answers to all lie in the same memory */
        for (size_t at = 0; at < answers; at += part) mmap(answer + at, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    mincore(range, size, (unsigned char *)answer);
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
        usleep(20000);
    }
}
