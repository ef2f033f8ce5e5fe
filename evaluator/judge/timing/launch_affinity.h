/* A runner's first thread on the processor that it is to launch from (launch_cpu.h), while its
 * batches are timed. */
#ifndef KFORGE_HOLD_H
#define KFORGE_HOLD_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct kf_launch_affinity {
    const cpu_set_t *launcher; /* NULL: nothing is bound */
    /* what the thread might use before it was bound; empty: it was not yet */
    cpu_set_t unbound;
    /* of /proc/PID/task, when its other threads were looked after last */
    nlink_t threads;
} kf_launch_affinity;

/* False: there is no launcher, or the system does not let it be bound. */
bool kf_launch_affinity_bind(kf_launch_affinity *hold, pid_t pid);

/* Threads of a bound process but its first, if there are others than before, may use what it might:
 * they inherit what it is bound to, and one that the driver starts to call the host would wait for
 * the first thread, which waits for it without sleeping. */
void kf_launch_affinity_free_threads(kf_launch_affinity *hold, pid_t pid);

/* A bound one has gone elsewhere of its own accord: it can still be bound there, and is again. */
bool kf_launch_affinity_left(kf_launch_affinity *hold, pid_t pid);

#endif
