/* Processors that do not sleep while something is timed. A process that is woken on one that slept deeply comes 150 us later and is slow for some 60 more
 * (docs/measurements/2026-11-23-h200.md). Two things keep them awake:
 *
 * The kernel's own interface, PM QoS: a file that holds, for as long as it is open, the most microseconds that waking may take (Linux,
 * Documentation/power/pm_qos_interface.rst). Root may open it, and whom it is given to. In a virtual machine it may do nothing: a processor without
 * anything to do is handed to the host there, which wakes it as it pleases, or has something better to do.
 *
 * Where runners are seen to come late all the same, a thread that computes nothing on the processor that a stopped runner was on, under the policy
 * SCHED_IDLE (sched(7)). It rests before the runner is woken: policies are compared within a control group or session, so that a runner, which has its own,
 * waits for milliseconds behind such a thread now and then; and there is none elsewhere, since half of a core is what a thread that computes nothing may
 * take of others. */
#ifndef KFORGE_WAKEFUL_H
#define KFORGE_WAKEFUL_H

#include <sys/types.h>

#define KF_WAKEFUL_FILE "/dev/cpu_dma_latency"

typedef struct kf_wakeful kf_wakeful;

/* NULL when memory is short: the functions below accept that. All are called by one thread. */
kf_wakeful *kf_wakeful_new(void);
void kf_wakeful_free(kf_wakeful *wakeful);

/* In between processors are kept awake, and nowhere else. */
void kf_wakeful_begin(kf_wakeful *wakeful);
void kf_wakeful_end(kf_wakeful *wakeful);

/* A runner took so long to wake. One in eight that come late are enough for threads. */
void kf_wakeful_note(kf_wakeful *wakeful, double seconds);

/* That process is stopped: the processor that its first thread was on is kept awake where that is needed. It is to be let go before it is woken; -1: none. */
int kf_wakeful_keep(kf_wakeful *wakeful, pid_t pid);
void kf_wakeful_let_go(kf_wakeful *wakeful, int processor);

#endif
