/* The parts of a service (jobs.h): shared tasks, work, tickets, the table of work, the pump.
 *
 * One mutex, kf_service.lock, protects all work and tickets. No function calls the store, a worker
 * or a client's function while it holds the lock. The pump alone uses the workers and the writing
 * store. */
#ifndef KFORGE_JOBS_INTERNAL_H
#define KFORGE_JOBS_INTERNAL_H

#include <pthread.h>

#include "jobs.h"
#include "kforge/job.h"
#include "workers.h"

#define KF_WORK_BUCKETS 4096
#define KF_SHARED_TASKS 256
#define KF_PROPOSER_BYTES 40

/* A loaded task that several jobs use. */
typedef struct kf_shared_task {
    int references;
    kf_task *task;
    /* The pump has stored the bundle. */
    bool is_stored;
} kf_shared_task;

/* Gives a reference up. NULL is allowed. */
void kf_shared_task_release(kf_shared_task *task);

/* All that a worker needs to judge a candidate. Never changes while the work lives. */
typedef struct kf_work_input {
    kf_shared_task *task;
    char *source;
    size_t size;
    char **flags;
    size_t flag_count;
    kf_judge_mode mode;
    bool python, fresh;
    double seconds;
    char candidate[KF_HASH_HEX];
    char proposer[KF_PROPOSER_BYTES];
} kf_work_input;

typedef enum kf_work_place {
    /* Waits for a look into the store. */
    KF_WORK_INCOMING,
    /* Waits for a worker. */
    KF_WORK_WAITING,
    KF_WORK_RUNNING,
    /* Its worker has to be stopped. No ticket waits for it, and nothing finds it. */
    KF_WORK_CANCELLED,
    KF_WORK_DONE,
    KF_WORK_PLACES
} kf_work_place;

/* One candidate to judge, for one or more tickets. */
typedef struct kf_work {
    struct kf_work *next, *previous, *next_in_bucket, *next_remembered;
    kf_work_place place;
    int references;
    /* Hash of what makes work equal. */
    char key[KF_HASH_HEX];
    /* In the table, which then holds a reference. */
    bool is_listed;
    kf_work_input input;
    /* The tickets that wait. */
    kf_ticket *tickets;
    /* The number of the job at the workers. */
    int64_t number;
    int retries;
    /* The code of a twin that no longer has a verdict must not be named again. */
    bool without_twin;
    kf_judgement *judgement;
} kf_work;

struct kf_ticket {
    kf_service *service;
    char id[KF_TICKET_ID];
    int references;
    kf_ticket_state state;
    /* NULL for a reply without a source. */
    kf_work *work;
    /* Without work. */
    kf_judgement *own;
    kf_ticket *next_waiting, *next_kept;
    bool is_cached;
    /* Times of kf_now. `began` and `deadline`: 0 if there is no such time. */
    double submitted, began, ended, deadline;
    struct kf_watcher *watchers;
    /* NULL: there is no alias. */
    char *alias;
    void *data;
    void (*free_data)(void *data);
    pthread_cond_t changed;
};

/* A function to call when a ticket is final. */
typedef struct kf_watcher {
    struct kf_watcher *next;
    void (*done)(void *context, kf_ticket *ticket);
    void *context;
    /* Of kf_service.notified, with a reference. */
    kf_ticket *ticket;
} kf_watcher;

typedef struct kf_work_list {
    kf_work *first, *last;
    size_t count;
} kf_work_list;

/* The tasks of a service. `lock` protects all of it. */
typedef struct kf_service_tasks_table {
    pthread_mutex_t lock;
    /* Loaded tasks, the latest first. */
    kf_shared_task *loaded[KF_SHARED_TASKS];
    size_t loaded_count;
    /* Names that were looked up, with the time of the look. */
    struct {
        char *word;
        kf_shared_task *task;
        double looked;
    } names[KF_SHARED_TASKS];
    size_t name_count;
    /* Further tasks of the options. */
    struct {
        char *path, *name;
    } * further;
    size_t further_count;
    bool allow_paths;
} kf_service_tasks_table;

/* A connection to the store for all threads but the pump. */
typedef struct kf_service_reader {
    pthread_mutex_t lock;
    kf_store *store;
} kf_service_reader;

/* The pump's own. No other thread reads it while the pump runs. */
typedef struct kf_service_pump {
    pthread_t thread;
    /* Wakes the pump. */
    int wake;
    kf_store *store;
    kf_workers *workers;
    int64_t last_number;
    /* verdicts so far, the axis of the events */
    int64_t verdicts;
    char session[16];
    /* Ends of all workers in a row without a verdict between them, and when to start them again. */
    int collapses;
    double restart_at;
} kf_service_pump;

/* Copies of the options that outlive kf_service_open. */
typedef struct kf_service_settings {
    char *store_path, *device, *program;
    char **workers, **devices;
    size_t worker_count, device_count;
    size_t queue_limit;
    double timeout_seconds;
    bool strict_sandbox;
    void (*log)(void *context, const char *line);
    void *log_context;
    kf_event_stream *events;
} kf_service_settings;

struct kf_service {
    kf_service_settings settings;
    kf_service_tasks_table tasks;
    kf_service_reader reader;
    kf_service_pump pump;
    pthread_mutex_t lock;
    bool is_closing;
    kf_work_list lists[KF_WORK_PLACES];
    /* All work that others may join or that is remembered. */
    kf_work *buckets[KF_WORK_BUCKETS];
    kf_work *first_remembered, *last_remembered;
    size_t remembered;
    /* The kept tickets, the oldest first. */
    kf_ticket *first_kept, *last_kept;
    size_t kept;
    /* Watchers to call once the lock is free. */
    kf_watcher *notified;
    kf_service_figures figures;
};

/* ---- service_tasks.c ------------------------------------------------------------------------- */

bool kf_service_tasks_open(kf_service *service, const kf_service_options *options, kf_error *error);
void kf_service_tasks_close(kf_service *service);
/* Returns a reference to the task of a submission. NULL: *refusal is KF_REFUSED_TASK or
 * KF_REFUSED_INPUT. */
kf_shared_task *kf_service_resolve(kf_service *service, const kf_submission *submission,
                                   kf_refusal *refusal, kf_error *error);
/* ---- work.c: all with the lock held ---------------------------------------------------------- */

/* Takes the input over, even if it fails. */
kf_work *kf_work_new(kf_work_input *input, kf_error *error);
void kf_work_input_clear(kf_work_input *input);
void kf_work_release(kf_work *work);
/* Moves work to another list, to its end or its front. */
void kf_work_move(kf_service *service, kf_work *work, kf_work_place place, bool front);
/* Takes work that is not done out of its list, and drops it. */
void kf_work_drop(kf_service *service, kf_work *work);
void kf_work_key(const kf_work_input *input, kf_judge_mode mode, char key[KF_HASH_HEX]);
kf_work *kf_work_find(kf_service *service, const char *key);
/* Puts work into the table. An older entry with its key leaves it. */
void kf_work_list_in_table(kf_service *service, kf_work *work);
void kf_work_unlist(kf_service *service, kf_work *work);
/* Remembers work that is done, and forgets the oldest. */
void kf_work_remember(kf_service *service, kf_work *work);
/* Returns remembered work that answers this input. NULL: there is no such work. */
kf_work *kf_work_known(kf_service *service, const kf_work_input *input);
/* Ends work with its judgement: all its tickets are done. Takes the judgement over. */
void kf_work_finish(kf_service *service, kf_work *work, kf_judgement *judgement, bool cached);

/* ---- ticket.c -------------------------------------------------------------------------------- */

/* Makes a ticket with one reference. NULL: out of memory. */
kf_ticket *kf_ticket_new(kf_service *service, const kf_submission *submission);
/* With the lock held: makes a ticket final. kf_service_notify then calls its watchers. */
void kf_ticket_finish(kf_ticket *ticket, kf_ticket_state state);
/* With the lock held: lets the ticket wait for work. */
void kf_ticket_attach(kf_ticket *ticket, kf_work *work);
/* With the lock held: makes the ticket findable, and forgets the oldest one. */
void kf_ticket_keep(kf_ticket *ticket);
/* With the lock held: expires tickets. Returns the time of the next deadline, or INFINITY. */
double kf_service_expire(kf_service *service, double now);
/* Without the lock: calls the watchers of tickets that became final. */
void kf_service_notify(kf_service *service);
void kf_ticket_forget_all(kf_service *service);

/* ---- judgement.c ----------------------------------------------------------------------------- */

/* Makes a judgement, and takes the verdict over even if it fails. NULL: out of memory. */
kf_judgement *kf_judgement_new(kf_verdict *verdict, const kf_work_input *input, kf_judge_mode mode);
/* Makes the judgement of a reply without a source, or of a job that the workers lost. */
kf_judgement *kf_judgement_no_source(const char *why);
kf_judgement *kf_judgement_lost(const kf_work_input *input, const char *why);
void kf_judgement_free(kf_judgement *judgement);
KF_DEFINE_AUTO(kf_judgement, kf_judgement_free)
/* True if the judgement answers this mode. */
bool kf_judgement_answers(const kf_judgement *judgement, kf_judge_mode mode);

/* ---- service_store.c: on the pump's thread --------------------------------------------------- */

/* Returns the stored judgement of the candidate. NULL: there is no stored verdict that answers, or
 * the store failed, which is logged. */
kf_judgement *kf_service_stored(kf_service *service, const kf_work_input *input);
/* Finds the code of a judged candidate of the same canonical form. False: there is no such code. */
bool kf_service_twin(kf_service *service, const kf_work_input *input, char code[KF_HASH_HEX]);
/* Returns the judgement of another candidate with the machine code of `verdict`. NULL: there is no
 * such candidate. */
kf_judgement *kf_service_same_code(kf_service *service, const kf_work_input *input,
                                   const kf_verdict *verdict);
/* Stores the result of a worker. Logs failures. */
void kf_service_record(kf_service *service, const kf_work_input *input,
                       const kf_workers_result *result);

/* ---- service_pump.c -------------------------------------------------------------------------- */

bool kf_service_pump_start(kf_service *service, kf_error *error);
/* Wakes the pump, from any thread. */
void kf_service_wake(kf_service *service);
/* Ends the pump after is_closing was set. */
void kf_service_pump_end(kf_service *service);

/* ---- service_state.c --------------------------------------------------------------------------
 */

void kf_service_log(kf_service *service, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns the store for reading, locked. NULL: there is no store. Call kf_service_reading_done
 * after a store came. */
kf_store *kf_service_reading(kf_service *service, kf_error *error);
void kf_service_reading_done(kf_service *service);

#endif
