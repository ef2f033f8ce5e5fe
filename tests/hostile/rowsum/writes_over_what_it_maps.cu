// Writes to all that is mapped for sharing in its process: every set, guards, what it finds.
// rule: C4
// expect: contract_violation guard.broken | contract_violation input.mutated | crash runner.crashed
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static struct range {
    uintptr_t from, to;
} ranges[4096];
static int count;

/* The buffers lie after each other, each between two pages without access. */
static void find(uintptr_t near)
{
    uintptr_t at = near & ~(uintptr_t)4095;
    for (int steps = 0; steps < 65536 && count < 4096; steps++) {
        if (msync((void *)at, 4096, MS_ASYNC) == 0) ranges[count++] = {at, at + 4096};
        at -= 4096;
    }
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    find((uintptr_t)x);
    for (int i = 0; i < count; i++) {
        void *page = (void *)ranges[i].from;
        if (mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0) memset(page, 0x3f, 4096);
    }
    for (int64_t i = 0; i < rows; i++) s[i] = 0;
}
