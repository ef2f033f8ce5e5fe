/* Starts an untrusted program in a sandbox, watches it and removes it.
 *
 * kf_sandbox_spawn starts one program in its own user, pid, net, ipc, mount and uts namespaces. It
 * adds landlock, a seccomp filter, no_new_privs, resource limits and, where delegated, a cgroup.
 * The program gets a clean environment and only the descriptors that are listed. If the machine
 * refuses a layer, that layer is left out and reported (kf_sandbox_layers), unless `strict`. The
 * sandbox works as root, as an ordinary user and in a container that forbids namespaces.
 *
 * The child is a direct child of the caller. In a pid namespace it is process 1, so killing it
 * kills its whole tree. An error of kf_sandbox_spawn is the fault of the machine or of the caller.
 * kf_sandbox_result describes the end of the program.
 *
 * Threads: a kf_sandbox belongs to one thread at a time. The thread that spawned it must outlive
 * it, because the kernel kills the child when that thread ends (PR_SET_PDEATHSIG). Without a pid
 * namespace the caller becomes a subreaper (prctl(2)).
 *
 * Inside, the program is user 0 of its user namespace, without any capability. /tmp and /dev/shm
 * are private and empty. Without a mount namespace, landlock protects the same paths on the host's
 * file system, and TMPDIR and HOME name a private directory instead of /tmp. Entries of `paths`
 * under /proc are ignored, because the child has its own /proc. /tmp and /dev/shm are ignored where
 * they are private. Process 1 of a pid namespace is immune to its own signals, so abort() ends as
 * SIGSEGV.
 *
 * sandbox/README.md describes the processes and the order of the steps.
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

/* The layers in the order in which the child enters them; bits of a set. */
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
    /* read files, list directories */
    KF_PATH_READ = 1,
    /* create, write, remove */
    KF_PATH_WRITE = 2,
    /* execute programs */
    KF_PATH_EXEC = 4,
    /* open a device node and call ioctl on it */
    KF_PATH_DEVICE = 8,
    /* an empty folder in place of this one, which lies below another path of the list. On its own,
     * and only with a mount namespace. */
    KF_PATH_HIDE = 16,
} kf_sandbox_access;

typedef struct kf_sandbox_path {
    const char *path;
    /* kf_sandbox_access bits */
    int access;
    /* skip the path if it is missing; otherwise a missing path is an error */
    bool optional;
} kf_sandbox_path;

typedef struct kf_sandbox_fd {
    /* the caller's descriptor; stays open there */
    int host;
    /* its number in the child, 3 to 255 */
    int child;
} kf_sandbox_fd;

/* The system call filter. sandbox/seccomp.c lists each call with the reason. */
typedef enum kf_seccomp_profile {
    /* Compilers: fork, exec and files are allowed. Network, ptrace, namespaces, mounts and keys are
     * not. */
    KF_SECCOMP_BUILD,
    /* One process that loads a candidate. In addition to BUILD it forbids fork, any exec after the
     * first, signals to other processes, userfaultfd, perf, bpf and io_uring. Calls that CUDA needs
     * to create its context are allowed. */
    KF_SECCOMP_RUNNER,
    /* A tool that starts the program that it examines (compute-sanitizer): like BUILD, and local
     * sockets, which CUDA needs. */
    KF_SECCOMP_TOOL,
    /* A runner that starts other processes until it locks itself down (kf_sandbox_settle). Like
     * TOOL, but with the priority of a runner, because its calls are timed. */
    KF_SECCOMP_SETTLES,
    /* A coding agent: like BUILD, with the host's network in place of a network namespace. With a
     * pid namespace it may also start sessions and process groups. */
    KF_SECCOMP_AGENT,
} kf_seccomp_profile;

/* 0 means no limit, unless another default is given. */
typedef struct kf_sandbox_limits {
    /* after that kf_sandbox_pump kills the whole tree */
    double wall_seconds;
    /* of the whole tree, checked while kf_sandbox_pump waits. The kernel also kills each process
     * one second above the limit. */
    double cpu_seconds;
    /* of the whole tree in a cgroup, otherwise the data segment of each process, but of an agent.
     * RLIMIT_AS is never set, because CUDA reserves terabytes of addresses. */
    uint64_t memory_bytes;
    /* size of the largest file written */
    uint64_t file_bytes;
    /* bytes of stdout and stderr together that are kept; the rest is read and dropped. 0: 1 MiB */
    uint64_t output_bytes;
    /* processes and threads. If the caller is the machine's root, the limit needs a pids cgroup, or
     * Linux 6.14 and a pid namespace (then at least 301). */
    uint64_t processes;
    /* size of the private /tmp and of the private /dev/shm; 0: 64 MiB each */
    uint64_t temporary_bytes;
} kf_sandbox_limits;

/* Borrowed for the call of kf_sandbox_spawn. */
typedef struct kf_sandbox_spec {
    /* argv[0] is an absolute path; ends with NULL */
    const char *const *argv;
    /* the complete environment; ends with NULL. NULL: PATH, LANG=C.UTF-8, HOME=/tmp, TMPDIR=/tmp */
    const char *const *environment;
    /* working directory; must lie under one of `paths`. NULL: / */
    const char *directory;
    /* all files that exist for the child, in addition to its private /tmp, /dev/shm and /proc, and
     * /dev/null, zero, full, random and urandom */
    const kf_sandbox_path *paths;
    size_t path_count;
    const kf_sandbox_fd *fds;
    size_t fd_count;
    kf_sandbox_limits limits;
    kf_seccomp_profile seccomp;
    /* layers wanted; 0: KF_LAYER_ALL */
    int layers;
    /* fail if the machine refuses a wanted layer */
    bool strict;
    /* do not randomise addresses, if kf_sandbox_same_addresses allows it. Two children that do the
     * same work then have the same addresses. */
    bool same_addresses;
    /* no file of /proc can be read. For compilers of foreign text, because the assembler's .include
     * reads such files: one text, two binaries. Needs landlock. */
    bool no_proc_files;
    /* no code but that of `paths`: /proc is read-only, since a write to /proc/self/mem changes
     * code (needs landlock or a mount namespace), and no file of /tmp or /dev can be mapped as code
     * (needs a mount namespace) */
    bool fixed_code;
} kf_sandbox_spec;

typedef enum kf_sandbox_end {
    /* status: exit status */
    KF_END_EXITED,
    /* status: signal number */
    KF_END_SIGNAL,
    /* killed at the wall limit */
    KF_END_WALL,
    /* killed at the CPU limit */
    KF_END_CPU,
    /* killed at the memory limit of the cgroup */
    KF_END_MEMORY,
    /* killed by kf_sandbox_kill or kf_sandbox_begin_kill */
    KF_END_KILLED,
} kf_sandbox_end;

/* Signals that people, schedulers and the kernel's OOM killer send to end a process. A program in a
 * pid namespace of its own cannot send them to itself. */
#define KF_SANDBOX_OUTSIDE_SIGNALS SIGKILL, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2

typedef struct kf_sandbox_result {
    kf_sandbox_end end;
    int status;
    double wall_seconds, cpu_seconds;
    uint64_t peak_memory_bytes;
    bool output_truncated;
} kf_sandbox_result;

typedef struct kf_sandbox kf_sandbox;

/* Returns the layers that this machine grants. The first call tries them, later calls return the
 * same set. `reasons` (may be NULL) gets a line for each refused layer: its name, the refusal and
 * the remedy. */
int kf_sandbox_available(kf_buffer *reasons);
/* Returns "user_ns", "pid_ns", … for one bit. */
const char *kf_sandbox_layer_name(kf_sandbox_layer layer);

/* True if this machine lets a process turn off the randomisation of its addresses. Container
 * runtimes refuse it by default. The first call tries it on the calling thread and takes it back.
 */
bool kf_sandbox_same_addresses(void);

/* Starts the program. Returns NULL on failure. The caller frees. */
kf_sandbox *kf_sandbox_spawn(const kf_sandbox_spec *spec, kf_error *error);
/* Returns the layers that are active for this child. */
int kf_sandbox_layers(const kf_sandbox *sandbox);
pid_t kf_sandbox_pid(const kf_sandbox *sandbox);
/* Returns a descriptor for poll loops. It becomes readable when kf_sandbox_pump has work: output or
 * the end of the child. */
int kf_sandbox_descriptor(const kf_sandbox *sandbox);
/* Reads output, reaps and enforces limits. Waits up to `seconds` (0: does not wait, negative: until
 * the end). True once the child has ended and its whole tree is gone. */
bool kf_sandbox_pump(kf_sandbox *sandbox, double seconds);
/* Stops every thread of the tree and waits until each of the child's is seen stopped. For the
 * kernel, a thread that ends counts as stopped. It may still write to the child's memory, so this
 * function also waits until each of those has left it. Errors:
 *
 *   KF_ERROR_INPUT    the child has ended, or another signal continued it meanwhile
 *   KF_ERROR_LIMIT    the child does not stop. It computes, or (kf_sandbox_distrust) a thread of it
 *                     is in a system call that no signal interrupts
 *   KF_ERROR_MACHINE  the child does not stop for another reason
 */
bool kf_sandbox_freeze(kf_sandbox *sandbox, kf_error *error);
/* Notes that the child runs foreign code from now on. If a thread of it is then in a system call
 * that no signal interrupts, and keeps it from stopping, that is its own fault after 1.5 s
 * (KF_ERROR_LIMIT). Before, it is the machine's fault after 10 s: drivers may start slowly. */
void kf_sandbox_distrust(kf_sandbox *sandbox);
/* Returns the kf_now() at which the last freeze knew that the child could write nothing more. If
 * all threads were stopped at once, that is when the kernel said so. */
double kf_sandbox_stopped_at(const kf_sandbox *sandbox);
/* Continues the tree. KF_ERROR_INPUT if the child has ended, or if another signal (SIGCONT of a
 * timer) continued it since kf_sandbox_freeze. Data read from it meanwhile then proves nothing. */
bool kf_sandbox_thaw(kf_sandbox *sandbox, kf_error *error);
/* Lets the child open files, or ends that for all of its threads: a call that makes a descriptor
 * then fails before it looks at a path. Open descriptors stay open. After kf_sandbox_lockdown the
 * child cannot undo it. The child receives descriptors only while it may open files. */
bool kf_sandbox_let_open(kf_sandbox *sandbox, bool may, kf_error *error);
/* Takes all files from the child but /proc, /dev and /tmp, for all of its threads and for good.
 * What it has mapped stays, and so does its working directory. False if the machine does not allow
 * that: it needs a mount namespace. */
bool kf_sandbox_hide_files(kf_sandbox *sandbox);
/* Makes the child's /proc read-only, for all of its threads and for good: a process could write
 * machine code through /proc/self/mem. False if the child writes to a file of /proc, or if the
 * machine does not allow it: it needs a mount namespace. */
bool kf_sandbox_protect_proc(kf_sandbox *sandbox);
/* Returns how many files and folders on disks, of /proc and of /sys the child has open; -1 if
 * unknown. */
int kf_sandbox_open_files(const kf_sandbox *sandbox);
/* Returns the number of threads of a frozen child, and their ids, which are valid until the next
 * freeze or census. */
size_t kf_sandbox_threads(const kf_sandbox *sandbox, const pid_t **ids);
/* True once the child is a single process for good. A program that may start others
 * (KF_SECCOMP_SETTLES) ends that with kf_sandbox_lockdown. This function, with the child frozen,
 * checks that the filter is on and that no other process of the tree is left. From then on freeze,
 * thaw and census skip the search through /proc, which takes a millisecond. Always false before
 * Linux 5.9, which does not count filters. */
bool kf_sandbox_settle(kf_sandbox *sandbox);
/* Counts of a frozen child. */
typedef struct kf_sandbox_census {
    /* threads of the child, without those that have ended */
    int threads;
    /* other processes of the tree */
    int processes;
    /* open descriptors of the child; -1 if unknown */
    int descriptors;
} kf_sandbox_census;
bool kf_sandbox_take_census(kf_sandbox *sandbox, kf_sandbox_census *census, kf_error *error);
/* Asks every process of the tree to end (SIGTERM). Process 1 of a pid namespace ends only if it
 * handles the signal. */
void kf_sandbox_terminate(const kf_sandbox *sandbox);
/* Sends SIGKILL to the whole tree without waiting. Work in the kernel, above all the driver's
 * cleanup of a GPU context, may go on until kf_sandbox_pump returns true. */
void kf_sandbox_begin_kill(kf_sandbox *sandbox);
/* Kills the whole tree and waits until it is gone. */
void kf_sandbox_kill(kf_sandbox *sandbox);
/* Returns the result. Valid once kf_sandbox_pump returned true, or after kf_sandbox_kill. */
const kf_sandbox_result *kf_sandbox_outcome(const kf_sandbox *sandbox);
/* Returns stdout and stderr in the order of arrival, up to the limit; borrowed until free. */
const kf_buffer *kf_sandbox_output(const kf_sandbox *sandbox);
/* Kills the child if it still runs, and frees. */
void kf_sandbox_free(kf_sandbox *sandbox);
KF_DEFINE_AUTO(kf_sandbox, kf_sandbox_free)

/* Writes the result as text: "killed after 10.0 s of wall time", "signal 11 (Segmentation fault)",
 * "exit status 1". */
void kf_sandbox_describe(const kf_sandbox_result *result, char *text, size_t size);
/* True if one of KF_SANDBOX_OUTSIDE_SIGNALS ended the program, and no limit and no function of this
 * header sent it. */
bool kf_sandbox_ended_outside(const kf_sandbox_result *result);

/* For the program inside. Installs a second, stricter filter on all threads
 * (SECCOMP_FILTER_FLAG_TSYNC) and makes the process non-dumpable. The program calls it after its
 * libraries and its device context exist, and before it loads untrusted code. The filter forbids
 * new sockets, unlink, memfd, clone of processes, every exec, and calls that tell which pages of a
 * file are in memory. Returns 0 or a negative errno.
 * Neither allocates nor needs libseccomp (CMake target kf_lockdown). */
int kf_sandbox_lockdown(void);
/* The same for code: executable memory comes from files only. The program calls it first, if its
 * device makes no code at run time. */
int kf_sandbox_deny_made_code(void);

#endif
