/* What the files of sandbox/ share. README.md explains the processes and the order of the steps. */
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

/* Seconds in which a process must end after SIGKILL or stop after SIGSTOP. Only a driver that hangs
 * inside the kernel takes longer. */
#define KF_SIGNAL_SECONDS 10.0

/* Access to a device node that allows reading and writing but no ioctl: /dev/null and the like. */
enum { KF_PATH_NODE = 1 << 8 };

/* The step at which the child failed. clone.c has the text of each step, layers.c the layer that a
 * failed step belongs to. */
typedef enum kf_sandbox_step {
    KF_SANDBOX_STEP_NONE,
    /* no failure: the child waits for its user and group maps */
    KF_SANDBOX_STEP_READY,
    KF_SANDBOX_STEP_CLONE,
    KF_SANDBOX_STEP_PARENT,
    KF_SANDBOX_STEP_MAPS,
    KF_SANDBOX_STEP_SESSION,
    KF_SANDBOX_STEP_DESCRIPTORS,
    KF_SANDBOX_STEP_MOUNT_ROOT,
    /* kf_failure.index: index into the plan's mounts */
    KF_SANDBOX_STEP_MOUNT_PATH,
    KF_SANDBOX_STEP_MOUNT_PROC,
    KF_SANDBOX_STEP_MOUNT_PIVOT,
    KF_SANDBOX_STEP_DIRECTORY,
    /* kf_failure.index: the resource */
    KF_SANDBOX_STEP_RLIMIT,
    KF_SANDBOX_STEP_CAPABILITIES,
    KF_SANDBOX_STEP_NO_NEW_PRIVS,
    KF_SANDBOX_STEP_LANDLOCK,
    /* kf_failure.index: index into the plan's mounts */
    KF_SANDBOX_STEP_LANDLOCK_PATH,
    KF_SANDBOX_STEP_SECCOMP,
    KF_SANDBOX_STEP_EXEC,
    KF_SANDBOX_STEP_COUNT,
} kf_sandbox_step;

/* The message from the child to the caller. */
typedef struct kf_failure {
    /* kf_sandbox_step */
    int step;
    /* errno */
    int error;
    int index;
} kf_failure;

typedef enum kf_mount_kind {
    KF_MOUNT_LINK,
    KF_MOUNT_BIND,
    KF_MOUNT_TMPFS,
    KF_MOUNT_PROC
} kf_mount_kind;

/* One entry of the child's file system. A path is a real path, without symbolic links, and is the
 * same inside and outside. */
typedef struct kf_mount {
    kf_mount_kind kind;
    char *path;
    /* LINK: the target of the link; TMPFS: mount options */
    char *text;
    /* kf_sandbox_access and KF_PATH_NODE */
    int access;
    /* BIND: the host has a directory there */
    bool directory;
    /* BIND: a mount above already shows it with the same attributes, so only landlock needs it */
    bool covered;
} kf_mount;

typedef struct kf_plan_rlimit {
    int resource;
    rlim_t value;
} kf_plan_rlimit;

/* All that the child needs. The caller makes it before the clone, because the child may only call
 * async-signal-safe functions until its exec. */
typedef struct kf_plan {
    int layers;
    /* argv[0], at the address that the RUNNER filter allows for execve. NULL in a probe, which
     * exits instead. */
    const char *program;
    char *const *argv;
    /* owned */
    char **environment;
    size_t environment_count;
    const char *directory;
    /* an existing directory; the new root is built on it */
    const char *scratch;
    kf_mount *mounts;
    size_t mount_count;
    /* /proc shows only the child's own processes */
    bool own_proc;
    /* landlock lets no file of /proc be read, and the child's own /proc has processes only */
    bool no_proc_files;
    /* as in kf_sandbox_spec */
    bool fixed_code;
    /* the host directory in place of /tmp if there is no mount namespace; removed at the end */
    char *temporary;
    /* owned copy: the child writes its process id into it */
    struct sock_filter *filter;
    size_t filter_count;
    kf_plan_rlimit rlimits[16];
    size_t rlimit_count;
    const kf_sandbox_fd *fds;
    size_t fd_count;
    /* value of /proc/sys/kernel/pid_max in the new pid namespace; 0: unchanged */
    int pid_maximum;
    bool nice;
    bool same_addresses;
    /* the program may use the host's network */
    bool network;
} kf_plan;

/* kernel.c */

/* Calls waitid with resource usage. Works in the child, too. Returns 0 or a negative errno. */
int kf_waitid(int type, pid_t id, siginfo_t *info, int options, struct rusage *usage);
void kf_pause(double seconds);
bool kf_kernel_at_least(int major, int minor);

/* plan.c: makes the plan and the directory `temporary`. `host_proc`: no new /proc can be mounted.
 * After a failure *plan can still be freed. */
bool kf_plan_build(const kf_sandbox_spec *spec, int layers, bool host_proc, kf_plan *plan,
                   kf_error *error);
void kf_plan_free(kf_plan *plan);

/* visible_paths.c: fills plan->mounts from the spec's paths and the private file systems. */
bool kf_plan_paths(const kf_sandbox_spec *spec, kf_plan *plan, kf_error *error);

/* ThreadSanitizer takes the child of a raw clone for another thread of the parent, and then reports
 * races on descriptors. */
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

/* Ends the process without the exit handlers of sanitizers. */
static inline noreturn void kf_exit_child(int status)
{
    for (;;) syscall(SYS_exit_group, status);
}

/* child.c: the child's side. Failures go to `channel` as kf_failure messages. Neither function
 * returns. */
noreturn void kf_child_run(const kf_plan *plan, int channel, int output);
noreturn void kf_child_fail(int channel, kf_sandbox_step step, int error, int index);
bool kf_write_text(const char *path, const char *text);

/* mounts.c, landlock.c: KF_SANDBOX_STEP_NONE, or the step that failed with *number (errno) and
 * *index. */
kf_sandbox_step kf_child_mounts(const kf_plan *plan, int *number, int *index);
kf_sandbox_step kf_child_landlock(const kf_plan *plan, int *number, int *index);
/* Returns landlock's version, 0 without landlock. */
int kf_landlock_abi(void);

/* seccomp.c: returns the compiled filter of a profile, cached for the process; NULL with the error
 * set. */
const struct sock_filter *kf_seccomp_filter(kf_seccomp_profile profile, int layers, size_t *count,
                                            kf_error *error);
/* Writes the process id and the program's address into a copy of the filter. Async-signal-safe. */
void kf_seccomp_patch(struct sock_filter *filter, size_t count, pid_t pid, const char *program);
bool kf_seccomp_available(void);

/* cgroup.c: a new cgroup below one that the caller may divide. */
typedef struct kf_cgroup {
    /* -1 without a cgroup */
    int fd;
    char *path;
    /* controllers that the cgroup has */
    bool memory, pids;
} kf_cgroup;
bool kf_cgroup_create(kf_cgroup *cgroup, const kf_sandbox_limits *limits, kf_error *error);
void kf_cgroup_kill(const kf_cgroup *cgroup);
bool kf_cgroup_out_of_memory(const kf_cgroup *cgroup);
/* Returns the peak of memory in bytes, 0 if unknown. */
uint64_t kf_cgroup_peak(const kf_cgroup *cgroup);
/* Returns the CPU seconds of all processes that ran in it, 0 if unknown. */
double kf_cgroup_cpu_seconds(const kf_cgroup *cgroup);
void kf_cgroup_remove(kf_cgroup *cgroup);

/* process_tree.c: the descendants of a process, found by parent, process group and session. */
typedef struct kf_tree {
    pid_t *pids;
    size_t count;
} kf_tree;
/* Lists the living processes of the tree without the leader. */
bool kf_tree_scan(pid_t leader, kf_tree *tree);
void kf_tree_free(kf_tree *tree);
/* True if each thread of the process is stopped, or the process is gone. */
bool kf_tree_all_stopped(pid_t pid);
/* Returns the CPU seconds of the tree and of its children that were waited for, 0 if unknown. */
double kf_tree_cpu_seconds(pid_t leader);
/* Each returns a count, -1 if unknown. */
int kf_tree_descriptors(pid_t pid);
/* Counts files and folders on disks, of /proc and of /sys. */
int kf_tree_open_files(pid_t pid);
int kf_tree_filters(pid_t pid);
/* The threads of a process that can still write to its memory. */
typedef struct kf_threads {
    pid_t *ids;
    size_t count;
    /* the number of them that run or may run, and that are in a system call that no signal
     * interrupts; the others are stopped */
    size_t running, waiting;
    /* kf_now() when they were seen stopped */
    double stopped_at;
    /* kf_sandbox_distrust */
    bool distrusted;
} kf_threads;
/* Lists them. Returns 0 or a negative errno: -ESRCH if the process is gone. The caller frees `ids`,
 * which the function reuses. */
int kf_tree_list_threads(pid_t pid, kf_threads *threads);
/* Returns the number of threads that a user has on the whole machine. */
int kf_tree_user_threads(uid_t user);

/* clone.c */

int kf_clone_flags(int layers);
/* Clones a child and follows it to its exec. A failure fills *failure. */
bool kf_spawn_child(const kf_plan *plan, const kf_cgroup *cgroup, int output, pid_t *pid,
                    int *pidfd, kf_failure *failure);
void kf_failure_text(const kf_failure *failure, const kf_plan *plan, kf_error *error);

/* guard.c: starts a process that kills a tree when the caller dies, and then removes `temporary`
 * (may be NULL). Needed without a pid namespace. Returns -1 if it cannot be started. */
pid_t kf_guard_start(pid_t leader, const char *temporary, int *dismissal);
void kf_guard_dismiss(pid_t guard, int dismissal);

/* layers.c: True if no new /proc can be mounted, so the child sees the host's. Known after
 * kf_sandbox_available. */
bool kf_host_proc(void);

/* supervise.c: returns the time of the next check of the tree's CPU time: the earliest time at
 * which all processors together could use up the rest of the limit. */
double kf_next_cpu_check(const kf_sandbox *sandbox, double now);

/* freeze.c: False if the child is certainly one process: a runner behind its filter, or settled. */
bool kf_may_have_descendants(const kf_sandbox *sandbox);

/* Times are kf_now() seconds. */
struct kf_sandbox {
    pid_t pid;
    int pidfd, epoll, timer, output_fd;
    int layers;
    kf_seccomp_profile profile;
    kf_sandbox_limits limits;
    kf_cgroup cgroup;
    char *temporary;
    /* -1 without a guard */
    pid_t guard;
    /* closing it makes the guard kill the tree; kf_guard_dismiss ends the guard before */
    int guard_fd;
    double started;
    /* 0 without a wall limit */
    double deadline;
    /* the next check of the tree's CPU time; 0: never */
    double cpu_check;
    /* CPU seconds of the tree at the last check */
    double cpu_used;
    kf_buffer output;
    bool truncated;
    /* the caller sent SIGKILL, for `reason` */
    bool killing;
    kf_sandbox_end reason;
    bool frozen;
    /* at the last freeze or census */
    kf_threads threads;
    bool settled;
    bool ended;
    kf_sandbox_result result;
};

#endif
