/* What the files of sandbox/ share. See spawn.c for the order in which things happen. */
#ifndef KFORGE_SANDBOX_INTERNAL_H
#define KFORGE_SANDBOX_INTERNAL_H

#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdnoreturn.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "kforge/sandbox.h"

#define KF_LAYER_NAMESPACES                                                                       \
    (KF_LAYER_USER_NS | KF_LAYER_PID_NS | KF_LAYER_NET_NS | KF_LAYER_IPC_NS | KF_LAYER_MOUNT_NS | \
     KF_LAYER_UTS_NS)

/* A device node whose content may be read and written but that takes no ioctl: /dev/null and its
 * like. */
enum { KF_PATH_NODE = 1 << 8 };

/* What the child was doing when it failed; spawn.c words each, layers.c knows the layer that each
 * belongs to. */
typedef enum kf_sandbox_step {
    KF_SANDBOX_STEP_NONE,
    KF_SANDBOX_STEP_READY, /* not a failure: the child waits for its user and group maps */
    KF_SANDBOX_STEP_CLONE,
    KF_SANDBOX_STEP_PARENT,
    KF_SANDBOX_STEP_MAPS,
    KF_SANDBOX_STEP_SESSION,
    KF_SANDBOX_STEP_DESCRIPTORS,
    KF_SANDBOX_STEP_MOUNT_ROOT,
    KF_SANDBOX_STEP_MOUNT_PATH, /* index: of the plan's mounts */
    KF_SANDBOX_STEP_MOUNT_PROC,
    KF_SANDBOX_STEP_MOUNT_PIVOT,
    KF_SANDBOX_STEP_DIRECTORY,
    KF_SANDBOX_STEP_RLIMIT, /* index: the resource */
    KF_SANDBOX_STEP_CAPABILITIES,
    KF_SANDBOX_STEP_NO_NEW_PRIVS,
    KF_SANDBOX_STEP_LANDLOCK,
    KF_SANDBOX_STEP_LANDLOCK_PATH, /* index: of the plan's mounts */
    KF_SANDBOX_STEP_SECCOMP,
    KF_SANDBOX_STEP_EXEC,
    KF_SANDBOX_STEP_COUNT,
} kf_sandbox_step;

typedef struct kf_failure {
    int step; /* kf_sandbox_step */
    int error;
    int index;
} kf_failure;

/* One thing in the child's file system. Paths are real paths: the same inside and outside, free of
 * symbolic links. */
typedef enum kf_mount_kind {
    KF_MOUNT_LINK,
    KF_MOUNT_BIND,
    KF_MOUNT_TMPFS,
    KF_MOUNT_PROC
} kf_mount_kind;
typedef struct kf_mount {
    kf_mount_kind kind;
    char *path;
    char *text;     /* LINK: what it points to; TMPFS: mount options */
    int access;     /* kf_sandbox_access and KF_PATH_NODE */
    bool directory; /* BIND: what the host has there */
    /* BIND: a mount above it already shows it with the same attributes; only landlock needs to know
     */
    bool covered;
} kf_mount;

typedef struct kf_plan_rlimit {
    int resource;
    rlim_t value;
} kf_plan_rlimit;

/* Everything the child needs, made before the clone: between clone and exec the child may only call
 * what is async-signal-safe. */
typedef struct kf_plan {
    int layers;
    /* argv[0], at the address that the RUNNER filter lets execve use; NULL: exit at once (a probe)
     */
    const char *program;
    char *const *argv;
    char **environment; /* owned */
    size_t environment_count;
    const char *directory;
    const char *scratch; /* an existing directory to build the new root on */
    kf_mount *mounts;
    size_t mount_count;
    bool own_proc; /* /proc shows the child's own processes only */
    /* host directory that stands for /tmp where there is no mount namespace; removed at the end */
    char *temporary;
    struct sock_filter *filter; /* owned; copied because the child writes its process id into it */
    size_t filter_count;
    kf_plan_rlimit rlimits[16];
    size_t rlimit_count;
    const kf_sandbox_fd *fds;
    size_t fd_count;
    int pid_maximum; /* for /proc/sys/kernel/pid_max of the new pid namespace; 0: leave it */
    bool nice;
    bool same_addresses;
} kf_plan;

/* plan.c: `temporary` directories and all; false leaves *plan freeable. */
bool kf_plan_build(const kf_sandbox_spec *spec, int layers, kf_plan *plan, kf_error *error);
void kf_plan_free(kf_plan *plan);

/* paths.c: fills plan->mounts from the spec's paths and the private file systems. */
bool kf_plan_paths(const kf_sandbox_spec *spec, kf_plan *plan, kf_error *error);

/* ThreadSanitizer takes a raw clone's child for one more thread of the parent, whose descriptors it
 * then races for. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
void __tsan_ignore_thread_begin(void);
#define KF_NEW_PROCESS() __tsan_ignore_thread_begin()
#else
#define KF_NEW_PROCESS() ((void)0)
#endif

/* _exit without the sanitizers' farewell. */
static inline noreturn void kf_exit_child(int status)
{
    for (;;) syscall(SYS_exit_group, status);
}

/* The child's side. `channel` takes kf_failure messages; returning at all is not an option. */
noreturn void kf_child_run(const kf_plan *plan, int channel, int output);
noreturn void kf_child_fail(int channel, kf_sandbox_step step, int error, int index);
/* mounts.c, landlock.c: NONE on success, else errno in *number and *index. */
kf_sandbox_step kf_child_mounts(const kf_plan *plan, int *number, int *index);
kf_sandbox_step kf_child_landlock(const kf_plan *plan, int *number, int *index);
bool kf_write_text(const char *path, const char *text);
int kf_landlock_abi(void); /* 0: none */

/* seccomp.c: the compiled filter of a profile, cached for the process; NULL: error set. */
const struct sock_filter *kf_seccomp_filter(kf_seccomp_profile profile, int layers, size_t *count,
                                            kf_error *error);
/* Writes into a copy of it what is known only after the clone. Async-signal-safe. */
void kf_seccomp_patch(struct sock_filter *filter, size_t count, pid_t pid, const char *program);
bool kf_seccomp_available(void);

/* cgroup.c: a fresh cgroup below one that is ours to divide. */
typedef struct kf_cgroup {
    int fd; /* -1: none */
    char *path;
    bool memory; /* the memory controller is there */
    bool pids;
} kf_cgroup;
bool kf_cgroup_create(kf_cgroup *cgroup, const kf_sandbox_limits *limits, kf_error *error);
void kf_cgroup_kill(const kf_cgroup *cgroup);
bool kf_cgroup_out_of_memory(const kf_cgroup *cgroup);
uint64_t kf_cgroup_peak(const kf_cgroup *cgroup);
double kf_cgroup_cpu_seconds(const kf_cgroup *cgroup); /* of all that ran in it; 0: unknown */
void kf_cgroup_remove(kf_cgroup *cgroup);

/* tree.c: the descendants of a process, by parent, process group and session. */
typedef struct kf_tree {
    pid_t *pids;
    size_t count;
} kf_tree;
bool kf_tree_scan(pid_t leader, kf_tree *tree); /* without the leader */
void kf_tree_free(kf_tree *tree);
bool kf_tree_all_stopped(pid_t pid);
/* of its tree as it is and of those that were waited for; 0: unknown */
double kf_tree_cpu_seconds(pid_t leader);
int kf_tree_threads(pid_t pid);       /* -1: unknown */
uint64_t kf_tree_who(pid_t pid);      /* a sum over the numbers of its threads; 0: unknown */
int kf_tree_descriptors(pid_t pid);   /* -1: unknown */
int kf_tree_filters(pid_t pid);       /* seccomp filters in force there; -1: unknown */
int kf_tree_user_threads(uid_t user); /* of the whole machine */

/* spawn.c: clones and sees the child through to its exec. On failure *failure says at which step.
 */
bool kf_spawn_child(const kf_plan *plan, const kf_cgroup *cgroup, int output, pid_t *pid,
                    int *pidfd, kf_failure *failure);
void kf_failure_text(const kf_failure *failure, const kf_plan *plan, kf_error *error);

/* guard.c: a process that kills a tree when its caller dies, where no pid namespace does, and then
 * removes `temporary` (may be NULL). -1: none to be had. */
pid_t kf_guard_start(pid_t leader, const char *temporary, int *dismissal);
void kf_guard_dismiss(pid_t guard, int dismissal);

/* layers.c */
int kf_clone_flags(int layers);
bool kf_kernel_at_least(int major, int minor);
bool kf_host_proc(void); /* found by the probe: the host's /proc is all there is */

/* The raw system call, so that it works in the child and returns resource usage. 0 or negative
 * errno. */
int kf_waitid(int type, pid_t id, siginfo_t *info, int options, struct rusage *usage);

/* watch.c: when the tree's processor time is worth looking at: not before all processors together
 * could have used up what is left of it. */
double kf_next_look(const kf_sandbox *sandbox, double now);

/* watch.c: false for what is one process for sure: a runner behind the filter, and what has
 * settled. */
bool kf_may_have_descendants(const kf_sandbox *sandbox);

struct kf_sandbox {
    pid_t pid;
    int pidfd, epoll, timer, output_fd;
    int layers;
    kf_seccomp_profile profile;
    kf_sandbox_limits limits;
    kf_cgroup cgroup;
    char *temporary;
    pid_t guard;              /* -1: none */
    int guard_fd;             /* closing it sets the guard off; kf_guard_dismiss ends it without */
    double started, deadline; /* kf_now() seconds; deadline 0: none */
    double look;              /* at the tree's processor time, kf_now() seconds; 0: never */
    double used;              /* processor time of the tree when it was last looked at */
    kf_buffer output;
    bool truncated;
    bool killing; /* SIGKILL was sent by us, for `reason` */
    kf_sandbox_end reason;
    bool frozen;
    bool settled;
    bool ended;
    kf_sandbox_result result;
};

#endif
