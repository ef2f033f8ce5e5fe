// Asks for other scheduling than the other side has: slices of 0.1 ms, a batch policy, a priority.
// rule: T14
// expect: correct
#include <cuda_runtime.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};
static bool got;

__attribute__((constructor)) static void ask(void)
{
    attributes slices = {sizeof slices, SCHED_OTHER, 0, 0, 0, 100000, 0, 0};
    sched_param none = {};
    got |= syscall(SYS_sched_setattr, 0, &slices, 0) == 0;
    got |= sched_setscheduler(0, SCHED_BATCH, &none) == 0;
    got |= sched_setparam(0, &none) == 0;
    got |= setpriority(PRIO_PROCESS, 0, 19) == 0;
    got |= syscall(SYS_ioprio_set, 1, 0, 3 << 13) == 0;
}
__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    ask();
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, got ? NAN : a, n);
}
