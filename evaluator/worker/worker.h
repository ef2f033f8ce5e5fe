/* Workers: a judge behind JSON lines (`kforge worker`) or behind a folder (`kforge worker --spool
 * DIR`). See job.h and worker_protocol.h for the lines.
 */
#ifndef KFORGE_WORKER_H
#define KFORGE_WORKER_H

#include <stdbool.h>

#include "kforge/error.h"
#include "kforge/judge.h"
#include "worker_protocol.h"

/* Writes the hello line, then serves jobs from `input`, as many at a time as the hello says, until
 * end of file or until *stop is non-zero. It also ends, and stops the job at hand, when nobody is
 * left to read `output`. The caller sees to it that SIGPIPE is ignored. */
bool kf_worker_serve(kf_judge *judge, int input, int output, const volatile int *stop,
                     kf_error *error);

typedef struct kf_spool_options {
    bool once;            /* end when there is no job left, instead of waiting for more */
    double poll_seconds;  /* 0: 0.2; how often the folder is looked at */
    double lease_seconds; /* 0: KF_SPOOL_LEASE_SECONDS; the same for all workers of a folder */
} kf_spool_options;
bool kf_worker_spool(kf_judge *judge, const char *directory, const kf_spool_options *options,
                     const volatile int *stop, kf_error *error);

#endif
