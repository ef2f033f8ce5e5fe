/* Workers: a judge behind JSON lines (`kforge worker`) or behind a folder (`kforge worker --spool DIR`). See job.h for the lines.
 *
 * Spool: DIR/jobs/ID.json is a job, moved into place atomically by whoever asks; a worker takes it by renaming it to DIR/taken/ID.json and
 * answers with DIR/verdicts/ID.json, also moved into place; then the taken file is removed. Where a worker died, its taken jobs go back after
 * KF_SPOOL_LEASE_SECONDS without a touch of the file. DIR/workers/NAME.json is the hello line of each living worker. Works on any shared
 * file system and on copied folders. A file that is no job gets an answer too: DIR/verdicts/ID.json holding
 * {"schema":"kforge-refusal/1","id":…,"error":…}. The same line answers a bad line on a pipe.
 *
 * hello: {"schema":"kforge-hello/1","device":"cpu","hardware":"cpu AMD EPYC 9654","conditions":"cpu AMD EPYC 9654; judge 1, runtime 53f842232d22, g++ 12.2.0","version":"0.1.0","jobs":9,"machine":{…}}
 * "jobs" (1 where it is left out): how many it takes at a time, so that one is measured while others are compiled; it answers them in any order.
 */
#ifndef KFORGE_WORKER_H
#define KFORGE_WORKER_H

#include <stdbool.h>

#include "kforge/error.h"
#include "kforge/judge.h"

#define KF_HELLO_SCHEMA "kforge-hello/1"
#define KF_REFUSAL_SCHEMA "kforge-refusal/1"
#define KF_SPOOL_LEASE_SECONDS 120 /* a worker touches what it has taken at least every quarter of this */

/* Writes the hello line, then serves jobs from `input`, as many at a time as the hello says, until end of file or until *stop is non-zero. It also ends, and
 * stops the job at hand, when nobody is left to read `output`. The caller sees to it that SIGPIPE is ignored. */
bool kf_worker_serve(kf_judge *judge, int input, int output, const volatile int *stop, kf_error *error);

typedef struct kf_spool_options {
    bool once;            /* end when there is no job left, instead of waiting for more */
    double poll_seconds;  /* 0: 0.2; how often the folder is looked at */
    double lease_seconds; /* 0: KF_SPOOL_LEASE_SECONDS; the same for all workers of a folder */
} kf_spool_options;
bool kf_worker_spool(kf_judge *judge, const char *directory, const kf_spool_options *options, const volatile int *stop,
                     kf_error *error);

#endif
