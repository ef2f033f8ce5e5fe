/* The job API: submit a candidate, wait, take the verdict. `kforge serve`, `kforge mcp` and
 * libkforge use it.
 *
 * A kf_service owns workers (agent/workers), a queue, a store and a cache. Workers are child
 * processes, so a judge that crashes never ends the service. One thread of the service pumps the
 * workers and writes the store. All functions below may be called from any thread, except
 * kf_service_close, which must be the last call. Tickets must be released before it.
 *
 * Order. The queue is first in, first out, with a limit. A worker builds several jobs at a time and
 * times one. On the CPU device a lock lets one worker of the machine time at once.
 *
 * Equal work. Work is equal if task hash, source, language, flags, mode and, except for CHECK, the
 * seconds of timing are equal. The environment id is that of the workers. Equal work in flight is
 * judged once: all its tickets get one judgement. Finished work is answered from memory or from the
 * store. Only verdicts that blame the candidate, or are correct, are answers. A time also answers
 * CHECK, and a measurement that was repeated answers TIME. A stored time answers if it was measured
 * for as many seconds or more. A candidate with the machine code of a known one gets the known
 * verdict. `fresh` judges anew, whatever is stored or in flight. The deadline does not belong to
 * the work.
 *
 * Faults. A verdict that blames the machine or the judge, or a lost job, is judged again
 * KF_SERVICE_RETRIES times. The last one is then returned with its blame. It is never scorable and
 * never stored in the cache.
 *
 * Deadlines. A ticket past its deadline is KF_TICKET_EXPIRED. A cancelled ticket is
 * KF_TICKET_CANCELLED. Work without a ticket that waits never starts. If the last ticket of running
 * work is cancelled, its worker stops, and there is no verdict. Running work with tickets that all
 * expired is finished, and its verdict is stored: the client may ask again.
 *
 * Store. Every verdict that is an answer is stored. A correct result of CHECK, or a timeout, is
 * stored under an environment of its own ("…, check only"), because it must not replace a
 * measurement. */
#ifndef KFORGE_JOBS_H
#define KFORGE_JOBS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event_stream.h"
#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/reward.h"
#include "kforge/store.h"
#include "kforge/task.h"
#include "kforge/verdict.h"

/* How often the machine's faults are judged again. */
#define KF_SERVICE_RETRIES 2
/* Default limit of jobs that wait for a worker. */
#define KF_SERVICE_QUEUE 1024
/* Judgements in memory. */
#define KF_SERVICE_REMEMBERED 2048
/* Kept tickets that kf_service_find finds, the latest ones. */
#define KF_SERVICE_KEPT 4096
/* 20 hexadecimal digits and a NUL. */
#define KF_TICKET_ID 21
/* Bytes of a group's name. */
#define KF_GROUP_BYTES 128

typedef struct kf_service kf_service;
typedef struct kf_ticket kf_ticket;

typedef struct kf_service_options {
    /* The store's path. NULL: the default store. It is made if it is missing. */
    const char *store;
    /* True: no store. Answers then come from memory alone. */
    bool no_store;
    /* As for kf_workers_open. No specs: `local`, on the CPU device once for each processor, up to
     * KF_SERVICE_CPU_WORKERS. */
    const char *const *workers;
    size_t worker_count;
    const char *device;
    const char *const *devices;
    size_t device_count;
    /* The kforge program for local workers. NULL: this program. libkforge has to name it. */
    const char *program;
    /* Further tasks: paths of task folders or files. Their names are found first. */
    const char *const *tasks;
    size_t task_count;
    /* True: the task of a submission may be a path. False: a name or a hash alone, as for clients
     * from a network. */
    bool task_paths;
    /* Most jobs that wait. 0: KF_SERVICE_QUEUE. */
    size_t queue_limit;
    /* Limit for a candidate, from loading to its last result. 0: 30. */
    double timeout_seconds;
    bool strict_sandbox;
    /* Gets one line at a time about workers and the store. May be NULL. Any thread calls it. */
    void (*log)(void *context, const char *line);
    void *log_context;
    /* Gets an event for each judged candidate and each change of the workers; borrowed. May be
     * NULL. */
    kf_event_stream *events;
} kf_service_options;
#define KF_SERVICE_CPU_WORKERS 8

/* Opens the store and starts the workers without waiting for them. */
kf_service *kf_service_open(const kf_service_options *options, kf_error *error);
/* Cancels all tickets, ends all workers and waits for them. */
void kf_service_close(kf_service *service);
KF_DEFINE_AUTO(kf_service, kf_service_close)

/* ---- submitting ------------------------------------------------------------------------------ */

/* CHECK: correctness without timing. TIME: with a speedup. VERIFY: measured twice, in new
 * processes. */
typedef enum kf_judge_mode { KF_MODE_CHECK, KF_MODE_TIME, KF_MODE_VERIFY } kf_judge_mode;
/* Returns "check", "time" or "verify". */
const char *kf_judge_mode_name(kf_judge_mode mode);
bool kf_judge_mode_parse(const char *name, kf_judge_mode *mode);

typedef struct kf_submission {
    /* The task: a loaded one (borrowed), else a bundle (kforge-bundle/1), else a name or a hash. */
    const kf_task *loaded;
    const cJSON *bundle;
    const char *task;
    /* Exactly one of both. A reply goes through the search's extractor. */
    const char *source, *reply;
    size_t source_size, reply_size;
    const char *const *flags;
    size_t flag_count;
    kf_judge_mode mode;
    /* The source is a Python file with class ModelNew. A reply decides by itself. */
    bool python;
    /* Judge anew. */
    bool fresh;
    /* For timing all workloads. 0: the device's default. */
    double seconds;
    /* From now on. 0: no deadline. */
    double deadline_seconds;
    /* kf_service_find finds the ticket, also some time after it is final. */
    bool kept;
    /* Another name under which kf_service_find finds the kept ticket. NULL: none. A later ticket
     * with the same name hides an earlier one. */
    const char *alias;
    /* "person", "mcp", "serve", …: the proposer in the store. NULL: "service". */
    const char *proposer;
    /* Called once when the ticket is no longer waiting, perhaps before kf_service_submit returns.
     * It must not wait. May be NULL. */
    void (*done)(void *context, kf_ticket *ticket);
    void *done_context;
    /* Belongs to the ticket from a successful kf_service_submit on (kf_ticket_data). May be NULL.
     * `free_data` gets it together with the ticket's end. */
    void *data;
    void (*free_data)(void *data);
} kf_submission;

/* The reason why a submission was refused, for a status of HTTP. */
typedef enum kf_refusal {
    /* 400: fields, flags, source or bundle are invalid. */
    KF_REFUSED_INPUT,
    /* 404: no such task. */
    KF_REFUSED_TASK,
    /* 429: the queue is full. */
    KF_REFUSED_FULL,
    /* 500: memory, the store or the service is closing. */
    KF_REFUSED_FAILED,
} kf_refusal;

/* Submits a candidate, and copies all that it needs. NULL with *error, and *refusal (may be NULL).
 * A reply without a usable source is no refusal: its judgement has `no_source`. The caller
 * releases the ticket. */
kf_ticket *kf_service_submit(kf_service *service, const kf_submission *submission,
                             kf_refusal *refusal, kf_error *error);

/* ---- tickets --------------------------------------------------------------------------------- */

typedef enum kf_ticket_state {
    KF_TICKET_QUEUED,
    /* A worker has it. */
    KF_TICKET_RUNNING,
    /* There is a judgement. All later states are final, too. */
    KF_TICKET_DONE,
    KF_TICKET_CANCELLED,
    KF_TICKET_EXPIRED,
} kf_ticket_state;
/* Returns "queued", "running", "done", "cancelled" or "expired". */
const char *kf_ticket_state_name(kf_ticket_state state);

/* The result of a ticket. It never changes, and belongs to the ticket. */
typedef struct kf_judgement {
    /* The reply had no usable source. `summary` says why, `status` means nothing, and
     * `candidate` is "". */
    bool no_source;
    kf_status status;
    kf_blame blame;
    kf_interval speedup;
    bool reverified;
    /* The mode that was judged. It may be stronger than the mode that was asked for. */
    kf_judge_mode mode;
    /* One line each: the verdict, and the next step for the author of the candidate. They say of
     * hidden workloads that one failed. */
    char *summary, *next;
    /* kf_store_candidate_hash of source and flags. */
    char candidate[KF_HASH_HEX], task[KF_HASH_HEX];
    /* "cpu", "cuda:0"; "" if no worker judged. */
    char device[16];
    double build_seconds, judge_seconds;
    /* The verdict without its raw samples, and with the first 8 KiB of the compiler's messages.
     * NULL for `no_source` and for a job that all workers lost. */
    const kf_verdict *verdict;
} kf_judgement;

/* Returns the ticket's id: 20 random hexadecimal digits. */
const char *kf_ticket_id(const kf_ticket *ticket);
/* Returns kf_submission.data of a submission with this `free_data`. NULL: another kind of data. */
void *kf_ticket_data(const kf_ticket *ticket, void (*free_data)(void *data));
kf_ticket_state kf_ticket_state_now(kf_ticket *ticket);
/* Waits until the ticket is final, at most `seconds`. Returns its state. */
kf_ticket_state kf_ticket_wait(kf_ticket *ticket, double seconds);
/* Returns the judgement; NULL unless the state is KF_TICKET_DONE. Borrowed from the ticket. */
const kf_judgement *kf_ticket_judgement(kf_ticket *ticket);
/* True if the judgement came from memory, the store or equal work in flight. */
bool kf_ticket_cached(kf_ticket *ticket);
/* Returns the seconds until a worker took the job, or until now. */
double kf_ticket_queue_seconds(kf_ticket *ticket);
/* Cancels a ticket that is not final yet. False if it is final. */
bool kf_ticket_cancel(kf_ticket *ticket);
/* Calls `done` once, as kf_submission.done, when the ticket is final, or at once if it is. A ticket
 * may have several watchers. False without memory. */
bool kf_ticket_watch(kf_ticket *ticket, void (*done)(void *context, kf_ticket *ticket),
                     void *context);
/* Takes a watcher with this context back. False if its function was called or is about to be. */
bool kf_ticket_unwatch(kf_ticket *ticket, const void *context);
/* Gives a reference up. A ticket that waits is not cancelled by that. NULL is allowed. */
void kf_ticket_release(kf_ticket *ticket);
KF_DEFINE_AUTO(kf_ticket, kf_ticket_release)

/* Returns a new reference to the kept ticket with this id or alias; NULL: unknown or forgotten. */
kf_ticket *kf_service_find(kf_service *service, const char *id);

/* ---- answers --------------------------------------------------------------------------------- */

/* The values of a reward by outcome. `keys` are names of statuses, "no_source" and "failed" (any
 * other outcome that is not correct). Start with {0}. */
#define KF_SHAPE_KEYS (KF_STATUS_COUNT + 2)
typedef struct kf_shape {
    bool given[KF_SHAPE_KEYS];
    double values[KF_SHAPE_KEYS];
} kf_shape;
/* Reads {"correct":1,"wrong_result":0.05,…}. KF_ERROR_INPUT names the key. */
bool kf_shape_parse(const cJSON *json, kf_shape *shape, kf_error *error);

typedef struct kf_reward_choice {
    /* A function of kforge/reward.h. */
    bool named;
    kf_reward function;
    /* Replaces the function's value for outcomes that are not correct. "correct" counts if there is
     * no function, or if it has no value. */
    kf_shape shape;
} kf_reward_choice;
/* Returns the reward. NaN if the judgement blames machine, task or judge, or has no value. Pure.
 * Without a function and without a value in the shape, a failure is 0. */
double kf_judgement_reward(const kf_judgement *judgement, const kf_reward_choice *choice);
/* True if the choice gives no correct candidate a value in this mode: a time or the shape's
 * "correct" is missing. */
bool kf_reward_misses_correct(const kf_reward_choice *choice, kf_judge_mode mode);
/* Returns a copy of the verdict in which hidden workloads have no name, values or places. `task`
 * NULL: all are hidden. NULL without memory. Pure. */
kf_verdict *kf_verdict_shown(const kf_verdict *verdict, const kf_task *task);
/* Returns "no_source" or the name of the status. */
const char *kf_judgement_status(const kf_judgement *judgement);
/* True if the judgement says something about the candidate: the candidate is at fault or
 * correct. */
bool kf_judgement_counts(const kf_judgement *judgement);

/* Returns the answer of POST /v1/judge for a ticket that is done: "scorable", "reward", "status",
 * "blame", "correct", "cheating", "speedup", "reverified", "summary", "next", "candidate",
 * "task", "mode", "cached", "queue_s", "build_s", "judge_s", "device". `choice` NULL: no reward
 * was asked for, and "reward" is null. NULL without memory. Release with cJSON_Delete. */
cJSON *kf_ticket_answer(kf_ticket *ticket, const kf_reward_choice *choice);

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns a task by name, hash or unique prefix of its hash (at least 8 digits), or by path if the
 * service allows paths. NULL with KF_ERROR_INPUT if there is no such task. The caller frees. */
kf_task *kf_service_task(kf_service *service, const char *task, kf_error *error);
/* Returns [{"name","hash","family","best"}] of all tasks by name that the service offers: those of
 * its options, of tasks/ and of the installation. "best" is the best speedup in the store in the
 * workers' environment, or null. NULL with the error. */
cJSON *kf_service_tasks(kf_service *service, kf_error *error);
/* Returns {"candidate","task","status","source","flags","verdict"} of a stored candidate, by its
 * hash or a unique prefix of at least 8 digits. NULL with KF_ERROR_INPUT if there is no such
 * candidate. */
cJSON *kf_service_candidate(kf_service *service, const char *hash, kf_error *error);

/* Figures for /health and /metrics. */
typedef struct kf_service_figures {
    /* False until the first worker's hello, and while all workers are given up. */
    bool ready;
    /* The last fault of the workers. "" without. */
    char trouble[256];
    char device[16], environment_id[256];
    size_t queued, running, devices;
    /* Judgements by status, and of replies without a source, since the service was opened. */
    uint64_t verdicts[KF_STATUS_COUNT], no_source;
    /* Tickets answered without judging; submissions refused because the queue was full; retries. */
    uint64_t cached, refused, retries, expired, cancelled;
    /* Sums over judged verdicts. */
    double judge_seconds, build_seconds;
    uint64_t judged;
} kf_service_figures;
void kf_service_read_figures(kf_service *service, kf_service_figures *figures);
/* Returns {NAME: speedup} of the tasks of kf_service_tasks that have one in the workers'
 * environment. NULL without memory. */
cJSON *kf_service_best(kf_service *service);
/* Returns the cost of all model calls of the store's runs in USD. 0 without a store. */
double kf_service_cost(kf_service *service);
/* Returns the path of the store; NULL without one. Borrowed. For callers that open it themselves.
 */
const char *kf_service_store(const kf_service *service);

#endif
