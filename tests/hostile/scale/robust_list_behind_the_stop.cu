// Ends a thread with the call. The kernel then marks what its robust list names.
// rule: T13
// expect: contract_violation input.mutated | contract_violation threads.left | correct
// devices: cpu
#include <cuda_runtime.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A list of one futex after the other, each in a page of its own, so that walking it takes long. */
static const float *input;
static int64_t count;
static volatile int ready;

static void *ends(void *)
{
    enum { ENTRIES = 2000 };
    static struct robust_list links[ENTRIES];
    static struct robust_list_head head;
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    uint32_t *word = (uint32_t *)(uintptr_t)(input + count / 2);
    head.futex_offset = (long)((char *)word - (char *)&links[ENTRIES - 1]);
    for (int i = 0; i < ENTRIES; i++) links[i].next = i + 1 < ENTRIES ? &links[i + 1] : &head.list;
    head.list.next = &links[0];
    *word = self; /* the mark is set on a futex that the thread holds */
    syscall(SYS_set_robust_list, &head, sizeof head);
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
