/* System calls without the C library's wrappers, and features of the running kernel. */
#include "internal.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>

int kf_waitid(int type, pid_t id, siginfo_t *info, int options, struct rusage *usage)
{
    memset(info, 0, sizeof *info);
    return syscall(SYS_waitid, type, id, info, options, usage) ? -errno : 0;
}

void kf_pause(double seconds)
{
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)(fmod(seconds, 1) * 1e9)},
        NULL);
}

bool kf_kernel_at_least(int major, int minor)
{
    struct utsname name;
    int x = 0, y = 0;
    if (uname(&name) || sscanf(name.release, "%d.%d", &x, &y) != 2) return false;
    return x > major || (x == major && y >= minor);
}

static bool same_addresses;

static void try_personality(void)
{
    /* 0xffffffff reads the personality, which belongs to this thread alone */
    int usual = personality(0xffffffff);
    if (usual < 0 || personality((unsigned long)usual | ADDR_NO_RANDOMIZE) < 0) return;
    same_addresses = personality(0xffffffff) & ADDR_NO_RANDOMIZE;
    personality((unsigned long)usual);
}

bool kf_sandbox_same_addresses(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, try_personality);
    return same_addresses;
}
