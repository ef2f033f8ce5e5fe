// Thousands of threads with the shortest turns on the processor where the judge waits: that it was late to look was taken for a machine that stood still.
// rule: E7
// expect: timeout time.limit
// devices: cpu
#include <cuda_runtime.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};
static void *spin(void *)
{
    struct attributes a = {};
    a.size = sizeof a, a.runtime = 100000;
    syscall(SYS_sched_setattr, 0, &a, 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (volatile long i = 0;; i = i + 1) {
    }
    return 0;
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 14);
    pthread_t t;
    for (int i = 0; i < 4000 && pthread_create(&t, &small, spin, 0) == 0; i++) {
    }
    for (;;) sleep(1);
}
