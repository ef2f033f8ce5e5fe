/* A processor that does not sleep while something is timed. A process that is woken on one that
 * slept deeply comes 150 us later and is slow for some 60 more (docs/results/README.md). Two things
 * keep it awake:
 *
 * The kernel's own interface, PM QoS: a file that holds, for as long as it is open, the most
 * microseconds that waking may take on any processor (Linux,
 * Documentation/power/pm_qos_interface.rst). Root may open it, and whom it is given to. In a
 * virtual machine it may do nothing: a processor without anything to do is handed to the host
 * there, which wakes it as it pleases, or has something better to do.
 *
 * Where runners are seen to come late all the same, a thread on the processor that they launch from
 * (launch_cpu.h), which computes nothing under the policy SCHED_IDLE (sched(7)) for as long as all
 * of them are stopped. It rests before one is woken: policies are compared within a control group
 * or session, so that a runner, which has its own, waits for milliseconds behind such a thread now
 * and then. */
#ifndef KFORGE_WAKEFUL_H
#define KFORGE_WAKEFUL_H

#define KF_CPU_IDLE_GUARD_FILE "/dev/cpu_dma_latency"

typedef struct kf_cpu_idle_guard kf_cpu_idle_guard;

/* `processor`: of that thread; -1: there is to be none. NULL when memory is short: the functions
 * below accept that. All are called by one thread. */
kf_cpu_idle_guard *kf_cpu_idle_guard_new(int processor);
void kf_cpu_idle_guard_free(kf_cpu_idle_guard *idle_guard);

/* In between the processor is kept awake, and nowhere else. */
void kf_cpu_idle_guard_begin(kf_cpu_idle_guard *idle_guard);
void kf_cpu_idle_guard_end(kf_cpu_idle_guard *idle_guard);

/* A runner of the task's own took so long to wake. One in eight that come late are enough for a
 * thread. */
void kf_cpu_idle_guard_note(kf_cpu_idle_guard *idle_guard, double seconds);

/* A runner has been stopped, and none runs; one is about to be woken. */
void kf_cpu_idle_guard_keep(kf_cpu_idle_guard *idle_guard);
void kf_cpu_idle_guard_rest(kf_cpu_idle_guard *idle_guard);

#endif
