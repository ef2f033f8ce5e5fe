// Each worker but the launching thread has a processor of its own, another than the one that kfcpu_ready takes the launching thread to; and that
// thread, with what it starts, may still run everywhere.
#include <pthread.h>
#include <sched.h>
#include "exec_check.h"

struct place {
    int processor;
    int launcher;
};

__device__ unsigned arrived;

__global__ void report(place *places, pthread_t launcher, unsigned blocks)
{
    // No worker does two blocks: each waits for all others.
    atomicAdd(&arrived, 1u);
    while (atomicAdd(&arrived, 0u) < blocks) continue;
    places[blockIdx.x].processor = sched_getcpu();
    places[blockIdx.x].launcher = pthread_equal(pthread_self(), launcher) != 0;
}

int main()
{
    cpu_set_t before, after;
    CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
    int workers = kfcpu_thread_count(), first = 0, launchers = 0;
    while (!CPU_ISSET(first, &before)) first++;
    kfcpu_ready();
    CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after));

    place *places = memory<place>(workers);
    report<<<workers, 1>>>(places, pthread_self(), workers);
    CHECK_CUDA(cudaDeviceSynchronize());
    cpu_set_t seen;
    CPU_ZERO(&seen);
    for (int i = 0; i < workers; i++) {
        launchers += places[i].launcher;
        if (places[i].launcher) continue;
        CHECK(places[i].processor != first && CPU_ISSET(places[i].processor, &before) && !CPU_ISSET(places[i].processor, &seen));
        CPU_SET(places[i].processor, &seen);
    }
    CHECK(launchers == 1);
    return result();
}
