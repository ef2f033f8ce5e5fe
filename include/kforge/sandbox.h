/* Starting a program that nobody trusts, and getting rid of it again.
 *
 * kf_sandbox_spawn starts one program in its own user, pid, net, ipc, mount and uts namespaces,
 * behind landlock, a seccomp filter, no_new_privs, resource limits and, where delegated, a cgroup;
 * with a clean environment and only the descriptors that are listed. Layers that the machine
 * refuses are left out and reported (kf_sandbox_layers), unless `strict`. It works as root, as an
 * ordinary user and inside a container where namespaces are forbidden.
 *
 * The child is a direct child of the caller, process 1 of its pid namespace where there is one, so
 * killing it kills all. Every failure says whose it is: an error of kf_sandbox_spawn is the
 * machine's or the caller's, kf_sandbox_result is what the program did. A kf_sandbox belongs to one
 * thread at a time, and the thread that spawned it must outlive it: the kernel kills the child when
 * that thread ends (PR_SET_PDEATHSIG), so that nothing is left when the caller dies. It knows
 * nothing of kernels.
 *
 * Inside: user 0 of its user namespace, without any capability; /tmp and /dev/shm are private and
 * empty; where mount namespaces are refused, landlock holds the same paths on the host's file
 * system, and TMPDIR and HOME lead to a private directory instead of /tmp. `paths` under /proc are
 * ignored (the child has its own), and so are /tmp and /dev/shm themselves where they are private.
 * Process 1 of a pid namespace is immune to signals it sends itself: abort() ends as SIGSEGV there.
 * Without a pid namespace the caller becomes a subreaper (prctl(2)).
 */
#ifndef KFORGE_SANDBOX_H
#define KFORGE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/error.h"

/* The layers, in the order in which they are put on; bits of a set. */
typedef enum kf_sandbox_layer {
    KF_LAYER_USER_NS = 1 << 0,
    KF_LAYER_PID_NS = 1 << 1,
    KF_LAYER_NET_NS = 1 << 2,
    KF_LAYER_IPC_NS = 1 << 3,
    KF_LAYER_MOUNT_NS = 1 << 4,
    KF_LAYER_UTS_NS = 1 << 5,
    KF_LAYER_CGROUP = 1 << 6,
    KF_LAYER_RLIMITS = 1 << 7,
    KF_LAYER_NO_NEW_PRIVS = 1 << 8,
    KF_LAYER_LANDLOCK = 1 << 9,
    KF_LAYER_SECCOMP = 1 << 10,
    KF_LAYER_ALL = (1 << 11) - 1,
} kf_sandbox_layer;

typedef enum kf_sandbox_access {
    KF_PATH_READ = 1,   /* read files, list directories */
    KF_PATH_WRITE = 2,  /* create, write, remove */
    KF_PATH_EXEC = 4,   /* execute programs */
    KF_PATH_DEVICE = 8, /* open a device node and ioctl it */
} kf_sandbox_access;

typedef struct kf_sandbox_path {
    const char *path;
    int access;    /* kf_sandbox_access bits */
    bool optional; /* a missing path is skipped instead of being an error */
} kf_sandbox_path;

typedef struct kf_sandbox_fd {
    int host;  /* the caller's descriptor; stays open there */
    int child; /* its number in the child, >= 3 */
} kf_sandbox_fd;

/* Which system calls are filtered (sandbox/seccomp.c lists them with the reason for each). */
typedef enum kf_seccomp_profile {
    /* compilers: fork, exec and files are fine; no network, no ptrace, no namespaces, no mounts, no
       keys */
    KF_SECCOMP_BUILD,
    KF_SECCOMP_RUNNER, /* one process that loads a candidate: also no fork, no exec of anything
                          after the first, no signals to others, no userfaultfd, perf, bpf,
                          io_uring. What CUDA needs before its context exists is still allowed. */
    /* a tool that starts the program it examines (compute-sanitizer): as BUILD, and local sockets,
       which CUDA needs */
    KF_SECCOMP_TOOL,
    KF_SECCOMP_SETTLES, /* a runner that starts others until it has locked itself down
                           (kf_sandbox_settle): as TOOL, but its time is taken, so it is as urgent
                           as any other runner */
} kf_seccomp_profile;

typedef struct kf_sandbox_limits {
    double wall_seconds; /* 0: none; the watchdog kills the whole tree */
    double cpu_seconds;  /* of the whole tree while kf_sandbox_pump waits; beside that each process
                            is held to a second more. 0: none */
    uint64_t memory_bytes; /* of the whole tree where a cgroup is delegated, else data segment of
                              each process (never RLIMIT_AS when `device` paths are given: CUDA
                              reserves terabytes); 0: none */
    uint64_t file_bytes;   /* largest file written; 0: none */
    /* of stdout and stderr together that are kept; the rest is read and dropped. 0: 1 MiB */
    uint64_t output_bytes;
    uint64_t
        processes; /* processes and threads; 0: none. For a caller that is the machine's root it
                      takes a pids cgroup, or Linux 6.14 and a pid namespace (then at least 301) */
    uint64_t temporary_bytes; /* size of the private /tmp and /dev/shm; 0: 64 MiB each */
} kf_sandbox_limits;

typedef struct kf_sandbox_spec {
    const char *const *argv; /* argv[0] is an absolute path; NULL-terminated */
    /* complete; NULL-terminated; NULL: PATH, LANG=C.UTF-8, HOME and TMPDIR=/tmp only */
    const char *const *environment;
    const char *directory;        /* working directory; must lie under one of `paths` */
    const kf_sandbox_path *paths; /* all that exists for the child, beside the private /tmp,
                                     /dev/shm, /proc, /dev/null|zero|urandom */
    size_t path_count;
    const kf_sandbox_fd *fds;
    size_t fd_count;
    kf_sandbox_limits limits;
    kf_seccomp_profile seccomp;
    int layers;  /* layers wanted; 0 means KF_LAYER_ALL */
    bool strict; /* a wanted layer that the machine refuses is an error */
    /* Addresses are not randomised, where kf_sandbox_same_addresses: two children that do the same
     * have everything in the same places. */
    bool same_addresses;
} kf_sandbox_spec;

typedef enum kf_sandbox_end {
    KF_END_EXITED, /* status: exit status */
    KF_END_SIGNAL, /* status: signal number */
    KF_END_WALL,   /* killed: wall time */
    KF_END_CPU,    /* killed: CPU time */
    KF_END_MEMORY, /* killed: memory limit of the cgroup */
    KF_END_KILLED, /* killed by kf_sandbox_kill */
} kf_sandbox_end;

typedef struct kf_sandbox_result {
    kf_sandbox_end end;
    int status;
    double wall_seconds, cpu_seconds;
    uint64_t peak_memory_bytes;
    bool output_truncated;
} kf_sandbox_result;

typedef struct kf_sandbox kf_sandbox;

/* Layers this machine grants, found by trying once per process and remembered. `reasons` (may be
 * NULL) gets a line for each refused layer: its name, what was refused and the remedy. */
int kf_sandbox_available(kf_buffer *reasons);
/* "user_ns", "pid_ns", … for one bit. */
const char *kf_sandbox_layer_name(kf_sandbox_layer layer);

/* Does this machine let a process turn the randomisation of its addresses off? Container runtimes
 * refuse it by default. Found by asking for it and taking that back, once per process. */
bool kf_sandbox_same_addresses(void);

kf_sandbox *kf_sandbox_spawn(const kf_sandbox_spec *spec, kf_error *error);
/* Layers active for this child. */
int kf_sandbox_layers(const kf_sandbox *sandbox);
pid_t kf_sandbox_pid(const kf_sandbox *sandbox);
/* A descriptor that becomes readable when there is something for kf_sandbox_pump to do (output or
 * exit); for poll loops. */
int kf_sandbox_descriptor(const kf_sandbox *sandbox);
/* Reads waiting output, reaps, enforces limits; waits up to `seconds` (0: does not wait, negative:
 * until the end). Returns true once the child has ended and its whole tree is gone. */
bool kf_sandbox_pump(kf_sandbox *sandbox, double seconds);
/* Stops every thread of the tree, and returns only when all are stopped (true), or the child has
 * ended (false). Thaw lets it go on; it is false when the child has ended, or when something woke
 * it in between (a timer that sends SIGCONT, say): what was read meanwhile proves nothing then.
 * Freeze is false for the same reason when the waking comes while it waits. Both are
 * KF_ERROR_INPUT, the child's doing; and so is KF_ERROR_LIMIT of freeze: it can't be stopped, and
 * computes meanwhile. One that neither stops nor computes is KF_ERROR_MACHINE. */
bool kf_sandbox_freeze(kf_sandbox *sandbox, kf_error *error);
bool kf_sandbox_thaw(kf_sandbox *sandbox, kf_error *error);
/* A program that may start others (KF_SECCOMP_BUILD) can end that with kf_sandbox_lockdown. Has it,
 * and is nobody left of those that it started? Asked of the kernel, with the child frozen. Once it
 * is so the child is one process for good, and freeze, thaw and census look at nobody else: looking
 * through all of /proc takes a millisecond. False where the kernel does not count filters (before
 * Linux 5.9), too; then all stays as it was. */
bool kf_sandbox_settle(kf_sandbox *sandbox);
/* Counts threads of the child, processes of its tree beside the child, and open descriptors of the
 * child. */
typedef struct kf_sandbox_census {
    int threads, processes, descriptors;
    uint64_t who; /* the leader's threads: equal for the same ones, another for as many others */
} kf_sandbox_census;
bool kf_sandbox_take_census(kf_sandbox *sandbox, kf_sandbox_census *census, kf_error *error);
/* Begins to kill the whole tree and does not wait: its last work, the driver's tidying up after a
 * GPU context above all, may go on until kf_sandbox_pump says that it is gone. */
void kf_sandbox_begin_kill(kf_sandbox *sandbox);
/* Kills the whole tree and waits until it is gone. */
void kf_sandbox_kill(kf_sandbox *sandbox);
/* Valid once kf_sandbox_pump returned true or after kf_sandbox_kill. */
const kf_sandbox_result *kf_sandbox_outcome(const kf_sandbox *sandbox);
/* stdout and stderr as they came, up to the limit; borrowed until free. */
const kf_buffer *kf_sandbox_output(const kf_sandbox *sandbox);
/* Kills if need be, and frees. */
void kf_sandbox_free(kf_sandbox *sandbox);
KF_DEFINE_AUTO(kf_sandbox, kf_sandbox_free)

/* "killed after 10.0 s of wall time", "signal 11 (Segmentation fault)", "exit status 1": one place
 * for the words. */
void kf_sandbox_describe(const kf_sandbox_result *result, char *text, size_t size);

/* For the program inside (the runner links only this): a second, stricter filter on all threads
 * (SECCOMP_FILTER_FLAG_TSYNC), after its libraries and device context exist and before it loads
 * untrusted code: no new sockets, no unlink, no memfd, no clone of processes, no exec at all. Also
 * makes the process non-dumpable. Returns 0 or a negative errno. No allocation, no libseccomp
 * (CMake target kf_lockdown, which needs nothing else). */
int kf_sandbox_lockdown(void);

#endif
