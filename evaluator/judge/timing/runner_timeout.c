#include "runner_timeout.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kforge/cleanup.h"

#define LAST_PRIORITY 19
#define UNDISTURBED_SECONDS 0.25

/* Of the job that this thread measures. NULL: no job. */
static _Thread_local kf_clock *bound;

void kf_runner_timeout_bound(kf_clock *clock)
{
    bound = clock;
}

static void add_stall(kf_runner_timeout *runner_timeout, double seconds)
{
    runner_timeout->stalled += seconds;
    if (bound && !bound->paused) bound->stalled += seconds;
}

void kf_runner_timeout_begin(kf_runner_timeout *runner_timeout, double seconds, double now)
{
    *runner_timeout = (kf_runner_timeout){.seconds = seconds, .looked = now, .threads = -1};
}

/* Reads how many seconds the thread of that file had a processor, and was ready without one. Both
 * are `unknown` if the kernel does not count them. */
static void read_schedule(const char *path, double unknown, double *ran, double *queued)
{
    char text[128];
    *ran = *queued = unknown;
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t size = read(fd, text, sizeof text - 1);
    if (size <= 0) return;
    text[size] = '\0';
    unsigned long long had, lacked;
    if (sscanf(text, "%llu %llu", &had, &lacked) != 2) return;
    *ran = 1e-9 * (double)had;
    *queued = 1e-9 * (double)lacked;
}

static struct kf_runner_timeout_thread read_thread(pid_t pid, pid_t thread)
{
    char path[64];
    struct kf_runner_timeout_thread t = {.thread = thread};
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread);
    read_schedule(path, 0, &t.ran, &t.queued);
    return t;
}

static double processor_seconds(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (pid <= 0 || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void kf_runner_timeout_watch(kf_runner_timeout *runner_timeout, pid_t pid)
{
    runner_timeout->watched = true;
    double ran;
    runner_timeout->computed = processor_seconds(pid);
    read_schedule("/proc/thread-self/schedstat", INFINITY, &ran, &runner_timeout->starved);
}

double kf_runner_timeout_foreign(double queued, double ran, double computed)
{
    return fmax(queued - fmax(computed - ran, 0), 0);
}

/* Notes how long each thread has waited for a processor so far. Returns the largest increase of one
 * thread since the last call, and in *foreign the largest part of one that only other programs can
 * have caused. A new thread counts from here. */
static double look_at_queue(kf_runner_timeout *runner_timeout, pid_t pid, double *foreign)
{
    char path[64];
    *foreign = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = pid > 0 ? opendir(path) : NULL;
    if (!folder) return 0;
    struct kf_runner_timeout_thread now[KF_RUNNER_TIMEOUT_THREADS];
    int count = 0;
    double most = 0, all = processor_seconds(pid), computed = all - runner_timeout->counted;
    runner_timeout->counted = all;
    for (struct dirent *item; count < KF_RUNNER_TIMEOUT_THREADS && (item = readdir(folder));) {
        pid_t thread = (pid_t)strtol(item->d_name, NULL, 10);
        if (thread <= 0) continue;
        now[count] = read_thread(pid, thread);
        for (int i = 0; i < runner_timeout->threads; i++) {
            const struct kf_runner_timeout_thread *before = &runner_timeout->queue[i];
            if (before->thread != thread) continue;
            double waited = now[count].queued - before->queued, ran = now[count].ran - before->ran;
            most = fmax(most, waited);
            *foreign = fmax(*foreign, kf_runner_timeout_foreign(waited, ran, computed));
        }
        count++;
    }
    closedir(folder);
    for (int i = 0; i < count; i++) runner_timeout->queue[i] = now[i];
    runner_timeout->threads = count;
    return most;
}

void kf_runner_timeout_spend(kf_runner_timeout *runner_timeout, double went, double computed,
                             double starved)
{
    double late = fmax(went - 2 * KF_RUNNER_TIMEOUT_TURN, 0),
           own = fmin(late, fmax(fmin(computed, starved), 0));
    runner_timeout->used += went - late + own;
    add_stall(runner_timeout, late - own);
}

/* Lowers the priority of a runner with very many threads. They would keep the judge from running
 * while it accounts for them, for a thousand times as long as that takes otherwise. Raising the
 * priority again takes rights that the judge may lack, so runners with few threads keep theirs. */
static void lower_priority_of_many(pid_t pid)
{
    char path[64];
    struct stat folder;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    if (stat(path, &folder) == 0 && folder.st_nlink > 2 + KF_RUNNER_TIMEOUT_CROWD)
        setpriority(PRIO_PGRP, (id_t)pid, LAST_PRIORITY);
}

/* Counts a wait that other programs caused as a stall. It is no longer than the time that counted
 * since the last look at the threads, because the judge may have waited meanwhile. False if it is
 * too short. */
static bool excuse(kf_runner_timeout *runner_timeout, double foreign)
{
    double own = runner_timeout->seconds - runner_timeout->granted,
           most = KF_RUNNER_TIMEOUT_LOAD * own - runner_timeout->excused;
    foreign = fmin(foreign, fmin(most, runner_timeout->used - runner_timeout->marked));
    if (foreign >= KF_RUNNER_TIMEOUT_TURN) {
        runner_timeout->excused += foreign;
        add_stall(runner_timeout, foreign);
        runner_timeout->used -= foreign;
    }
    runner_timeout->marked = runner_timeout->used;
    return foreign >= KF_RUNNER_TIMEOUT_TURN;
}

bool kf_runner_timeout_look(kf_runner_timeout *runner_timeout, pid_t pid, double now)
{
    double went = now - runner_timeout->looked, computed = 0, starved = 0;
    runner_timeout->looked = now;
    /* Sooner the numbers would not have changed, and looking may disturb a batch. */
    if (runner_timeout->watched && went > KF_RUNNER_TIMEOUT_TURN / 2) {
        const kf_runner_timeout before = *runner_timeout;
        kf_runner_timeout_watch(runner_timeout, pid);
        computed = runner_timeout->computed - before.computed;
        starved = isinf(before.starved) ? INFINITY : runner_timeout->starved - before.starved;
    }
    kf_runner_timeout_spend(runner_timeout, went, computed, starved);
    if (went > 2 * KF_RUNNER_TIMEOUT_TURN && fmin(computed, starved) > KF_RUNNER_TIMEOUT_TURN)
        lower_priority_of_many(pid);
    /* Looking takes processor time during a batch, so short ones are not looked at. */
    double foreign;
    if (runner_timeout->threads < 0 &&
        runner_timeout->used > fmin(0.5 * runner_timeout->seconds, UNDISTURBED_SECONDS)) {
        look_at_queue(runner_timeout, pid, &foreign);
        runner_timeout->marked = runner_timeout->used;
    }
    bool ends = bound && kf_clock_at_ceiling(bound, now);
    if (!ends && runner_timeout->used < runner_timeout->seconds) return true;
    double queued = look_at_queue(runner_timeout, pid, &foreign);
    if (excuse(runner_timeout, foreign) && !ends) return true;
    if (ends) return false;
    double grant = fmin(queued, KF_RUNNER_TIMEOUT_GRANT - runner_timeout->granted);
    if (grant < KF_RUNNER_TIMEOUT_TURN) return false;
    runner_timeout->granted += grant;
    runner_timeout->seconds += grant;
    return true;
}

void kf_runner_timeout_end(kf_runner_timeout *runner_timeout, pid_t pid)
{
    double foreign;
    if (runner_timeout->threads < 0) return;
    look_at_queue(runner_timeout, pid, &foreign);
    excuse(runner_timeout, foreign);
}

int kf_runner_timeout_sleep(const kf_runner_timeout *runner_timeout)
{
    double left = fmax(runner_timeout->seconds - runner_timeout->used, 0);
    return (int)(fmin(left, KF_RUNNER_TIMEOUT_TURN) * 1000) + 1;
}
