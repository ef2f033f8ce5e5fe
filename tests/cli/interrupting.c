/* Preloaded into kforge: Ctrl-C comes exactly with the file number $INTERRUPT_AT that is synced,
 * and $INTERRUPT_LOG gets a byte for each. A signal from outside would come too early or too late
 * on a machine that is busy. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int synced(const char *name, int fd)
{
    static int count;
    const char *at = getenv("INTERRUPT_AT"), *path = getenv("INTERRUPT_LOG");
    int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (log >= 0) {
        (void)!write(log, "x", 1);
        close(log);
    }
    if (at && ++count == atoi(at)) raise(SIGINT);
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return real ? real(fd) : 0;
}

int fsync(int fd)
{
    return synced("fsync", fd);
}

int fdatasync(int fd) /* SQLite's */
{
    return synced("fdatasync", fd);
}
