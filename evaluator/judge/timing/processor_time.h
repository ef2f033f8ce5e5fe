/* Processor time of another process. */
#ifndef KFORGE_PROCESSOR_TIME_H
#define KFORGE_PROCESSOR_TIME_H

#include <sys/types.h>

/* Returns the processor seconds of all threads of a process; 0 if unknown. Exact if none of them
 * runs: the kernel adds the time of a running thread at its next tick (up to 10 ms later), or when
 * the thread leaves its processor. */
double kf_processor_seconds(pid_t pid);

/* The same, exact also while threads run. Takes some microseconds, and one or two more for each
 * thread. */
double kf_processor_seconds_now(pid_t pid);

#endif
