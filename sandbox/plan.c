/* Makes the plan before the clone: all that needs memory or names. child.c carries it out. */
#include "internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "kforge/file.h"

static const char *const default_environment[] = {
    "PATH=/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp",
    "TMPDIR=/tmp", NULL};

/* Copies the environment. Without a private /tmp, a variable with the value "/tmp" gets the
 * directory in its place. */
static bool plan_environment(const kf_sandbox_spec *spec, kf_plan *plan)
{
    const char *const *from = spec->environment ? spec->environment : default_environment;
    size_t count = 0;
    while (from[count]) count++;
    plan->environment = calloc(count + 1, sizeof *plan->environment);
    if (!plan->environment) return false;
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(from[i], '=');
        bool moved = plan->temporary && equals && strcmp(equals, "=/tmp") == 0;
        char *text = NULL;
        if (moved) {
            if (asprintf(&text, "%.*s=%s", (int)(equals - from[i]), from[i], plan->temporary) < 0)
                text = NULL;
        } else {
            text = strdup(from[i]);
        }
        if (!text) return false;
        plan->environment[plan->environment_count++] = text;
    }
    return true;
}

static void limit(kf_plan *plan, int resource, rlim_t value)
{
    plan->rlimits[plan->rlimit_count++] = (kf_plan_rlimit){resource, value};
}

/* RLIMIT_NPROC counts the threads of a user: since Linux 5.14 those of the new user namespace,
 * before that all on the machine. */
static rlim_t process_limit(const kf_sandbox_spec *spec, const kf_plan *plan)
{
    if ((plan->layers & KF_LAYER_USER_NS) && kf_kernel_at_least(5, 14))
        return spec->limits.processes;
    return spec->limits.processes + (rlim_t)kf_tree_user_threads(geteuid());
}

/* False if a limit of the user's shell is below the sandbox's own. A program that it ends would
 * look like one that went over the sandbox's. */
static bool check_limits(const kf_sandbox_spec *spec, kf_error *error)
{
    struct rlimit now;
    if (!spec->limits.file_bytes || getrlimit(RLIMIT_FSIZE, &now) != 0 ||
        now.rlim_cur >= spec->limits.file_bytes)
        return true;
    return kf_fail(error, KF_ERROR_MACHINE,
                   "files are limited to %llu KiB here, and a sandbox needs %llu KiB: raise the "
                   "limit with `ulimit -f unlimited`",
                   (unsigned long long)now.rlim_cur >> 10,
                   (unsigned long long)spec->limits.file_bytes >> 10);
}

static void plan_limits(const kf_sandbox_spec *spec, kf_plan *plan)
{
    const kf_sandbox_limits *limits = &spec->limits;
    limit(plan, RLIMIT_CORE, 0);
    limit(plan, RLIMIT_NOFILE, 4096);
    limit(plan, RLIMIT_MSGQUEUE, 0);
    limit(plan, RLIMIT_NICE, 0);
    limit(plan, RLIMIT_RTPRIO, 0);
    if (limits->file_bytes) limit(plan, RLIMIT_FSIZE, limits->file_bytes);
    /* A second above the limit of the tree, so that normally supervise.c kills and reports, for one
     * process as for many. */
    if (limits->cpu_seconds > 0) limit(plan, RLIMIT_CPU, (rlim_t)ceil(limits->cpu_seconds) + 1);
    /* Runtimes of agents reserve far more than they use. */
    if (limits->memory_bytes && spec->seccomp != KF_SECCOMP_AGENT)
        limit(plan, RLIMIT_DATA, limits->memory_bytes);
    if (!limits->processes) return;
    limit(plan, RLIMIT_NPROC, process_limit(spec, plan));
    /* RLIMIT_NPROC does not hold for the machine's root, even without capabilities. Since Linux
     * 6.14 each pid namespace has its own pid_max, of at least 301. Before that, pid_max is the
     * machine's and must stay. */
    if ((plan->layers & KF_LAYER_PID_NS) && kf_kernel_at_least(6, 14))
        plan->pid_maximum = limits->processes < 300       ? 301
                            : limits->processes > 4000000 ? 0
                                                          : (int)limits->processes + 1;
}

static bool plan_fds(const kf_sandbox_spec *spec, kf_plan *plan, kf_error *error)
{
    for (size_t i = 0; i < spec->fd_count; i++) {
        if (spec->fds[i].child < 3 || spec->fds[i].child > 255 || spec->fds[i].host < 0)
            return kf_fail(
                error, KF_ERROR_INPUT,
                "sandbox: descriptor %d as %d: give a number from 3 to 255 for the child",
                spec->fds[i].host, spec->fds[i].child);
        for (size_t j = 0; j < i; j++)
            if (spec->fds[j].child == spec->fds[i].child)
                return kf_fail(error, KF_ERROR_INPUT,
                               "sandbox: the child's descriptor %d is given twice",
                               spec->fds[i].child);
    }
    plan->fds = spec->fds;
    plan->fd_count = spec->fd_count;
    return true;
}

static bool plan_filter(const kf_sandbox_spec *spec, kf_plan *plan, kf_error *error)
{
    if (!(plan->layers & KF_LAYER_SECCOMP)) return true;
    const struct sock_filter *filter =
        kf_seccomp_filter(spec->seccomp, plan->layers, &plan->filter_count, error);
    if (!filter) return false;
    plan->filter = malloc(plan->filter_count * sizeof *filter);
    if (!plan->filter) return kf_fail_memory(error, "a sandbox");
    memcpy(plan->filter, filter, plan->filter_count * sizeof *filter);
    return true;
}

static const char *scratch_directory(void)
{
    static const char *const names[] = {"/tmp", "/run", "/mnt", "/var", "/usr"};
    struct stat status;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (lstat(names[i], &status) == 0 && S_ISDIR(status.st_mode)) return names[i];
    return "/proc";
}

static bool has_devices(const kf_sandbox_spec *spec)
{
    for (size_t i = 0; i < spec->path_count; i++)
        if (spec->paths[i].access & KF_PATH_DEVICE) return true;
    return false;
}

bool kf_plan_build(const kf_sandbox_spec *spec, int layers, bool host_proc, kf_plan *plan,
                   kf_error *error)
{
    /* A device's driver looks up its threads in /proc by number. If the child sees the host's
     * /proc, it must have the host's numbers, so it gets no pid namespace. */
    bool own_proc = (layers & KF_LAYER_MOUNT_NS) && (layers & KF_LAYER_PID_NS) && !host_proc;
    if (has_devices(spec) && !own_proc) layers &= ~KF_LAYER_PID_NS;
    /* The kernel requires no_new_privs for these two in an unprivileged process. */
    if (layers & (KF_LAYER_LANDLOCK | KF_LAYER_SECCOMP)) layers |= KF_LAYER_NO_NEW_PRIVS;
    *plan = (kf_plan){
        .layers = layers,
        .program = spec->argv ? spec->argv[0] : NULL,
        .argv = (char *const *)spec->argv,
        .directory = spec->directory ? spec->directory : "/",
        .scratch = scratch_directory(),
        .own_proc = own_proc,
        .no_proc_files = spec->no_proc_files,
        .fixed_code = spec->fixed_code,
        /* Runners are timed, so they keep their priority. */
        .nice = spec->seccomp == KF_SECCOMP_BUILD || spec->seccomp == KF_SECCOMP_TOOL ||
                spec->seccomp == KF_SECCOMP_AGENT,
        .network = spec->seccomp == KF_SECCOMP_AGENT,
        .same_addresses = spec->same_addresses && kf_sandbox_same_addresses(),
    };
    if (spec->argv && (!plan->program || plan->program[0] != '/'))
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: program '%s': give an absolute path",
                       plan->program ? plan->program : "");
    if (!(layers & KF_LAYER_MOUNT_NS) && spec->argv) {
        plan->temporary = kf_directory_temporary("kforge-sandbox", error);
        if (!plan->temporary) return false;
    }
    if (!plan_environment(spec, plan)) return kf_fail_memory(error, "a sandbox");
    if (layers & KF_LAYER_RLIMITS) plan_limits(spec, plan);
    return check_limits(spec, error) && plan_fds(spec, plan, error) &&
           plan_filter(spec, plan, error) && kf_plan_paths(spec, plan, error);
}

void kf_plan_free(kf_plan *plan)
{
    for (size_t i = 0; i < plan->environment_count; i++) free(plan->environment[i]);
    for (size_t i = 0; i < plan->mount_count; i++) {
        free(plan->mounts[i].path);
        free(plan->mounts[i].text);
    }
    free(plan->environment);
    free(plan->mounts);
    free(plan->filter);
    if (plan->temporary) kf_directory_remove(plan->temporary, NULL);
    free(plan->temporary);
    *plan = (kf_plan){0};
}
