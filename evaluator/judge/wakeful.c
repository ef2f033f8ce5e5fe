#include "wakeful.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

int kf_wakeful_begin(void)
{
    const int32_t microseconds = 0;
    int fd = open(KF_WAKEFUL_FILE, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, &microseconds, sizeof microseconds) == sizeof microseconds) return fd;
    if (fd >= 0) close(fd);
    return -1;
}
