#include "processor_time.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double kf_processor_seconds(pid_t pid)
{
    struct timespec time;
    clockid_t clock;
    return clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &time) == 0
               ? (double)time.tv_sec + 1e-9 * (double)time.tv_nsec
               : 0;
}

/* Has the kernel add up the time of a thread: it does before it changes the processors of a thread
 * that runs. The caller's own processor is the one to change, because no other thread runs there.
 * So the thread stays where it is. */
static void add_up(pid_t thread, int own)
{
    cpu_set_t before, changed;
    if (own < 0 || own >= CPU_SETSIZE || sched_getaffinity(thread, sizeof before, &before)) return;
    changed = before;
    if (CPU_ISSET(own, &before))
        CPU_CLR(own, &changed);
    else
        CPU_SET(own, &changed);
    /* One that may run here only does not run now. */
    if (CPU_COUNT(&changed) == 0 || sched_setaffinity(thread, sizeof changed, &changed)) return;
    sched_setaffinity(thread, sizeof before, &before);
}

double kf_processor_seconds_now(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder) return kf_processor_seconds(pid);
    for (struct dirent *item; (item = readdir(folder));) {
        pid_t thread = (pid_t)strtol(item->d_name, NULL, 10);
        if (thread > 0) add_up(thread, sched_getcpu());
    }
    closedir(folder);
    return kf_processor_seconds(pid);
}
