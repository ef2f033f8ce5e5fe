/* Binds a runner's first thread to the processor that it launches from (launch_cpu.h), while its
 * batches are timed. */
#ifndef KFORGE_LAUNCH_AFFINITY_H
#define KFORGE_LAUNCH_AFFINITY_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct kf_launch_affinity {
    /* NULL: no thread is bound */
    const cpu_set_t *launcher;
    /* the processors of the thread before it was bound; empty if it has not been */
    cpu_set_t unbound;
    /* links of /proc/PID/task when kf_launch_affinity_free_threads last changed other threads */
    nlink_t threads;
} kf_launch_affinity;

/* Binds the thread. False without a launcher, or if the system forbids it. */
bool kf_launch_affinity_bind(kf_launch_affinity *affinity, pid_t pid);

/* Lets all other threads of a bound process use its former processors, if their number changed.
 * They inherit the binding. A thread that the driver starts for calls to the host would then wait
 * for the first thread, which waits for it without sleeping. */
void kf_launch_affinity_free_threads(kf_launch_affinity *affinity, pid_t pid);

/* True if the bound thread had moved itself to other processors. Binds it again. */
bool kf_launch_affinity_left(kf_launch_affinity *affinity, pid_t pid);

#endif
