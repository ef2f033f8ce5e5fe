/* A judge behind a folder. worker_protocol.h has its files.
 *
 * rename() is the only lock: only one of several workers can move jobs/ID.json to taken/ID.json. A
 * file server's clock may differ from its clients'. So a worker does not trust the age of a file:
 * it moves a job back to jobs/ only after it has watched the taken file for a whole lease without a
 * new time stamp. taken/ID.owner holds the name of the owner. A worker that slept for longer than
 * its lease finds another name there, stops and gives no answer. So each job has one owner at a
 * time.
 *
 * The judge has to stay on the thread that made it. While it is busy, another thread keeps the
 * lease of each taken job. If compilers do not disturb the device, the worker takes several jobs at
 * a time and builds them while it measures another.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "machine_failures.h"
#include "kforge/file.h"
#include "job_queue.h"
#include "worker.h"
#include "worker_answer.h"
#include "parallel.h"

#define NAME_BYTES 128
/* Taken files that are watched at a time. Others are watched later. */
#define WATCHED 256

typedef struct lease {
    char id[KF_JOB_ID_BYTES + 1];
    /* The file's last time stamp. */
    struct timespec stamp;
    /* kf_now() when the stamp was first seen. */
    double since;
    /* True if the last look found the file. */
    bool seen;
} lease;

typedef struct spool {
    kf_job_queue queue; /* marks are holders */
    /* Paths. `hello`: this worker's file under workers/. */
    char *jobs, *taken, *verdicts, *hello;
    /* The name of this worker. */
    char name[NAME_BYTES];
    double poll_seconds, lease_seconds;
    const volatile int *stop;
    lease leases[WATCHED];
    int lease_count;
    /* Verdicts in a row that are faults of this machine. */
    int faults;
} spool;

/* ---- names ----------------------------------------------------------------------------------- */

/* True for "ID.json" with a valid id of a job. Other files are ignored. */
static bool id_of(const char *file, char id[KF_JOB_ID_BYTES + 1])
{
    size_t length = strlen(file);
    if (length < 6 || length - 5 > KF_JOB_ID_BYTES || strcmp(file + length - 5, ".json") != 0)
        return false;
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
    if (strchr("._:-", file[0]) || strspn(file, letters) != length) return false;
    snprintf(id, KF_JOB_ID_BYTES + 1, "%.*s", (int)(length - 5), file);
    return true;
}

static bool path_of(char *path, size_t size, const char *folder, const char *id, const char *ending)
{
    return snprintf(path, size, "%s/%s%s", folder, id, ending) < (int)size;
}

/* Renames without replacing. If the file system has no such call, it checks for the target first.
 */
static bool move(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    return access(to, F_OK) != 0 && rename(from, to) == 0;
}

/* ---- leases of taken jobs ----------- ---------------------------------------------------------
 */

typedef struct holder {
    const spool *spool;
    char id[KF_JOB_ID_BYTES + 1];
    char file[PATH_MAX], owner[PATH_MAX];
    /* Stops the judge: the caller's stop, or 1 if the job has another owner now. */
    volatile int stopped;
    /* True if the job has another owner now. */
    atomic_bool lost;
    pthread_mutex_t mutex;
    pthread_cond_t ended_changed;
    bool ended;
    pthread_t thread;
} holder;

/* True if the job's last owner is this worker. */
static bool is_last_owner(const holder *h)
{
    size_t size;
    kf_autofree char *name = kf_file_read(h->owner, NAME_BYTES, &size, NULL);
    return name && strcmp(name, h->spool->name) == 0;
}

static bool owns(const holder *h)
{
    return is_last_owner(h) && access(h->file, F_OK) == 0;
}

static void *hold(void *argument)
{
    holder *h = argument;
    double quarter = h->spool->lease_seconds / 4, every = quarter < 0.1 ? quarter : 0.1;
    double check = quarter < 1 ? quarter : 1, checked = kf_now(), touched = checked;
    pthread_mutex_lock(&h->mutex);
    while (!h->ended) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)(every * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&h->ended_changed, &h->mutex, &until);
        int asked = h->spool->stop ? __atomic_load_n(h->spool->stop, __ATOMIC_RELAXED) : 0;
        if (asked) __atomic_store_n(&h->stopped, asked, __ATOMIC_RELAXED);
        if (h->ended || kf_now() - checked < check) continue;
        checked = kf_now();
        if (!owns(h)) {
            h->lost = true;
            __atomic_store_n(&h->stopped, 1, __ATOMIC_RELAXED);
        } else if (checked - touched >= quarter) {
            touched = checked;
            utimensat(AT_FDCWD, h->file, NULL, 0);
            utimensat(AT_FDCWD, h->spool->hello, NULL, 0);
        }
    }
    pthread_mutex_unlock(&h->mutex);
    return NULL;
}

static bool holder_start(holder *h, kf_error *error)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->ended_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int failed = kf_thread_start(&h->thread, NULL, hold, h);
    return !failed || kf_fail(error, KF_ERROR_MACHINE, "no thread: %s", strerror(failed));
}

static void holder_end(holder *h)
{
    pthread_mutex_lock(&h->mutex);
    h->ended = true;
    pthread_cond_signal(&h->ended_changed);
    pthread_mutex_unlock(&h->mutex);
    pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->ended_changed);
    pthread_mutex_destroy(&h->mutex);
}

/* ---- one job --------------------------------------------------------------------------------- */

/* Moves a taken job back to jobs/. */
static void give_back(const spool *s, const holder *h)
{
    char job[PATH_MAX];
    unlink(h->owner);
    if (path_of(job, sizeof job, s->jobs, h->id, ".json")) move(h->file, job);
}

/* Ends a taken job and frees `h`. Writes the answer; NULL: gives the job back. Does nothing else if
 * the job has another owner now. False: the answer could not be written. */
static bool conclude(const spool *s, holder *h, const char *answer, kf_error *error)
{
    holder_end(h);
    bool written = true, ours = !h->lost && owns(h);
    if (ours && answer) {
        char verdict[PATH_MAX];
        written = path_of(verdict, sizeof verdict, s->verdicts, h->id, ".json")
                      ? kf_file_write(verdict, answer, strlen(answer), error)
                      : kf_fail(error, KF_ERROR_INPUT, "%s: the path is too long", s->verdicts);
    }
    if (ours && answer && written) {
        unlink(h->file);
        unlink(h->owner);
    } else if (ours) {
        give_back(s, h);
    } else if (is_last_owner(h)) {
        /* The agent has cancelled the job, perhaps before this file was there. */
        unlink(h->owner);
    }
    free(h);
    return written;
}

/* Begins the lease of taken/ID.json. */
static holder *hold_taken(spool *s, const char *id, kf_error *error)
{
    holder *h = calloc(1, sizeof *h);
    if (!h) return kf_fail_memory(error, "a spool folder"), NULL;
    h->spool = s;
    snprintf(h->id, sizeof h->id, "%s", id);
    bool fits = path_of(h->file, sizeof h->file, s->taken, id, ".json") &&
                path_of(h->owner, sizeof h->owner, s->taken, id, ".owner");
    if (!fits) kf_fail(error, KF_ERROR_INPUT, "%s: the path is too long", s->taken);
    if (fits) utimensat(AT_FDCWD, h->file, NULL, 0);
    if (fits && kf_file_write(h->owner, s->name, strlen(s->name), error) && holder_start(h, error))
        return h;
    if (fits) give_back(s, h);
    free(h);
    return NULL;
}

/* Adds a taken job to the queue, or refuses it. False: the worker cannot continue. */
static bool begin(spool *s, const char *id, kf_error *error)
{
    holder *h = hold_taken(s, id, error);
    if (!h) return false;
    kf_error why = {0}, failure = {0};
    size_t size;
    kf_autofree char *text = kf_file_read(h->file, KF_JOB_BYTES, &size, &why), *refusal = NULL;
    kf_job *job =
        text ? kf_worker_read_job(s->queue.judge, text, size, id, &refusal, &failure) : NULL;
    if (job) {
        kf_job_queue_add(&s->queue, job, h);
        return true;
    }
    if (!text) refusal = kf_worker_refusal(id, &why, &failure);
    return conclude(s, h, refusal, error) && (refusal || kf_fail_copy(error, &failure));
}

static bool measure_one(spool *s, size_t at, kf_error *error)
{
    holder *h = s->queue.jobs[at].mark;
    kf_error failure = {0};
    kf_auto(kf_verdict) verdict = kf_job_queue_measure(&s->queue, at, &h->stopped, &failure);
    kf_job_queue_remove(&s->queue, at);
    kf_autofree char *answer = verdict ? kf_worker_print(verdict, &failure) : NULL;
    if (!conclude(s, h, answer, error)) return false;
    if (!answer) return failure.code == KF_ERROR_BUSY || kf_fail_copy(error, &failure);
    /* A broken worker fails quickly, and would take jobs from working ones. */
    return kf_machine_failures_count(&s->faults, KF_MACHINE_FAILURES, verdict, error);
}

/* ---- finding jobs ---------------------------------------------------------------------------- */

/* Finds the oldest file of jobs/; of equal ages, the first by name. Returns 1 and fills `id`; 0
 * without a job; -1 if the folder is unreadable. */
static int oldest_job(const spool *s, char id[KF_JOB_ID_BYTES + 1], kf_error *error)
{
    DIR *directory = opendir(s->jobs);
    if (!directory)
        return kf_fail(error, KF_ERROR_IO, "%s: cannot be read: %s", s->jobs, strerror(errno)) - 1;
    struct timespec oldest = {0};
    int found = 0;
    char name[KF_JOB_ID_BYTES + 1];
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct stat status;
        if (!id_of(entry->d_name, name) ||
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(status.st_mode))
            continue;
        struct timespec t = status.st_mtim;
        bool older = t.tv_sec != oldest.tv_sec     ? t.tv_sec < oldest.tv_sec
                     : t.tv_nsec != oldest.tv_nsec ? t.tv_nsec < oldest.tv_nsec
                                                   : strcmp(name, id) < 0;
        if (found && !older) continue;
        oldest = t;
        memcpy(id, name, sizeof name);
        found = 1;
    }
    closedir(directory);
    return found;
}

/* Takes a job. Returns 1 if taken/ID.json belongs to this worker now, 0 without a job, -1 for an
 * error. */
static int take(spool *s, char id[KF_JOB_ID_BYTES + 1], kf_error *error)
{
    for (int got; (got = oldest_job(s, id, error)) != 0;) {
        char job[PATH_MAX], taken[PATH_MAX], verdict[PATH_MAX];
        if (got < 0) return -1;
        if (!path_of(job, sizeof job, s->jobs, id, ".json") ||
            !path_of(taken, sizeof taken, s->taken, id, ".json") ||
            !path_of(verdict, sizeof verdict, s->verdicts, id, ".json"))
            return kf_fail(error, KF_ERROR_INPUT, "%s: the path is too long", s->jobs) - 1;
        /* The job has an answer. A second copy of the folder brought it back. */
        if (access(verdict, F_OK) == 0) {
            unlink(job);
            continue;
        }
        if (move(job, taken)) return 1;
        /* A copy of the job is taken already. */
        if (errno == EEXIST || access(taken, F_OK) == 0) {
            unlink(job);
            continue;
        }
        if (errno != ENOENT)
            return kf_fail(error, KF_ERROR_IO, "%s: cannot be moved to taken/: %s", job,
                           strerror(errno)) -
                   1;
    }
    return 0;
}

/* ---- jobs of dead workers -------------------------------------------------------------------- */

static lease *lease_of(spool *s, const char *id)
{
    for (int i = 0; i < s->lease_count; i++)
        if (strcmp(s->leases[i].id, id) == 0) return &s->leases[i];
    if (s->lease_count == WATCHED) return NULL;
    lease *fresh = &s->leases[s->lease_count++];
    *fresh = (lease){0};
    snprintf(fresh->id, sizeof fresh->id, "%s", id);
    return fresh;
}

/* Checks every taken file. Files that stayed untouched for a lease go back to jobs/. */
static void watch_leases(spool *s)
{
    DIR *directory = opendir(s->taken);
    if (!directory) return;
    double now = kf_now();
    for (int i = 0; i < s->lease_count; i++) s->leases[i].seen = false;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char id[KF_JOB_ID_BYTES + 1], job[PATH_MAX], taken[PATH_MAX];
        struct stat status;
        if (!id_of(entry->d_name, id) ||
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        lease *l = lease_of(s, id);
        if (!l) continue;
        l->seen = true;
        if (l->since == 0 || l->stamp.tv_sec != status.st_mtim.tv_sec ||
            l->stamp.tv_nsec != status.st_mtim.tv_nsec) {
            l->stamp = status.st_mtim;
            l->since = now;
        } else if (now - l->since >= s->lease_seconds &&
                   path_of(job, sizeof job, s->jobs, id, ".json") &&
                   path_of(taken, sizeof taken, s->taken, id, ".json")) {
            move(taken, job);
            l->seen = false;
        }
    }
    closedir(directory);
    int kept = 0;
    for (int i = 0; i < s->lease_count; i++)
        if (s->leases[i].seen) s->leases[kept++] = s->leases[i];
    s->lease_count = kept;
}

/* True while a job that another worker took may still come back. */
static bool others_busy(const spool *s)
{
    return s->lease_count > 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Waits until a build is over or the next look for jobs is due. A signal ends the wait. */
static void pause_for(const spool *s)
{
    struct pollfd built = {.fd = s->queue.built[0], .events = POLLIN};
    poll(&built, 1, (int)(s->poll_seconds * 1000) + 1);
}

/* Takes jobs until the queue is full. Returns 1 if a job was taken, 0 if not, -1 for an error. */
static int take_in(spool *s, kf_error *error)
{
    int any = 0;
    for (char id[KF_JOB_ID_BYTES + 1]; s->queue.count < s->queue.most; any = 1) {
        int got = take(s, id, error);
        if (got < 0 || (got == 1 && !begin(s, id, error))) return -1;
        if (got == 0) break;
    }
    return any;
}

static bool serve(spool *s, bool once, kf_error *error)
{
    double hello_touched = kf_now(), looked = -1;
    while (!s->stop || !*s->stop) {
        if (kf_now() - looked >= s->poll_seconds) watch_leases(s), looked = kf_now();
        if (kf_now() - hello_touched > s->lease_seconds / 4)
            utimensat(AT_FDCWD, s->hello, NULL, 0), hello_touched = kf_now();
        int got = take_in(s, error), at = kf_job_queue_choose(&s->queue);
        if (got < 0 || (at >= 0 && !measure_one(s, (size_t)at, error))) return false;
        if (got || at >= 0) continue;
        if (once && !s->queue.count && !others_busy(s)) return true;
        pause_for(s);
    }
    return true;
}

/* Gives all jobs of the queue back. */
static void leave(spool *s)
{
    while (s->queue.count) {
        holder *h = s->queue.jobs[s->queue.count - 1].mark;
        kf_job_queue_remove(&s->queue, s->queue.count - 1);
        conclude(s, h, NULL, NULL);
    }
    kf_job_queue_close(&s->queue);
}

static char *make_folder(const char *directory, const char *name, kf_error *error)
{
    kf_autofree char *path = kf_path_join(directory, name);
    if (!path) kf_fail_memory(error, "a spool folder");
    return path && kf_directory_make(path, error) ? kf_steal(&path) : NULL;
}

/* Makes the name HOST.PID.RANDOM of characters that are valid in every file system. */
static bool make_name(char name[NAME_BYTES], kf_error *error)
{
    char host[64] = "host";
    unsigned chance;
    if (!kf_random(&chance, sizeof chance))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel's random source (getrandom) refuses");
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", *c))
            *c = '-';
    snprintf(name, NAME_BYTES, "%s.%ld.%08x", host, (long)getpid(), chance);
    return true;
}

bool kf_worker_spool(kf_judge *judge, const char *directory, const kf_spool_options *options,
                     const volatile int *stop, kf_error *error)
{
    static const kf_spool_options defaults;
    if (!options) options = &defaults;
    kf_autofree char *jobs = make_folder(directory, "jobs", error),
                     *taken = make_folder(directory, "taken", error);
    kf_autofree char *verdicts = make_folder(directory, "verdicts", error),
                     *workers = make_folder(directory, "workers", error);
    kf_autofree char *line = kf_worker_hello(judge, error);
    if (!jobs || !taken || !verdicts || !workers || !line) return false;
    kf_autofree spool *s = calloc(1, sizeof *s);
    char hello[PATH_MAX];
    if (!s) return kf_fail_memory(error, "a spool folder");
    *s = (spool){.jobs = jobs, .taken = taken, .verdicts = verdicts, .hello = hello, .stop = stop};
    s->poll_seconds = options->poll_seconds > 0 ? options->poll_seconds : 0.2;
    s->lease_seconds = options->lease_seconds > 0 ? options->lease_seconds : KF_SPOOL_LEASE_SECONDS;
    if (!make_name(s->name, error)) return false;
    if (!path_of(hello, sizeof hello, workers, s->name, ".json"))
        return kf_fail(error, KF_ERROR_INPUT, "%s: the path is too long", workers);
    if (!kf_file_write(hello, line, strlen(line), error)) return false;
    bool served = kf_job_queue_open(&s->queue, judge, error);
    if (served) {
        s->queue.events = options->events;
        served = serve(s, options->once, error);
        leave(s);
    }
    unlink(hello);
    return served;
}
