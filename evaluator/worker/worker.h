/* Workers: a judge behind JSON lines (`kforge worker`) or behind a folder (`kforge worker --spool
 * DIR`). job.h, verdict.h and worker_protocol.h have the formats.
 */
#ifndef KFORGE_WORKER_H
#define KFORGE_WORKER_H

#include <stdbool.h>

#include "event_stream.h"
#include "kforge/error.h"
#include "kforge/judge.h"
#include "worker_protocol.h"

/* Writes the hello line and serves jobs from `input`, until end of file or until *stop is non-zero.
 * It also ends, and stops the measured job, if `output` has no reader any more. The caller must
 * ignore SIGPIPE. `events` gets an event for each verdict; or NULL. */
bool kf_worker_serve(kf_judge *judge, int input, int output, const volatile int *stop,
                     kf_event_stream *events, kf_error *error);

typedef struct kf_spool_options {
    /* True: end when no job is left. False: wait for more jobs. */
    bool once;
    /* Seconds between two looks into the folder. 0: 0.2. */
    double poll_seconds;
    /* Must be the same for all workers of a folder. 0: KF_SPOOL_LEASE_SECONDS. */
    double lease_seconds;
    /* Gets an event for each verdict; or NULL. */
    kf_event_stream *events;
} kf_spool_options;
/* Serves jobs from a spool folder. Ends as kf_worker_serve does. */
bool kf_worker_spool(kf_judge *judge, const char *directory, const kf_spool_options *options,
                     const volatile int *stop, kf_error *error);

#endif
