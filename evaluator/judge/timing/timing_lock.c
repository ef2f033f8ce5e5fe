#include "timing_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

int kf_timing_lock_open(const char *name, kf_error *error)
{
    char path[128];
    snprintf(path, sizeof path, "/tmp/kforge-%.80s.lock", name);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0) fchmod(fd, 0666); /* past the umask */
    }
    if (fd < 0) fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        kf_fail(
            error, KF_ERROR_MACHINE,
            "%s: cannot open: %s. This file keeps two processes from timing on one device: make it "
            "readable, or remove it",
            path, strerror(errno));
    return fd;
}

bool kf_timing_lock_take(int lock, const volatile int *stop, kf_error *error)
{
    while (flock(lock, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return kf_fail(error, KF_ERROR_MACHINE, "cannot lock a file /tmp/kforge-*.lock: %s",
                           strerror(errno));
        if (stop && *stop) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return true;
}

void kf_timing_lock_give_back(int lock)
{
    flock(lock, LOCK_UN);
}

bool kf_timing_lock_is_free(int lock)
{
    if (flock(lock, LOCK_EX | LOCK_NB) < 0) return false;
    flock(lock, LOCK_UN);
    return true;
}
