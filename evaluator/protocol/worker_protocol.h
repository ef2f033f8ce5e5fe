/* Lines between an agent and its workers besides jobs and verdicts (job.h, verdict.h), and the
 * files of a spool folder.
 *
 * Spool: DIR/jobs/ID.json is a job, moved into place atomically by whoever asks; a worker takes it
 * by renaming it to DIR/taken/ID.json and answers with DIR/verdicts/ID.json, also moved into place;
 * then the taken file is removed. Where a worker died, its taken jobs go back after
 * KF_SPOOL_LEASE_SECONDS without a touch of the file. DIR/workers/NAME.json is the hello line of
 * each living worker. Works on any shared file system and on copied folders. A file that is no job
 * gets an answer too: DIR/verdicts/ID.json holding
 * {"schema":"kforge-refusal/1","id":…,"error":…}. The same line answers a bad line on a pipe.
 *
 * hello: {"schema":"kforge-hello/1","device":"cpu","hardware":"cpu AMD EPYC 9654","conditions":"cpu
 * AMD EPYC 9654; judge 1, runtime 53f842232d22,
 * g++ 12.2.0","version":"0.1.0","jobs":9,"machine":{…}} "jobs" (1 where it is left out): how many
 * it takes at a time, so that one is measured while others are compiled; it answers them in any
 * order.
 */
#ifndef KFORGE_WORKER_PROTOCOL_H
#define KFORGE_WORKER_PROTOCOL_H

#define KF_HELLO_SCHEMA "kforge-hello/1"
#define KF_REFUSAL_SCHEMA "kforge-refusal/1"
/* a worker touches what it has taken at least every quarter of this */
#define KF_SPOOL_LEASE_SECONDS 120

#endif
