/* kf_sandbox_spawn: chooses the layers, makes the plan and starts the child. README.md describes
 * the processes. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include "kforge/file.h"

static bool make_poll_set(kf_sandbox *sandbox, kf_error *error)
{
    struct epoll_event event = {.events = EPOLLIN};
    sandbox->epoll = epoll_create1(EPOLL_CLOEXEC);
    sandbox->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    bool made = sandbox->epoll >= 0 && sandbox->timer >= 0;
    if (made && sandbox->limits.wall_seconds > 0) {
        double deadline = sandbox->started + sandbox->limits.wall_seconds;
        struct itimerspec when = {
            .it_value = {.tv_sec = (time_t)deadline,
                         .tv_nsec = (long)((deadline - (double)(time_t)deadline) * 1e9)}};
        sandbox->deadline = deadline;
        made = timerfd_settime(sandbox->timer, TFD_TIMER_ABSTIME, &when, NULL) == 0;
    }
    if (sandbox->limits.cpu_seconds > 0)
        sandbox->cpu_check = kf_next_cpu_check(sandbox, sandbox->started);
    int fds[] = {sandbox->output_fd, sandbox->pidfd, sandbox->timer};
    for (size_t i = 0; i < 3 && made; i++) {
        event.data.fd = fds[i];
        made = epoll_ctl(sandbox->epoll, EPOLL_CTL_ADD, fds[i], &event) == 0;
    }
    return made || kf_fail(error, KF_ERROR_MACHINE, "sandbox: setting up the watchdog: %s",
                           strerror(errno));
}

/* Chooses the layers of this child. Fails if `strict` and the machine refuses a wanted one. */
static bool choose_layers(const kf_sandbox_spec *spec, int *layers, kf_error *error)
{
    int wanted = spec->layers ? spec->layers & KF_LAYER_ALL : KF_LAYER_ALL;
    if (spec->seccomp == KF_SECCOMP_AGENT) wanted &= ~KF_LAYER_NET_NS;
    *layers = wanted & kf_sandbox_available(NULL);
    int missing = wanted & ~*layers;
    if (!spec->strict || !missing) return true;
    kf_autobuffer names = {0};
    for (int bit = 1; bit <= KF_LAYER_ALL; bit <<= 1)
        if (missing & bit)
            kf_buffer_format(&names, " %s", kf_sandbox_layer_name((kf_sandbox_layer)bit));
    return kf_fail(
        error, KF_ERROR_MACHINE,
        "sandbox: strict, but this machine refuses:%s; `kforge doctor` gives the reasons and "
        "remedies, or run without strict",
        names.data ? names.data : "");
}

/* Fails if the caller ignores SIGCHLD: the kernel then reaps its children and drops their status.
 */
static bool check_caller(kf_error *error)
{
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action)) return true;
    if ((!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN) ||
        (action.sa_flags & SA_NOCLDWAIT))
        return kf_fail(error, KF_ERROR_INPUT,
                       "sandbox: the calling program ignores SIGCHLD, so the kernel drops the exit "
                       "status of its children; set SIGCHLD to SIG_DFL");
    return true;
}

static bool start(kf_sandbox *sandbox, const kf_plan *plan, kf_error *error)
{
    int output[2];
    if (pipe2(output, O_CLOEXEC))
        return kf_fail(error, KF_ERROR_MACHINE, "sandbox: pipe: %s", strerror(errno));
    sandbox->output_fd = output[0];
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    fcntl(output[0], F_SETPIPE_SZ, 1 << 18);
    /* A source may make the compiler open /proc/self/fd/1 for reading. Without read permission that
     * fails instead of blocking for ever. */
    fchmod(output[1], S_IWUSR);
    /* Without a pid namespace the caller adopts orphans of the tree, to count and reap them. */
    if (!(plan->layers & KF_LAYER_PID_NS)) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    kf_failure failure = {0};
    sandbox->started = kf_now();
    bool running =
        kf_spawn_child(plan, &sandbox->cgroup, output[1], &sandbox->pid, &sandbox->pidfd, &failure);
    close(output[1]);
    if (running) return true;
    kf_failure_text(&failure, plan, error);
    return false;
}

kf_sandbox *kf_sandbox_spawn(const kf_sandbox_spec *spec, kf_error *error)
{
    kf_plan plan __attribute__((cleanup(kf_plan_free))) = {0};
    int layers;
    if (!spec->argv || !spec->argv[0]) {
        kf_fail(error, KF_ERROR_INPUT, "sandbox: no program given");
        return NULL;
    }
    if (!check_caller(error) || !choose_layers(spec, &layers, error)) return NULL;
    kf_auto(kf_sandbox) sandbox = calloc(1, sizeof *sandbox);
    if (!sandbox) {
        kf_fail_memory(error, "a sandbox");
        return NULL;
    }
    *sandbox = (kf_sandbox){.pidfd = -1,
                            .epoll = -1,
                            .timer = -1,
                            .output_fd = -1,
                            .cgroup.fd = -1,
                            .guard = -1,
                            .guard_fd = -1};
    sandbox->limits = spec->limits;
    sandbox->profile = spec->seccomp;
    sandbox->output.limit = spec->limits.output_bytes ? spec->limits.output_bytes : 1u << 20;
    if ((layers & KF_LAYER_CGROUP) && !kf_cgroup_create(&sandbox->cgroup, &spec->limits, error))
        return NULL;
    if (!kf_plan_build(spec, layers, kf_host_proc(), &plan, error) || !start(sandbox, &plan, error))
        return NULL;
    sandbox->layers = plan.layers;
    sandbox->temporary = kf_steal(&plan.temporary);
    bool scattered = !(plan.layers & KF_LAYER_PID_NS) && kf_may_have_descendants(sandbox);
    if (scattered || sandbox->temporary)
        sandbox->guard = kf_guard_start(sandbox->pid, sandbox->temporary, &sandbox->guard_fd);
    /* on failure kf_auto frees the sandbox and so kills the child */
    if (!make_poll_set(sandbox, error)) return NULL;
    return kf_steal(&sandbox);
}
