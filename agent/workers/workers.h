/* Workers as the agent sees them: jobs in, verdicts out, whatever machine judges. Nothing here
 * loads or judges a candidate.
 *
 * A spec says where workers come from; several may be given:
 *   local, local*N       this very program as `kforge worker`; N of them disturb each other's
 * timing unless each has a device of its own COMMAND, COMMAND*N   /bin/sh -c COMMAND, which speaks
 * JSON lines (job.h, worker.h) on stdin and stdout: 'ssh host kforge worker', 'srun -N1
 * --gres=gpu:1 kforge worker'*8; × may be written for * spool:DIR, …*N       workers that read DIR
 * (worker.h), whenever they come; N jobs (default 1) are in DIR at a time
 *
 * A worker's hello says how many jobs it takes at a time: it measures one and compiles others. It
 * may answer them in any order.
 *
 * A worker that ends, writes what is no answer, or keeps silent for too long is killed and started
 * again, later each time; after KF_WORKER_LIVES failures with no verdict between them it is given
 * up. Its job goes to the next free worker; a job that KF_JOB_DEATHS workers failed with is lost.
 * Of several jobs at hand nobody knows which it was: each is then tried alone. An answer counts
 * only when it is for the job that was asked: id, task and source have to agree.
 *
 * A job that a worker's machine failed with is done by another worker where there is one; a worker
 * whose machine failed KF_MACHINE_FAILURES jobs in a row is given up, and its jobs go to the
 * others. With none left kf_workers_wait says why.
 *
 * Every worker is a process group of its own, so that Ctrl-C at a terminal does not reach it, and
 * dies with the process that started it. Nothing blocks longer than asked. An object belongs to one
 * thread.
 */
#ifndef KFORGE_WORKERS_H
#define KFORGE_WORKERS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/job.h"
#include "kforge/verdict.h"

#define KF_WORKER_LIVES 4
#define KF_JOB_DEATHS 2
#define KF_WORKERS_MAX 256
#define KF_WORKER_JOBS 64 /* most jobs that one worker may say it takes at a time */
#define KF_WORKERS_LISTENED 256

typedef struct kf_workers kf_workers;

typedef struct kf_workers_options {
    const char *device;         /* for `local`: --device; NULL: what the worker finds */
    const char *const *devices; /* for `local`: one worker on each of these instead; NULL: none */
    size_t device_count;
    const char *program;  /* for `local`: the program; NULL: this very one */
    double grace_seconds; /* a job may take so much longer than its own limits allow; 0: 60 */
} kf_workers_options;

typedef enum kf_workers_outcome {
    KF_WORKERS_JUDGED,
    KF_WORKERS_REFUSED, /* the worker says that this is no job for it */
    KF_WORKERS_LOST,    /* KF_JOB_DEATHS workers failed with it */
} kf_workers_outcome;

typedef struct kf_workers_result {
    int64_t ticket;
    kf_workers_outcome outcome;
    kf_verdict *verdict; /* JUDGED */
    char *json;          /* JUDGED: its text as it came */
    size_t json_size;
    kf_error error; /* otherwise */
} kf_workers_result;

/* Cuts "*N" or "×N" off the end of a spec; *times is N, or 1. */
bool kf_workers_times(char *spec, size_t *times, kf_error *error);
/* Starts the workers. They may say hello much later (a queue, a folder nobody reads yet): see
 * kf_workers_hardware. */
kf_workers *kf_workers_open(const char *const *specs, size_t count,
                            const kf_workers_options *options, kf_error *error);
/* Ends them all, finished or not, and waits for them. */
void kf_workers_close(kf_workers *workers);
KF_DEFINE_AUTO(kf_workers, kf_workers_close)

/* What the first worker that said hello judges with, in words and as a device ("cpu", "cuda:0");
 * NULL as long as none has. A worker with other hardware, rules, runtime or compiler is given up,
 * since its times can't be compared. */
const char *kf_workers_hardware(const kf_workers *workers);
/* The same with the judge's rules, runtime and compiler (kf_judge_environment_id): what verdicts
 * are stored under. */
const char *kf_workers_environment_id(const kf_workers *workers);
const char *kf_workers_device(const kf_workers *workers);
/* For a run that goes on: only workers that judge under these conditions are welcome. */
bool kf_workers_expect(kf_workers *workers, const char *environment_id);

/* How many more jobs can be worked on at once, those that a worker only compiles while it measures
 * another included. */
size_t kf_workers_room(const kf_workers *workers);
/* How many jobs can be worked on at a time by those that are there: kf_workers_room when none is in
 * flight. */
size_t kf_workers_capacity(const kf_workers *workers);
/* How many were given up since their machine failed KF_MACHINE_FAILURES jobs in a row
 * (kforge/faults.h). */
size_t kf_workers_worn(const kf_workers *workers);
/* How often a worker was turned away since it judges under other conditions. */
size_t kf_workers_strangers(const kf_workers *workers);
/* Those that have not said hello yet, or are started again. */
size_t kf_workers_absent(const kf_workers *workers);
size_t kf_workers_in_flight(const kf_workers *workers);
/* How many workers there are that measure. */
size_t kf_workers_devices(const kf_workers *workers);
/* With fewer jobs than that a device may be idle: one for each worker, half of the places in a
 * folder, where jobs also wait for one to come. */
size_t kf_workers_least_jobs(const kf_workers *workers);
/* Hands a job over (copied); it waits here when no worker is free. The id has to be new in this
 * object. */
bool kf_workers_submit(kf_workers *workers, const kf_job *job, int64_t ticket, kf_error *error);
/* Waits up to `seconds` for a finished job or the first hello. 1: *result is filled (release it);
 * 0: nothing yet, or a signal came; -1: no worker is left, *error says why the last one was given
 * up. */
int kf_workers_wait(kf_workers *workers, double seconds, kf_workers_result *result,
                    kf_error *error);
/* The next kf_workers_wait returns 0, too, when one of these descriptors is ready, or at `wake`
 * (kf_now). */
void kf_workers_listen(kf_workers *workers, const struct pollfd *fds, size_t count, double wake);
void kf_workers_result_free(kf_workers_result *result);
/* Takes back jobs that no worker has begun; their tickets, at most `most`. */
size_t kf_workers_withdraw(kf_workers *workers, int64_t *tickets, size_t most);
/* A line about the last worker that failed or was given up since the last call; NULL when there is
 * none. Borrowed until the next call. */
const char *kf_workers_news(kf_workers *workers);

#endif
