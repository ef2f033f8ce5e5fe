/* Lines between an agent and its workers besides jobs and verdicts (job.h, verdict.h), and the
 * files of a spool folder.
 *
 * Spool folder DIR:
 *   jobs/ID.json       a job. The agent moves it into place atomically.
 *   taken/ID.json      the job, after a worker has taken it by rename(). The worker removes the
 * file after its answer. If the file is not touched for KF_SPOOL_LEASE_SECONDS, another worker
 * moves it back to jobs/. verdicts/ID.json   the answer, moved into place atomically.
 *   workers/NAME.json  the hello line of each living worker.
 * It works on any shared file system, and on copied folders.
 *
 * Refusal: {"schema":"kforge-refusal/1","id":…,"error":…} answers a file or a line that is no job.
 *
 * Hello: {"schema":"kforge-hello/1","device":"cpu","hardware":"cpu AMD EPYC 9654",
 * "conditions":"cpu AMD EPYC 9654; judge 1, runtime 53f842232d22, g++ 12.2.0","version":"0.1.0",
 * "jobs":9,"machine":{…}}. "jobs" (default 1) is how many jobs the worker takes at a time: it
 * measures one while it compiles others. It answers them in any order. "alive":true says that it
 * writes signs of life for jobs that ask for them (job.h).
 *
 * Cancel, from the agent: {"schema":"kforge-cancel/1","id":…}. The worker stops that job, whatever
 * it does with it, and answers it with a refusal. A job that was answered meanwhile is no fault.
 * "cancel":true in the hello says that the worker understands it.
 *
 * Sign of life: {"schema":"kforge-alive/1","id":…,"doing":"compiling"}, or "measuring", or
 * the judge's step in words ("timing large, 2 of 3"). It is about one of the worker's jobs. A
 * worker also writes one when the step changes, and when it begins a job. An agent that missed
 * KF_ALIVE_MISSED of them gives the worker up.
 */
#ifndef KFORGE_WORKER_PROTOCOL_H
#define KFORGE_WORKER_PROTOCOL_H

#define KF_HELLO_SCHEMA "kforge-hello/1"
#define KF_REFUSAL_SCHEMA "kforge-refusal/1"
#define KF_ALIVE_SCHEMA "kforge-alive/1"
#define KF_CANCEL_SCHEMA "kforge-cancel/1"
/* Seconds between two signs of life that an agent asks for, and how many may be missing. */
#define KF_ALIVE_SECONDS 5.0
#define KF_ALIVE_MISSED 3
/* A worker touches its taken files at least once in each quarter of this. */
#define KF_SPOOL_LEASE_SECONDS (KF_ALIVE_SECONDS * KF_ALIVE_MISSED)

#endif
