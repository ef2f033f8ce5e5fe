/* Between the pool (workers.c) and the two kinds of ends that jobs go to (workers_pipe.c,
 * workers_spool.c). */
#ifndef KFORGE_WORKERS_INTERNAL_H
#define KFORGE_WORKERS_INTERNAL_H

#include <poll.h>

#include "kforge/buffer.h"
#include "kforge/hash.h"
#include "workers.h"

/* most descriptors that one end waits for */
#define KF_END_FDS 4
#define KF_NEWS_BYTES 600

/* A job on its way. */
typedef struct kf_pending {
    struct kf_pending *next;
    char *id, *line; /* line: the job as JSON, newline included */
    size_t size;
    char source_hash[KF_HASH_HEX], task_hash[KF_HASH_HEX];
    int64_t ticket;
    int deaths;
    bool alone;   /* a worker failed with this job and others at hand: next time it gets this one
                     alone, so that it shows whose fault it is */
    double limit; /* seconds that judging may take */
    const struct kf_end *spoilt_by; /* its machine failed with this job, so that another end gets it
                                       next, where there is one; NULL: none did */
} kf_pending;

void kf_pending_free(kf_pending *job);

typedef struct kf_end kf_end;
typedef struct kf_end_kind {
    size_t (*room)(const kf_end *end); /* jobs it would take now */
    size_t (*busy)(const kf_end *end); /* jobs it has */
    /* would it take this one now; NULL: whenever there is room */
    bool (*takes)(const kf_end *end, const kf_pending *job);
    /* only when it takes it; takes the job over */
    void (*begin)(kf_end *end, kf_pending *job);
    /* whatever can be done without waiting */
    void (*advance)(kf_end *end, double now);
    /* What to wait for before the next `advance`: descriptors, and *wake is brought forward to a
     * time. Returns their number. */
    int (*watch)(const kf_end *end, struct pollfd fds[KF_END_FDS], double *wake);
    size_t (*withdraw)(kf_end *end, int64_t *tickets, size_t most);
    void (*close_gently)(kf_end *end); /* tells it to end, without waiting; may be NULL */
    void (*close)(kf_end *end);
} kf_end_kind;

struct kf_end {
    const kf_end_kind *kind;
    kf_workers *pool;
    char *name;      /* as in the spec, for messages */
    int failures;    /* in a row */
    int faults;      /* verdicts in a row that are its machine's fault (machine_failures.h) */
    int faults_most; /* so many are enough; 0: KF_MACHINE_FAILURES */
    bool worn;       /* they were: the end has to retire itself, `why` says so */
    kf_error why;
    size_t jobs_most; /* at a time, as its hello said */
    bool given_up;
};

typedef struct kf_finished {
    struct kf_finished *next;
    kf_workers_result result;
} kf_finished;

struct kf_workers {
    kf_end **ends;
    size_t end_count;
    kf_pending *queue, **queue_end;
    kf_finished *results, **results_end;
    char *hardware, *device, *environment_id;
    bool greeted;     /* a first hello came since the last wait */
    size_t strangers; /* turned away for other conditions */
    kf_error last;
    bool has_news;
    char news[KF_NEWS_BYTES];
    bool out_of_memory;
    /* of the task of the last job, printed: most jobs of a run share it, and it is most of a job */
    char *bundle;
    char bundle_hash[KF_HASH_HEX];
    struct pollfd listening[KF_WORKERS_LISTENED]; /* of kf_workers_listen */
    size_t listened;
    double listen_until;
};

/* Made by a spec. NULL with an error. */
/* NULL: local */
kf_end *kf_pipe_open(kf_workers *pool, const char *command, const kf_workers_options *options,
                     kf_error *error);
kf_end *kf_spool_open(kf_workers *pool, const char *directory, size_t jobs,
                      const kf_workers_options *options, kf_error *error);

/* Back to the pool. `kf_pool_hello` reads a hello line; false (and the end has to be given up or to
 * fail) with the reason. */
bool kf_pool_hello(kf_workers *pool, kf_end *end, const char *text, size_t size, kf_error *error);
/* An answer to `job`. True: it is one, the job is done and freed, or another end's to do; when the
 * end is `worn` now it has to retire: hand its other jobs back and call kf_pool_failed with `why`,
 * given up. False: it is none, with the reason; the job is still the caller's. */
bool kf_pool_answer(kf_workers *pool, kf_end *end, kf_pending *job, const char *text, size_t size,
                    kf_error *error);
/* Back into the queue, ahead of the others: the end that had it failed, and not for certain over
 * this job. */
void kf_pool_return(kf_workers *pool, kf_pending *job);
/* The same without any suspicion against the job. */
void kf_pool_hand_back(kf_workers *pool, kf_pending *job);
/* The queue of jobs that no end has: puts one in, at the front where `first`; takes one out. */
void kf_pool_enqueue(kf_workers *pool, kf_pending *job, bool first);
kf_pending *kf_pool_unlink(kf_workers *pool, kf_pending **at);
/* Takes the first job out; NULL: the queue is empty. */
kf_pending *kf_pool_dequeue(kf_workers *pool);
/* Is there another end that could do it now or soon? One that has not said hello may never come. */
bool kf_pool_has_other(const kf_workers *pool, const kf_end *end);
/* The end failed while it had `job` (may be NULL; taken over). Counts, and gives the end up when it
 * was once too often. `wrong_machine`: give it up at once. */
void kf_pool_failed(kf_workers *pool, kf_end *end, kf_pending *job, bool wrong_machine,
                    const kf_error *why);

#endif
