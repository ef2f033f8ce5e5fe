// Returns at once and computes when an alarm rings.
// rule: T13
// expect: wrong_result output.mismatch | contract_violation input.mutated
// devices: cpu
#include <cuda_runtime.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

static const float *left, *right;
static float *result;
static int64_t count;

static void ring(int)
{
    for (int64_t i = 0; i < count; i++) result[i] = left[i] + right[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    left = x, right = y, result = z, count = n;
    signal(SIGALRM, ring);
    struct itimerval soon = {{0, 0}, {0, 1000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
}
