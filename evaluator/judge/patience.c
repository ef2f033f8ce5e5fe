#include "patience.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "kforge/file.h"

void kf_patience_begin(kf_patience *patience, double seconds, double now)
{
    *patience = (kf_patience){.seconds = seconds, .looked = now, .threads = -1};
}

static double queued(pid_t pid, pid_t thread)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread);
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t size = read(fd, text, sizeof text - 1);
    if (size <= 0) return 0;
    text[size] = '\0';
    unsigned long long nanoseconds;
    return sscanf(text, "%*u %llu", &nanoseconds) == 1 ? 1e-9 * (double)nanoseconds : 0;
}

/* Notes for how long each thread has queued so far; returns the most that one has queued since the last time. One that is new counts from here. */
static double look_at_queue(kf_patience *patience, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = pid > 0 ? opendir(path) : NULL;
    if (!folder) return 0;
    struct kf_patience_thread now[KF_PATIENCE_THREADS];
    int count = 0;
    double most = 0;
    for (struct dirent *item; count < KF_PATIENCE_THREADS && (item = readdir(folder));) {
        pid_t thread = (pid_t)strtol(item->d_name, NULL, 10);
        if (thread <= 0) continue;
        now[count] = (struct kf_patience_thread){thread, queued(pid, thread)};
        for (int i = 0; i < patience->threads; i++)
            if (patience->queue[i].thread == thread) most = fmax(most, now[count].queued - patience->queue[i].queued);
        count++;
    }
    closedir(folder);
    for (int i = 0; i < count; i++) patience->queue[i] = now[i];
    patience->threads = count;
    return most;
}

bool kf_patience_look(kf_patience *patience, pid_t pid, double now)
{
    double went = now - patience->looked, most = 2 * KF_PATIENCE_TURN;
    patience->looked = now;
    patience->used += fmin(went, most);
    patience->stalled += fmax(went - most, 0);
    /* Not before half of it is gone: whoever answers soon is not to be watched, which takes processor time beside what is timed. */
    if (patience->threads < 0 && patience->used > 0.5 * patience->seconds) look_at_queue(patience, pid);
    if (patience->used < patience->seconds) return true;
    double grant = fmin(look_at_queue(patience, pid), KF_PATIENCE_GRANT - patience->granted);
    if (grant < KF_PATIENCE_TURN) return false;
    patience->granted += grant;
    patience->seconds += grant;
    return true;
}

int kf_patience_sleep(const kf_patience *patience)
{
    double left = fmax(patience->seconds - patience->used, 0);
    return (int)(fmin(left, KF_PATIENCE_TURN) * 1000) + 1;
}
