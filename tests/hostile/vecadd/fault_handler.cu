// Makes the output inaccessible, to compute in the fault handler when it is read.
// rule: T13
// expect: wrong_result output.mismatch
// devices: cpu
#include <cuda_runtime.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

static const float *left, *right;
static float *result;
static int64_t count;

static void fault(int, siginfo_t *, void *)
{
    mprotect((void *)((uintptr_t)result & ~(uintptr_t)4095), (count * 4 + 8191) & ~(uintptr_t)4095, PROT_READ | PROT_WRITE);
    for (int64_t i = 0; i < count; i++) result[i] = left[i] + right[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    struct sigaction action = {};
    action.sa_sigaction = fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    left = x, right = y, result = z, count = n;
    mprotect((void *)((uintptr_t)z & ~(uintptr_t)4095), (n * 4 + 8191) & ~(uintptr_t)4095, PROT_NONE);
}
