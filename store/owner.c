/* The process that owns a run: its number and its start time. The start time distinguishes it from
 * a later process with the same number. */
#include "owner.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kforge/cleanup.h"

/* Returns field 22 of /proc/PID/stat, the start time in clock ticks since boot. Returns 0 for a
 * zombie and for a process that does not exist. The name in field 2 may hold any bytes, so fields
 * are counted from the last parenthesis. */
static unsigned long long start_time(long pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    kf_autofclose FILE *file = fopen(path, "re");
    if (!file) return 0;
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    const char *at = strrchr(text, ')');
    unsigned long long ticks = 0;
    char state = 0;
    if (!at ||
        sscanf(at + 1,
               " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &state, &ticks) != 2)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : ticks;
}

void kf_owner_host(char host[KF_OWNER])
{
    if (gethostname(host, KF_OWNER) != 0) snprintf(host, KF_OWNER, "unknown");
    host[KF_OWNER - 1] = '\0';
}

void kf_owner_self(char owner[KF_OWNER])
{
    snprintf(owner, KF_OWNER, "%ld %llu", (long)getpid(), start_time(getpid()));
}

bool kf_owner_alive(const char *host, const char *owner, double updated, double now)
{
    char here[KF_OWNER];
    kf_owner_host(here);
    if (strcmp(host, here) != 0) return now - updated < KF_OWNER_SILENCE;
    long pid;
    unsigned long long ticks;
    return sscanf(owner, "%ld %llu", &pid, &ticks) == 2 && pid > 0 && ticks &&
           start_time(pid) == ticks;
}
