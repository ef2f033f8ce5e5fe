/* Keeps a processor from sleeping while something is timed. A process that is woken on a processor
 * in deep sleep starts 150 us later, and is slow for about 60 us more (docs/results/README.md). Two
 * means keep it awake:
 *
 * The kernel's interface PM QoS: while this file is open, it limits the microseconds that waking
 * may take on any processor (Linux, Documentation/power/pm_qos_interface.rst). Root may open it,
 * and users with rights on the file. In a virtual machine it may have no effect: an idle processor
 * goes back to the host, which wakes it when it likes.
 *
 * A thread on the processor that runners launch from (launch_cpu.h), started once runners are seen
 * to wake late all the same. It computes under the policy SCHED_IDLE (sched(7)) while all runners
 * are stopped. It rests before one is woken. A runner has a control group or session of its own,
 * and policies only count within one, so it would sometimes wait milliseconds for that thread. */
#ifndef KFORGE_CPU_IDLE_GUARD_H
#define KFORGE_CPU_IDLE_GUARD_H

#define KF_CPU_IDLE_GUARD_FILE "/dev/cpu_dma_latency"

typedef struct kf_cpu_idle_guard kf_cpu_idle_guard;

/* Makes a guard. `processor`: for its thread; -1 for no thread. Returns NULL without memory, which
 * the functions below accept. One thread calls them all. */
kf_cpu_idle_guard *kf_cpu_idle_guard_new(int processor);
void kf_cpu_idle_guard_free(kf_cpu_idle_guard *idle_guard);

/* Keeps the processor awake from the first call to the second, and at no other time. */
void kf_cpu_idle_guard_begin(kf_cpu_idle_guard *idle_guard);
void kf_cpu_idle_guard_end(kf_cpu_idle_guard *idle_guard);

/* Notes how long one of the task's own runners took to wake. If one in eight is late, the guard
 * starts its thread. */
void kf_cpu_idle_guard_note(kf_cpu_idle_guard *idle_guard, double seconds);

/* Call the first after a runner has been stopped, while all are, and the second before one is
 * woken. */
void kf_cpu_idle_guard_keep(kf_cpu_idle_guard *idle_guard);
void kf_cpu_idle_guard_rest(kf_cpu_idle_guard *idle_guard);

#endif
