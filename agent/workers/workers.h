/* The agent's side of the workers: jobs in, verdicts out. It neither loads nor judges candidates.
 *
 * A spec says which workers to use. Several may be given:
 *   local, local*N
 *       This program as `kforge worker`, N times. On one device several workers disturb each
 * other's timing. COMMAND, COMMAND*N /bin/sh -c COMMAND, which speaks JSON lines (job.h, worker.h)
 * on stdin and stdout: 'ssh host kforge worker', 'srun -N1 --gres=gpu:1 kforge worker'*8. × works
 * as *. spool:DIR, spool:DIR*N Workers that read the folder DIR (worker.h), now or later. N jobs
 * (default 1) are in DIR at a time. The hello of a worker says how many jobs it takes at a time: it
 * measures one and compiles others. It may answer them in any order.
 *
 * A worker that ends, writes an invalid answer, exceeds its time limit or shows no sign of life is
 * killed and started again, each time after a longer pause. After KF_WORKER_LIVES failures without
 * a verdict between them it is given up. Its job goes to the next free worker. A job is lost after
 * KF_JOB_DEATHS workers failed with it. A worker that a signal stopped does not count for that, nor
 * do KF_JOB_KILLS workers that SIGKILL ended. If a worker had several jobs, each of them is then
 * tried alone. An answer counts only if its id, task and source are those of the job.
 *
 * If a worker's machine failed with a job, another worker gets the job. A worker is given up after
 * its machine failed with KF_MACHINE_FAILURES jobs in a row. Other workers then get its jobs. When
 * no worker is left, kf_workers_wait gives the reason.
 *
 * Each worker is a process group of its own, so Ctrl-C at a terminal does not reach it. It ends
 * with the process that started it. No call waits longer than its limit. An object belongs to one
 * thread. */
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
#define KF_JOB_DEATHS 3
#define KF_JOB_KILLS 8
#define KF_WORKERS_MAX 256
/* Limit of the jobs that a hello may announce. */
#define KF_WORKER_JOBS 64
#define KF_WORKERS_LISTENED 256

typedef struct kf_workers kf_workers;

typedef struct kf_workers_options {
    /* For `local`: --device. NULL: the worker's default. */
    const char *device;
    /* For `local`: one worker for each of these. NULL: `device` counts. */
    const char *const *devices;
    size_t device_count;
    /* For `local`: the program. NULL: this program. */
    const char *program;
    /* Seconds that a job may exceed its own limits. 0: 60. */
    double grace_seconds;
    /* Seconds between two signs of life that workers are asked for. 0: KF_ALIVE_SECONDS. */
    double alive_seconds;
} kf_workers_options;

typedef enum kf_workers_outcome {
    KF_WORKERS_JUDGED,
    /* The worker does not accept the job. */
    KF_WORKERS_REFUSED,
    /* KF_JOB_DEATHS workers failed with it. */
    KF_WORKERS_LOST,
} kf_workers_outcome;

typedef struct kf_workers_result {
    int64_t ticket;
    kf_workers_outcome outcome;
    /* For JUDGED. */
    kf_verdict *verdict;
    /* For JUDGED: the verdict as it came. */
    char *json;
    size_t json_size;
    /* For the other outcomes. */
    kf_error error;
} kf_workers_result;

/* Cuts "*N" or "×N" off the end of a spec. *times is N, or 1. */
bool kf_workers_times(char *spec, size_t *times, kf_error *error);
/* True if this machine judges with these workers. */
bool kf_workers_here(const char *const *specs, size_t count);
/* Starts the workers. Their hellos may come much later, from a batch queue for example. See
 * kf_workers_hardware. */
kf_workers *kf_workers_open(const char *const *specs, size_t count,
                            const kf_workers_options *options, kf_error *error);
/* Ends all workers, even with jobs, and waits for them. */
void kf_workers_close(kf_workers *workers);
KF_DEFINE_AUTO(kf_workers, kf_workers_close)

/* Returns the hardware of the first hello, in words, and its device ("cpu", "cuda:0"). NULL before
 * the first hello. A worker with other hardware, protocol, runtime or compiler is given up: its
 * times can't be compared. */
const char *kf_workers_hardware(const kf_workers *workers);
/* Returns the hardware with the judge's protocol, runtime and compiler (kf_judge_environment_id).
 * Verdicts are stored under it. */
const char *kf_workers_environment_id(const kf_workers *workers);
const char *kf_workers_device(const kf_workers *workers);
/* Accepts only workers with this environment. For a resumed run. */
bool kf_workers_expect(kf_workers *workers, const char *environment_id);

/* Returns how many more jobs workers can take now. A worker compiles some of them while it measures
 * another. */
size_t kf_workers_room(const kf_workers *workers);
/* Returns how many jobs the present workers can take at a time: kf_workers_room with no job in
 * flight. */
size_t kf_workers_capacity(const kf_workers *workers);
/* Returns how many workers were given up because their machine failed KF_MACHINE_FAILURES jobs in a
 * row (machine_failures.h). */
size_t kf_workers_retired(const kf_workers *workers);
/* Returns how often a worker was rejected because of another environment. */
size_t kf_workers_rejected(const kf_workers *workers);
/* Returns how many workers have not sent a hello yet, or are being restarted. */
size_t kf_workers_absent(const kf_workers *workers);
size_t kf_workers_in_flight(const kf_workers *workers);
/* Returns the number of workers that measure. */
size_t kf_workers_devices(const kf_workers *workers);
/* Returns the number of jobs below which a device may be idle: one for each worker, and half of the
 * jobs of a folder, where some wait for a worker. */
size_t kf_workers_least_jobs(const kf_workers *workers);
/* Copies a job and hands it over. It waits in the queue until a worker is free. Its id must be new
 * in this object. */
bool kf_workers_submit(kf_workers *workers, const kf_job *job, int64_t ticket, kf_error *error);
/* Waits up to `seconds` for a finished job, a hello or the end of a cancelled job. Returns 1 with
 * *result (release it), 0 if no result came or a signal did, -1 if no worker is left. *error is
 * then the reason of the last one. */
int kf_workers_wait(kf_workers *workers, double seconds, kf_workers_result *result,
                    kf_error *error);
/* Makes the next kf_workers_wait also return 0 when one of these descriptors is ready, or at `wake`
 * (kf_now). */
void kf_workers_listen(kf_workers *workers, const struct pollfd *fds, size_t count, double wake);
void kf_workers_result_free(kf_workers_result *result);
/* Takes back the jobs that no worker has begun. Returns their number and their tickets, at most
 * `most`. */
size_t kf_workers_withdraw(kf_workers *workers, int64_t *tickets, size_t most);
/* Stops a job wherever it is: no result of it comes any more. A worker that measures it stops, and
 * goes on with its next job. Returns the seconds from the beginning of its build until now, or
 * until its result came. 0: the job had not begun, is unknown, was cancelled before, or its result
 * was taken. */
double kf_workers_cancel(kf_workers *workers, int64_t ticket);
/* Returns the last step of a job that a worker named: "compiling", "timing large, 2 of 3". ""
 * before the first. */
const char *kf_workers_doing(const kf_workers *workers);
/* Returns a line about the last worker that failed or was given up since the last call. NULL: no
 * worker did. Borrowed until the next call. */
const char *kf_workers_news(kf_workers *workers);

#endif
