#include "launch_affinity.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

bool kf_launch_affinity_bind(kf_launch_affinity *affinity, pid_t pid)
{
    if (!affinity->launcher) return false;
    if (CPU_COUNT(&affinity->unbound) == 0 &&
        sched_getaffinity(pid, sizeof affinity->unbound, &affinity->unbound))
        return false;
    return sched_setaffinity(pid, sizeof *affinity->launcher, affinity->launcher) == 0;
}

void kf_launch_affinity_free_threads(kf_launch_affinity *affinity, pid_t pid)
{
    char path[64];
    struct stat tasks;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    if (stat(path, &tasks) || tasks.st_nlink == affinity->threads) return;
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *item; (item = readdir(folder));) {
        pid_t thread = (pid_t)strtol(item->d_name, NULL, 10);
        if (thread > 0 && thread != pid)
            sched_setaffinity(thread, sizeof affinity->unbound, &affinity->unbound);
    }
    closedir(folder);
    affinity->threads = tasks.st_nlink;
}

bool kf_launch_affinity_left(kf_launch_affinity *affinity, pid_t pid)
{
    cpu_set_t now;
    return sched_getaffinity(pid, sizeof now, &now) == 0 && !CPU_EQUAL(&now, affinity->launcher) &&
           kf_launch_affinity_bind(affinity, pid);
}
