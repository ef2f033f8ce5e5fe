/* Workers behind a folder (worker.h). This side writes jobs into DIR/jobs and reads the answers
 * from DIR/verdicts. The workers decide which of them takes a job, and handle one that ends with a
 * job. This side also removes the files of jobs that no worker took. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine_failures.h"
#include "kforge/file.h"
#include "worker_protocol.h"
#include "workers_internal.h"

#define SCAN_SECONDS 0.05
#define SLOTS_MAX 256

#define HELLOS 256

typedef struct slot {
    kf_pending *job;
    /* When the job's own limits are over. 0: no worker has taken it yet. */
    double deadline;
    /* The time stamp of taken/ID.json, and when this side first saw it. */
    struct timespec stamp;
    double since;
} slot;

/* The hello of a worker: its time stamp, and when this side first saw it. */
typedef struct hello {
    char name[256];
    struct timespec stamp;
    double since;
} hello;

typedef struct spool_channel {
    kf_channel channel;
    char *jobs, *taken, *verdicts, *workers;
    double grace, looked, cleaned;
    bool has_hello;
    hello *hellos;
    size_t hello_count;
    slot slots[SLOTS_MAX];
    size_t slot_count, used;
} spool_channel;

static void path_of(char path[PATH_MAX], const char *folder, const char *id)
{
    snprintf(path, PATH_MAX, "%s/%s.json", folder, id);
}

/* Returns the seconds after which a taken job without a new time stamp is lost. Another worker
 * takes it back after a lease, and this side waits longer than that. */
static double lost_seconds(const spool_channel *s)
{
    return s->channel.pool->alive_seconds * KF_ALIVE_MISSED * 1.25;
}

static bool same_stamp(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Returns the path of the newest hello, NULL without a hello. *count is the number of hellos. */
static char *newest_hello(const spool_channel *s, int *count)
{
    kf_autofree char *newest = NULL;
    time_t newest_time = 0;
    DIR *directory = opendir(s->workers);
    *count = 0;
    if (!directory) return NULL;
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        struct stat status;
        if (length < 6 || strcmp(entry->d_name + length - 5, ".json") != 0 ||
            entry->d_name[0] == '.' || fstatat(dirfd(directory), entry->d_name, &status, 0) < 0)
            continue;
        ++*count;
        if (newest && status.st_mtime < newest_time) continue;
        free(newest);
        newest = kf_path_join(s->workers, entry->d_name);
        newest_time = status.st_mtime;
    }
    closedir(directory);
    return kf_steal(&newest);
}

static void read_hello(spool_channel *s)
{
    int count;
    kf_autofree char *newest = newest_hello(s, &count);
    size_t size;
    kf_autofree char *text = newest ? kf_file_read(newest, 1 << 20, &size, NULL) : NULL;
    if (!text) return;
    kf_error why = {0};
    s->has_hello = kf_pool_hello(s->channel.pool, &s->channel, text, size, &why);
    if (!s->has_hello)
        kf_pool_failed(s->channel.pool, &s->channel, NULL, why.code == KF_ERROR_MACHINE, &why);
}

/* Removes the hellos of workers that ended without doing so. Compares stamps with this side's own
 * clock, because a file server has another. */
static void remove_old_hellos(spool_channel *s, double now)
{
    if (now - s->cleaned < s->channel.pool->alive_seconds) return;
    s->cleaned = now;
    DIR *directory = opendir(s->workers);
    if (!directory) return;
    size_t kept = 0;
    kf_autofree hello *fresh = calloc(HELLOS, sizeof *fresh);
    for (struct dirent *entry; fresh && (entry = readdir(directory)) && kept < HELLOS;) {
        struct stat status;
        size_t length = strlen(entry->d_name);
        if (length < 6 || length >= sizeof fresh->name || entry->d_name[0] == '.' ||
            strcmp(entry->d_name + length - 5, ".json") != 0 ||
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        hello *at = &fresh[kept];
        *at = (hello){.stamp = status.st_mtim, .since = now};
        memcpy(at->name, entry->d_name, length + 1);
        for (size_t i = 0; i < s->hello_count; i++)
            if (strcmp(s->hellos[i].name, at->name) == 0 &&
                same_stamp(&s->hellos[i].stamp, &at->stamp))
                at->since = s->hellos[i].since;
        if (now - at->since < 3 * lost_seconds(s))
            kept++;
        else
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    closedir(directory);
    if (!fresh) return;
    free(s->hellos);
    s->hellos = kf_steal(&fresh);
    s->hello_count = kept;
}

/* Removes the files of a job. A worker that is still busy with it then gives no answer. */
static void remove_files(const spool_channel *s, const kf_pending *job)
{
    char path[PATH_MAX];
    path_of(path, s->jobs, job->id);
    unlink(path);
    path_of(path, s->taken, job->id);
    unlink(path);
    /* Without these two files its worker stops within a second. */
    snprintf(path, sizeof path, "%s/%s.owner", s->taken, job->id);
    unlink(path);
    path_of(path, s->verdicts, job->id);
    /* It may be an empty folder. */
    remove(path);
}

static void fail_slot(spool_channel *s, slot *at, const kf_error *why)
{
    kf_pending *job = kf_steal(&at->job);
    s->used--;
    remove_files(s, job);
    kf_pool_failed(s->channel.pool, &s->channel, job, false, why);
}

/* Gives the folder up: other channels get its jobs. */
static void clear_slots(spool_channel *s)
{
    for (size_t i = 0; i < s->slot_count; i++) {
        if (!s->slots[i].job) continue;
        remove_files(s, s->slots[i].job);
        kf_pool_hand_back(s->channel.pool, kf_steal(&s->slots[i].job));
        s->used--;
    }
}

/* Raises the limit of machine failures. Each worker of the folder ends by itself after
 * KF_MACHINE_FAILURES of them (spool.c), and an answer does not name its worker. */
static void raise_failure_limit(spool_channel *s)
{
    int count;
    free(newest_hello(s, &count));
    if (count * KF_MACHINE_FAILURES > s->channel.max_machine_failures)
        s->channel.max_machine_failures = count * KF_MACHINE_FAILURES;
}

static void check_slot(spool_channel *s, slot *at, double now)
{
    char verdict[PATH_MAX], waiting[PATH_MAX];
    kf_error why = {0};
    path_of(verdict, s->verdicts, at->job->id);
    path_of(waiting, s->jobs, at->job->id);
    if (access(verdict, F_OK) != 0) {
        double limit = at->job->limit + s->grace + 2 * KF_SPOOL_LEASE_SECONDS;
        if (access(waiting, F_OK) == 0) {
            at->deadline = at->job->began = 0;
            return;
        }
        struct stat status = {0};
        path_of(waiting, s->taken, at->job->id);
        stat(waiting, &status);
        if (!at->deadline) at->deadline = now + limit;
        if (!at->job->began) at->job->began = now;
        if (!at->since || !same_stamp(&at->stamp, &status.st_mtim)) {
            at->stamp = status.st_mtim;
            at->since = now;
        }
        bool lost = now - at->since >= lost_seconds(s);
        if (now < at->deadline && !lost) return;
        if (lost)
            kf_fail(&why, KF_ERROR_MACHINE,
                    "the worker that took a job has not touched it for %.0f s; check its machine",
                    lost_seconds(s));
        else
            kf_fail(&why, KF_ERROR_MACHINE, "a job was taken %.0f s ago and never answered", limit);
        fail_slot(s, at, &why);
        return;
    }
    size_t size;
    kf_autofree char *text = kf_file_read(verdict, KF_JOB_BYTES, &size, &why);
    kf_autofree char *id = strdup(at->job->id);
    if (s->channel.machine_failures)
        /* At every failure: the worker ends after its last one, and its hello may be gone by then.
         */
        raise_failure_limit(s);
    if (!id || !text || !kf_pool_answer(s->channel.pool, &s->channel, at->job, text, size, &why)) {
        fail_slot(s, at, &why);
        return;
    }
    at->job = NULL;
    s->used--;
    unlink(verdict);
    path_of(waiting, s->jobs, id);
    unlink(waiting);
    if (!s->channel.retiring) return;
    kf_error last = s->channel.why;
    kf_pool_failed(s->channel.pool, &s->channel, NULL, true, &last);
}

static size_t spool_room(const kf_channel *channel)
{
    const spool_channel *s = (const spool_channel *)channel;
    return s->has_hello ? s->slot_count - s->used : 0;
}

static size_t spool_busy(const kf_channel *channel)
{
    return ((const spool_channel *)channel)->used;
}

static void spool_begin(kf_channel *channel, kf_pending *job)
{
    spool_channel *s = (spool_channel *)channel;
    slot *at = s->slots;
    while (at->job) at++;
    *at = (slot){.job = job};
    s->used++;
    char path[PATH_MAX];
    kf_error why = {0};
    path_of(path, s->jobs, job->id);
    if (!kf_file_write(path, job->line, job->size, &why)) fail_slot(s, at, &why);
}

static void spool_advance(kf_channel *channel, double now)
{
    spool_channel *s = (spool_channel *)channel;
    if (now - s->looked < SCAN_SECONDS) return;
    s->looked = now;
    if (access(s->jobs, F_OK) != 0 || access(s->verdicts, F_OK) != 0) {
        kf_error why;
        kf_fail(&why, KF_ERROR_MACHINE,
                "the folder %s or %s is gone (%s); make it again, start its workers, and resume",
                s->jobs, s->verdicts, strerror(errno));
        clear_slots(s);
        kf_pool_failed(s->channel.pool, channel, NULL, true, &why);
        return;
    }
    remove_old_hellos(s, now);
    if (!s->has_hello) read_hello(s);
    for (size_t i = 0; i < s->slot_count && !channel->given_up; i++)
        if (s->slots[i].job) check_slot(s, &s->slots[i], now);
    if (channel->given_up) clear_slots(s);
}

static int spool_watch(const kf_channel *channel, struct pollfd fds[KF_CHANNEL_FDS], double *wake)
{
    (void)fds;
    double next = ((const spool_channel *)channel)->looked + SCAN_SECONDS;
    if (next < *wake) *wake = next;
    return 0;
}

/* No worker has a file that can still be removed from jobs/: of this unlink and a worker's rename
 * one succeeds. */
static size_t spool_withdraw(kf_channel *channel, int64_t *tickets, size_t most)
{
    spool_channel *s = (spool_channel *)channel;
    size_t count = 0;
    for (size_t i = 0; i < s->slot_count && count < most; i++) {
        if (!s->slots[i].job) continue;
        char path[PATH_MAX];
        path_of(path, s->jobs, s->slots[i].job->id);
        if (unlink(path) < 0) continue;
        tickets[count++] = s->slots[i].job->ticket;
        kf_pending_free(s->slots[i].job);
        s->slots[i].job = NULL;
        s->used--;
    }
    return count;
}

static bool spool_cancel(kf_channel *channel, int64_t ticket, double *began)
{
    spool_channel *s = (spool_channel *)channel;
    for (size_t i = 0; i < s->slot_count; i++) {
        kf_pending *job = s->slots[i].job;
        if (!job || job->ticket != ticket) continue;
        *began = job->began;
        remove_files(s, job);
        kf_pending_free(job);
        s->slots[i].job = NULL;
        s->used--;
        return true;
    }
    return false;
}

static void spool_close(kf_channel *channel)
{
    spool_channel *s = (spool_channel *)channel;
    for (size_t i = 0; i < s->slot_count; i++) {
        if (!s->slots[i].job) continue;
        remove_files(s, s->slots[i].job);
        kf_pending_free(s->slots[i].job);
    }
    free(s->hellos);
    free(s->jobs);
    free(s->taken);
    free(s->verdicts);
    free(s->workers);
    free(s->channel.name);
    free(s);
}

static const kf_channel_kind spool_kind = {
    .room = spool_room,
    .busy = spool_busy,
    .begin = spool_begin,
    .advance = spool_advance,
    .watch = spool_watch,
    .withdraw = spool_withdraw,
    .cancel = spool_cancel,
    .close = spool_close,
};

static char *make_folder(const char *directory, const char *name, kf_error *error)
{
    kf_autofree char *path = kf_path_join(directory, name);
    if (!path) kf_fail_memory(error, "a path");
    return path && kf_directory_make(path, error) ? kf_steal(&path) : NULL;
}

kf_channel *kf_spool_open(kf_workers *pool, const char *directory, size_t jobs,
                          const kf_workers_options *options, kf_error *error)
{
    if (!*directory || strlen(directory) > PATH_MAX - 256) {
        kf_fail(error, KF_ERROR_INPUT, "workers \"spool:%.100s\": expected spool:DIR", directory);
        return NULL;
    }
    spool_channel *s = calloc(1, sizeof *s);
    if (!s) {
        kf_fail_memory(error, "a worker");
        return NULL;
    }
    s->channel = (kf_channel){.kind = &spool_kind, .pool = pool};
    s->grace = options->grace_seconds > 0 ? options->grace_seconds : 60;
    s->slot_count = jobs < SLOTS_MAX ? jobs : SLOTS_MAX;
    if (asprintf(&s->channel.name, "spool:%s", directory) < 0) s->channel.name = NULL;
    if (s->channel.name && (s->jobs = make_folder(directory, "jobs", error)) &&
        (s->taken = make_folder(directory, "taken", error)) &&
        (s->verdicts = make_folder(directory, "verdicts", error)) &&
        (s->workers = make_folder(directory, "workers", error)))
        return &s->channel;
    if (!s->channel.name) kf_fail_memory(error, "a worker");
    spool_close(&s->channel);
    return NULL;
}
