/* The pool (workers.c, workers_pool.c) and its channels. A channel brings jobs to workers: to one
 * through a pipe (workers_pipe.c), or to several through a folder (workers_spool.c). */
#ifndef KFORGE_WORKERS_INTERNAL_H
#define KFORGE_WORKERS_INTERNAL_H

#include <poll.h>

#include "kforge/buffer.h"
#include "kforge/hash.h"
#include "workers.h"

/* The most descriptors that a channel waits for. */
#define KF_CHANNEL_FDS 4
#define KF_NEWS_BYTES 600

/* A job without a verdict. */
typedef struct kf_pending {
    struct kf_pending *next;
    /* line: the job as JSON, with its newline. */
    char *id, *line;
    size_t size;
    char source_hash[KF_HASH_HEX], task_hash[KF_HASH_HEX];
    int64_t ticket;
    /* Workers that failed with it, and workers that SIGKILL ended. */
    int failures, kills;
    /* A worker failed with this job and others. It is next tried alone, which shows if it is the
     * cause. */
    bool alone;
    /* Its result is not wanted any more. */
    bool cancelled;
    /* Seconds that judging may take. */
    double limit;
    /* When its worker began it (kf_now). 0: it waits. */
    double began;
    /* The channel of a machine that failed with this job. Another channel gets the job next, if
     * there is one. NULL: no machine failed. */
    const struct kf_channel *failed_on;
} kf_pending;

void kf_pending_free(kf_pending *job);

typedef struct kf_channel kf_channel;
typedef struct kf_channel_kind {
    /* Returns the number of jobs it would take now. */
    size_t (*room)(const kf_channel *channel);
    /* Returns the number of jobs it has. */
    size_t (*busy)(const kf_channel *channel);
    /* True if it takes this job now. NULL: it takes any job while there is room. */
    bool (*takes)(const kf_channel *channel, const kf_pending *job);
    /* Takes the job over. Only after `takes` was true. */
    void (*begin)(kf_channel *channel, kf_pending *job);
    /* Does all that needs no waiting. */
    void (*advance)(kf_channel *channel, double now);
    /* Fills `fds` with what the next `advance` waits for and returns their number. Lowers *wake to
     * the time when `advance` is due in any case. */
    int (*watch)(const kf_channel *channel, struct pollfd fds[KF_CHANNEL_FDS], double *wake);
    size_t (*withdraw)(kf_channel *channel, int64_t *tickets, size_t most);
    /* Stops the job with this ticket, and copies its `began`, or 0 if it was cancelled before.
     * False if the channel has no such job. */
    bool (*cancel)(kf_channel *channel, int64_t ticket, double *began);
    /* Asks the worker to end, without waiting. May be NULL. */
    void (*begin_close)(kf_channel *channel);
    void (*close)(kf_channel *channel);
} kf_channel_kind;

struct kf_channel {
    const kf_channel_kind *kind;
    kf_workers *pool;
    /* As in the spec, for messages. */
    char *name;
    /* In a row. */
    int failures;
    /* Verdicts in a row that are failures of the machine (machine_failures.h). */
    int machine_failures;
    /* Limit of these. 0: KF_MACHINE_FAILURES. */
    int max_machine_failures;
    /* The limit is reached. The channel has to retire for the reason in `why`. */
    bool retiring;
    kf_error why;
    /* Jobs at a time, as the hello said. */
    size_t max_jobs;
    /* It writes signs of life, as the hello said. */
    bool writes_alive;
    /* It stops jobs that are cancelled, as the hello said. */
    bool takes_cancels;
    bool given_up;
};

typedef struct kf_finished {
    struct kf_finished *next;
    kf_workers_result result;
    /* Seconds from the job's `began` to its result. 0: the worker has not named the job. */
    double seconds;
} kf_finished;

struct kf_workers {
    kf_channel **channels;
    size_t channel_count;
    kf_pending *queue, **queue_end;
    kf_finished *results, **results_end;
    char *hardware, *device, *environment_id;
    /* Seconds between two signs of life. */
    double alive_seconds;
    /* A hello came since the last wait, or a cancelled job ended. */
    bool gained_room;
    /* Workers rejected because of another environment. */
    size_t rejected;
    kf_error last;
    /* The last step that a worker named. */
    char doing[64];
    bool has_news;
    char news[KF_NEWS_BYTES];
    bool out_of_memory;
    /* The printed task of the last job. Most jobs of a run share it, and it is most of their text.
     */
    char *bundle;
    char bundle_hash[KF_HASH_HEX];
    /* The descriptors of kf_workers_listen. */
    struct pollfd listen_fds[KF_WORKERS_LISTENED];
    size_t listen_count;
    double listen_until;
};

/* Opens a channel. `command` NULL: local. NULL with *error on failure. */
kf_channel *kf_pipe_open(kf_workers *pool, const char *command, const kf_workers_options *options,
                         kf_error *error);
kf_channel *kf_spool_open(kf_workers *pool, const char *directory, size_t jobs,
                          const kf_workers_options *options, kf_error *error);

/* Reads a hello line. False with the reason in *error: the channel then fails or is given up. */
bool kf_pool_hello(kf_workers *pool, kf_channel *channel, const char *text, size_t size,
                   kf_error *error);
/* Reads an answer to `job`. True: the pool has taken the job over. If the channel is `retiring`
 * now, it has to retire: it hands its other jobs back and calls kf_pool_failed with `why`. False
 * with *error: the answer is invalid, and the channel still owns the job. */
bool kf_pool_answer(kf_workers *pool, kf_channel *channel, kf_pending *job, const char *text,
                    size_t size, kf_error *error);
/* Puts the job back at the front of the queue, to be tried alone. For a channel that failed with
 * several jobs. */
void kf_pool_return(kf_workers *pool, kf_pending *job);
/* Puts the job back at the front of the queue. The job is not suspected. */
void kf_pool_hand_back(kf_workers *pool, kf_pending *job);
/* Puts a job into the queue, at its front if `first`, or takes one out. Frees a cancelled job. */
void kf_pool_enqueue(kf_workers *pool, kf_pending *job, bool first);
kf_pending *kf_pool_unlink(kf_workers *pool, kf_pending **at);
/* Takes the first job out. NULL: the queue is empty. */
kf_pending *kf_pool_dequeue(kf_workers *pool);
/* True if another channel has a worker that can do the job. Only workers that sent a hello count.
 */
bool kf_pool_has_other(const kf_workers *pool, const kf_channel *channel);
/* Counts a failure of the channel, and gives it up at the limit or if `wrong_machine`. Takes over
 * the `job` that it failed with, which may be NULL. */
void kf_pool_failed(kf_workers *pool, kf_channel *channel, kf_pending *job, bool wrong_machine,
                    const kf_error *why);

#endif
