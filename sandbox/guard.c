/* The guard: a process that cleans up after the caller dies, for trees without a pid namespace.
 *
 * When the caller dies, the kernel kills its child (PR_SET_PDEATHSIG), and in a pid namespace the
 * rest of the tree with it. Without a pid namespace, processes that a compiler driver started would
 * survive. The guard waits until the caller's end of a pipe closes. It then kills the process
 * group, which the system call filter lets no process leave, removes the directory in place of
 * /tmp, and ends. It has no exit signal, so the caller's waitpid(-1) does not see it. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* Runs in a clone of a process with possibly many threads, so it makes only async-signal-safe
 * calls. */
static noreturn void watch(pid_t leader, const char *temporary, int caller)
{
    char byte;
    /* Ctrl-C on the caller's terminal must not end the guard */
    setsid();
    if (caller != 3) {
        dup3(caller, 3, O_CLOEXEC);
        caller = 3;
    }
    syscall(SYS_close_range, 4, ~0u, 0);
    for (int fd = 0; fd < 3; fd++) close(fd);
    while (read(caller, &byte, 1) < 0 && errno == EINTR) continue;
    for (int i = 0; i < 500 && kill(-leader, SIGKILL) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    char *const remove[] = {"rm", "-rf", "--", (char *)(uintptr_t)temporary, NULL},
                *const environment[] = {NULL};
    if (temporary) execve("/bin/rm", remove, environment);
    kf_exit_child(0);
}

pid_t kf_guard_start(pid_t leader, const char *temporary, int *dismissal)
{
    int ends[2];
    *dismissal = -1;
    if (pipe2(ends, O_CLOEXEC)) return -1;
    uint64_t all = ~0ull, before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
    long guard = syscall(SYS_clone, 0, NULL, NULL, 0, 0);
    if (guard == 0) {
        KF_NEW_PROCESS();
        close(ends[1]);
        watch(leader, temporary, ends[0]);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    close(ends[0]);
    if (guard < 0) {
        close(ends[1]);
        return -1;
    }
    *dismissal = ends[1];
    return (pid_t)guard;
}

void kf_guard_dismiss(pid_t guard, int dismissal)
{
    if (guard <= 0) return;
    siginfo_t info;
    kill(guard, SIGKILL);
    while (kf_waitid(P_PID, guard, &info, WEXITED | __WALL, NULL) == -EINTR) continue;
    close(dismissal);
}
