/* Finds the layers that the machine grants by trying them. A probe is a child that takes every step
 * of a real one, and exits instead of the exec. If a step fails, its layer is removed with a
 * reason, and the next probe runs without it. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const struct {
    kf_sandbox_layer layer;
    const char *name, *remedy;
} layers[] = {
    {KF_LAYER_USER_NS, "user_ns",
     "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
     "user.max_user_namespaces=10000, on Ubuntu "
     "also "
     "kernel.apparmor_restrict_unprivileged_userns=0; in a container run it with --security-opt "
     "seccomp=unconfined)"},
    {KF_LAYER_PID_NS, "pid_ns", "needs user_ns, or root with CAP_SYS_ADMIN"},
    {KF_LAYER_NET_NS, "net_ns", "needs user_ns, or root with CAP_SYS_ADMIN"},
    {KF_LAYER_IPC_NS, "ipc_ns", "needs user_ns, or root with CAP_SYS_ADMIN"},
    {KF_LAYER_MOUNT_NS, "mount_ns",
     "needs Linux 5.12, user_ns and an AppArmor profile that permits mounts in it; in a container "
     "also an unmasked /proc (docker: "
     "--security-opt systempaths=unconfined --security-opt apparmor=unconfined)"},
    {KF_LAYER_UTS_NS, "uts_ns", "needs user_ns, or root with CAP_SYS_ADMIN"},
    {KF_LAYER_CGROUP, "cgroup",
     "run in a delegated cgroup v2: systemd-run --user --scope -p Delegate=yes kforge …, or in a "
     "container with a writable "
     "/sys/fs/cgroup"},
    {KF_LAYER_RLIMITS, "rlimits", "always available"},
    {KF_LAYER_NO_NEW_PRIVS, "no_new_privs", "needs Linux 3.5"},
    {KF_LAYER_LANDLOCK, "landlock",
     "needs Linux 5.13 with CONFIG_SECURITY_LANDLOCK and lsm=landlock,… on the kernel's command "
     "line"},
    {KF_LAYER_SECCOMP, "seccomp", "needs a kernel with CONFIG_SECCOMP_FILTER"},
};
enum { LAYER_COUNT = sizeof layers / sizeof *layers };

const char *kf_sandbox_layer_name(kf_sandbox_layer layer)
{
    for (size_t i = 0; i < LAYER_COUNT; i++)
        if (layers[i].layer == layer) return layers[i].name;
    return "unknown";
}

static struct {
    int granted;
    /* a new /proc cannot be mounted, because the container's is masked */
    bool host_proc;
    kf_buffer reasons;
} found;

/* Removes a layer from the granted ones, with the reason `what` and the errno `number` (0: none).
 */
static void refuse(int layer, const char *what, int number)
{
    if (!(found.granted & layer)) return;
    found.granted &= ~layer;
    for (size_t i = 0; i < LAYER_COUNT; i++) {
        if (!((int)layers[i].layer & layer)) continue;
        kf_buffer_format(&found.reasons, "%s: %s%s%s; remedy: %s\n", layers[i].name, what,
                         number ? ": " : "", number ? strerror(number) : "", layers[i].remedy);
    }
}

/* Starts a process in these namespaces. Returns 0 or the errno of the refusal. */
static int try_namespaces(int set)
{
    long pid = syscall(SYS_clone, kf_clone_flags(set) | SIGCHLD, NULL, NULL, 0, 0);
    if (pid == 0) kf_exit_child(0);
    if (pid < 0) return errno;
    siginfo_t info;
    while (kf_waitid(P_PID, (pid_t)pid, &info, WEXITED, NULL) == -EINTR) continue;
    return 0;
}

static void probe_namespaces(void)
{
    static const int others[] = {KF_LAYER_PID_NS, KF_LAYER_NET_NS, KF_LAYER_IPC_NS,
                                 KF_LAYER_MOUNT_NS, KF_LAYER_UTS_NS};
    int number = try_namespaces(KF_LAYER_USER_NS);
    if (number) refuse(KF_LAYER_USER_NS, "the kernel refuses to create one", number);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        number = try_namespaces((found.granted & KF_LAYER_USER_NS) | others[i]);
        if (number) refuse(others[i], "the kernel refuses to create one", number);
    }
}

/* Removes layers that the kernel does not support at all. */
static void probe_features(void)
{
    kf_error error;
    kf_cgroup cgroup;
    if (kf_landlock_abi() < 1) refuse(KF_LAYER_LANDLOCK, "the kernel does not offer it", 0);
    if (!kf_seccomp_available()) refuse(KF_LAYER_SECCOMP, "the kernel does not offer filters", 0);
    if (!kf_cgroup_create(&cgroup, &(kf_sandbox_limits){0}, &error)) {
        refuse(KF_LAYER_CGROUP, "no cgroup v2 that this process may divide", 0);
        return;
    }
    if (!cgroup.memory)
        kf_buffer_string(&found.reasons,
                         "cgroup: granted without the memory controller, so memory is limited for "
                         "each process only; "
                         "remedy: systemd-run --user --scope -p Delegate=yes kforge …\n");
    kf_cgroup_remove(&cgroup);
}

/* Returns the layer that a failed step belongs to, 0 if the step belongs to no layer. */
static int layer_of(int step, int set)
{
    switch (step) {
    case KF_SANDBOX_STEP_CLONE:
        return set & KF_LAYER_CGROUP ? KF_LAYER_CGROUP : set & KF_LAYER_NAMESPACES;
    case KF_SANDBOX_STEP_MAPS: return KF_LAYER_NAMESPACES;
    case KF_SANDBOX_STEP_MOUNT_ROOT:
    case KF_SANDBOX_STEP_MOUNT_PATH:
    case KF_SANDBOX_STEP_MOUNT_PROC:
    case KF_SANDBOX_STEP_MOUNT_PIVOT: return KF_LAYER_MOUNT_NS;
    case KF_SANDBOX_STEP_RLIMIT: return KF_LAYER_RLIMITS;
    case KF_SANDBOX_STEP_NO_NEW_PRIVS:
        return KF_LAYER_NO_NEW_PRIVS | KF_LAYER_LANDLOCK | KF_LAYER_SECCOMP;
    case KF_SANDBOX_STEP_LANDLOCK:
    case KF_SANDBOX_STEP_LANDLOCK_PATH: return KF_LAYER_LANDLOCK;
    case KF_SANDBOX_STEP_SECCOMP: return KF_LAYER_SECCOMP;
    default: return 0;
    }
}

/* Probes all of `found.granted` together. True if that worked, or if no other set would. */
static bool try_all(void)
{
    const kf_sandbox_path paths[] = {{"/usr", KF_PATH_READ, true}};
    const kf_sandbox_spec spec = {
        .paths = paths, .path_count = 1, .limits = {.processes = 64}, .seccomp = KF_SECCOMP_BUILD};
    kf_plan plan __attribute__((cleanup(kf_plan_free))) = {0};
    kf_autoclose int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    kf_cgroup cgroup = {.fd = -1};
    kf_failure failure = {0};
    kf_error error = {0};
    pid_t pid;
    int pidfd;
    if (null < 0 || !kf_plan_build(&spec, found.granted, found.host_proc, &plan, &error)) {
        kf_buffer_format(&found.reasons, "%s\n",
                         null < 0 ? "/dev/null cannot be opened" : error.text);
        found.granted &= ~KF_LAYER_NAMESPACES;
        return true;
    }
    if (plan.layers & KF_LAYER_CGROUP) kf_cgroup_create(&cgroup, &spec.limits, NULL);
    bool running = kf_spawn_child(&plan, &cgroup, null, &pid, &pidfd, &failure);
    if (running) {
        siginfo_t info;
        while (kf_waitid(P_PID, pid, &info, WEXITED, NULL) == -EINTR) continue;
        close(pidfd);
    }
    kf_cgroup_remove(&cgroup);
    if (running) return true;
    kf_failure_text(&failure, &plan, &error);
    if (failure.step == KF_SANDBOX_STEP_MOUNT_PROC && !found.host_proc &&
        (found.granted & KF_LAYER_LANDLOCK)) {
        found.host_proc = true;
        kf_buffer_format(
            &found.reasons,
            "mount_ns: granted with the host's /proc, of which landlock shows the program its own "
            "part only (%s); remedy: in a "
            "container an unmasked /proc (docker: --security-opt systempaths=unconfined)\n",
            error.text);
        return false;
    }
    int layer = layer_of(failure.step, found.granted) & found.granted;
    /* no layer is at fault; kf_sandbox_spawn will fail with the same error */
    if (!layer) {
        kf_buffer_format(&found.reasons, "%s\n", error.text);
        return true;
    }
    refuse(layer, error.text, 0);
    return false;
}

static void probe(void)
{
    found.granted = KF_LAYER_ALL;
    probe_namespaces();
    probe_features();
    /* ends, because each failure removes a layer */
    while (!try_all()) continue;
}

int kf_sandbox_available(kf_buffer *reasons)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, probe);
    if (reasons && found.reasons.size)
        kf_buffer_append(reasons, found.reasons.data, found.reasons.size);
    return found.granted;
}

bool kf_host_proc(void)
{
    return found.host_proc;
}
