#include "kforge/run_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/file.h"

static char *read_output(int fd, size_t limit, double seconds)
{
    kf_autobuffer text = {.limit = limit};
    char piece[4096];
    for (double until = kf_now() + seconds;;) {
        struct pollfd watched = {.fd = fd, .events = POLLIN};
        int milliseconds = (int)((until - kf_now()) * 1000);
        if (milliseconds <= 0) return NULL;
        int ready = poll(&watched, 1, milliseconds);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return NULL;
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? NULL : kf_buffer_take(&text);
        kf_buffer_append(&text, piece, (size_t)got);
        if (text.failed) return NULL;
    }
}

char *kf_run_capture(const char *const *argv, const char *const *environment, size_t limit,
                     double seconds)
{
    extern char **environ;
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) < 0) return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv,
                              environment ? (char *const *)environment : environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    char *output = failed ? NULL : read_output(ends[0], limit, seconds);
    close(ends[0]);
    if (failed) return NULL;
    /* a program may close its output and go on */
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    return output;
}

void kf_child_begin(pid_t parent, int in, int out, int err)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
    /* Not on every kernel. kforge's own descriptors are close-on-exec anyway. */
    syscall(SYS_close_range, 3u, ~0u, 0u);
}
