// Leaves threads of the lowest scheduling policy, which a busy machine lets run so seldom that they
// do not stop in time.
// rule: E7
// expect: contract_violation threads.left | timeout time.limit
// devices: cpu
#include <cuda_runtime.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>

static void *spin(void *)
{
    sched_param none = {};
    sched_setscheduler(0, SCHED_IDLE, &none);
    for (;;) asm volatile("pause");
    return nullptr;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static int started;
    for (int64_t i = 0; i < n; i++) y[i] = a * x[i];
    for (; started < 400; started++) {
        pthread_t thread;
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 32768);
        if (pthread_create(&thread, &small, spin, nullptr)) break;
    }
}
