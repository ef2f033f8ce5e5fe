/* The second filter, which the program inside installs just before it loads untrusted code.
 *
 * At that time its libraries are loaded and its device context exists. So this filter denies more
 * than the first one (seccomp.c): every execve, new sockets, memfd_create, changes to directories.
 * It holds for all threads (TSYNC), because libraries have started some. It is written by hand,
 * because the program does not link libseccomp, and allocates nothing.
 *
 * A seccomp program sees the call number, the architecture and six 64-bit arguments. Most arguments
 * compared here are `int`s or flags, and the kernel ignores their upper halves. The filter
 * therefore compares the lower half (little-endian: the first word).
 */
#include "kforge/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "kf_sandbox_lockdown knows x86-64 and aarch64"
#endif

/* Newer than some headers. */
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif
#ifndef MADV_COLD
#define MADV_COLD 20
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* The newest call that the list covers (mseal, Linux 6.10). Higher numbers fail with ENOSYS, as on
 * an older kernel. */
#define LAST_KNOWN 462

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define LOAD_ARCH BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch))
#define LOAD_ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
#define LOAD_UPPER_HALF(n) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]) + 4)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define SKIP_UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define FAIL(number) RETURN(SECCOMP_RET_ERRNO | (number))
/* Denies a call with any arguments. */
#define DENY(name) SKIP_UNLESS(SYS_##name, 1), FAIL(EPERM)
/* Denies a call unless its first argument is `value`. Returns in both cases, because the
 * accumulator no longer holds the call number. */
#define ONLY(name, value)                                                \
    SKIP_UNLESS(SYS_##name, 4), LOAD_ARGUMENT(0), SKIP_UNLESS(value, 1), \
        RETURN(SECCOMP_RET_ALLOW), FAIL(EPERM)

/* Placeholder; install() replaces it by the process's id. */
#define SELF 0xFFFFFFFFu

static const struct sock_filter rules[] = {
    LOAD_ARCH,
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    LOAD_NUMBER,
#ifdef __x86_64__
    /* x32 calls have this bit and other numbers */
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
    RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN, 0, 1),
    FAIL(ENOSYS),

    /* Other programs and processes. New threads are allowed: the C library falls back from clone3
     * to clone, and the filter can see clone's flags. CLONE_VFORK is denied: its caller waits in a
     * way that no stop interrupts, and the judge would blame the machine. Threads without
     * CLONE_FILES are denied: each would have its own limit on descriptors, and together they could
     * use up the user's epoll watches, so that no other sandbox could start. */
    DENY(execve),
    DENY(execveat),
    SKIP_UNLESS(SYS_clone3, 1),
    FAIL(ENOSYS),
    SKIP_UNLESS(SYS_clone, 6),
    LOAD_ARGUMENT(0),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_VFORK, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 2),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_FILES, 0, 1),
    RETURN(SECCOMP_RET_ALLOW),
    FAIL(EPERM),
#ifdef SYS_fork
    DENY(fork),
    DENY(vfork),
#endif
    DENY(setsid),
    DENY(setpgid),
    DENY(unshare),
    DENY(setns),
    DENY(ptrace),
    DENY(process_vm_readv),
    DENY(process_vm_writev),
    DENY(kcmp),
    DENY(pidfd_open),
    DENY(pidfd_getfd),
    DENY(pidfd_send_signal),
    DENY(process_madvise),
    DENY(process_mrelease),
    DENY(tkill),
    DENY(rt_sigqueueinfo),
    DENY(rt_tgsigqueueinfo),
    ONLY(kill, SELF),
    ONLY(tgkill, SELF),

    /* Calls that continue while the process is stopped, or that continue a stopped process. */
    DENY(userfaultfd),
    DENY(io_uring_setup),
    DENY(io_uring_enter),
    DENY(io_uring_register),
    DENY(io_setup),
    DENY(io_submit),
    DENY(timer_create),
    DENY(mq_notify),

    /* Calls that run for minutes in the kernel without reacting to signals, SIGKILL included, or
       that wait for all disks of the host. */
    DENY(move_pages),
    DENY(sync),
    DENY(syncfs),

    /* Calls that tell or change which pages of a file are in memory. That would be a channel from
     * one process of a job to the next. Direct reads come from the disk in any case, where no stop
     * interrupts them. The C library knows a system without preadv2 and openat2. */
    DENY(mincore),
    DENY(fadvise64),
    DENY(readahead),
    DENY(cachestat),
    SKIP_UNLESS(SYS_preadv2, 1),
    FAIL(ENOSYS),
    SKIP_UNLESS(SYS_openat2, 1),
    FAIL(ENOSYS),
    SKIP_UNLESS(SYS_openat, 4),
    LOAD_ARGUMENT(2),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECT, 1, 0),
    RETURN(SECCOMP_RET_ALLOW),
    FAIL(EPERM),
#ifdef SYS_open
    SKIP_UNLESS(SYS_open, 4),
    LOAD_ARGUMENT(1),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECT, 1, 0),
    RETURN(SECCOMP_RET_ALLOW),
    FAIL(EPERM),
#endif
    /* Nor one that gives the buffers of one side larger pages. */
    SKIP_UNLESS(SYS_madvise, 6),
    LOAD_ARGUMENT(2),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_COLD, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_PAGEOUT, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_COLLAPSE, 1, 0),
    RETURN(SECCOMP_RET_ALLOW),
    FAIL(EPERM),
    DENY(inotify_init1),
#ifdef SYS_inotify_init
    DENY(inotify_init),
#endif

    /* Limits are the judge's. With that of descriptors it ends the opening of files
     * (kf_sandbox_let_open). With one of processor time a process could have the kernel send it a
     * SIGKILL, which looks as if it came from outside. */
    SKIP_UNLESS(SYS_prlimit64, 8),
    LOAD_ARGUMENT(0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 5),
    LOAD_ARGUMENT(2),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
    LOAD_UPPER_HALF(2),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
    RETURN(SECCOMP_RET_ALLOW),
    FAIL(EPERM),
#ifdef SYS_setrlimit
    DENY(setrlimit),
#endif

    /* Both sides have the same scheduling. */
    DENY(sched_setscheduler),
    DENY(sched_setparam),
    DENY(sched_setattr),
    DENY(setpriority),
    DENY(ioprio_set),

    /* Communication. Open descriptors stay usable. */
    DENY(socket),
    DENY(socketpair),
    DENY(connect),
    DENY(bind),
    DENY(listen),
    DENY(accept),
    DENY(accept4),
    DENY(shmget),
    DENY(shmat),
    DENY(msgget),
    DENY(semget),
    DENY(mq_open),
    DENY(memfd_create),
    DENY(memfd_secret),

    /* Changes of directories: files that the judge or a library opens by name must not be replaced.
     */
    DENY(unlinkat),
    DENY(mkdirat),
    DENY(mknodat),
    DENY(linkat),
    DENY(symlinkat),
    DENY(renameat2),
    DENY(fchmodat),
    DENY(fchownat),
    DENY(truncate),
#ifdef SYS_renameat
    DENY(renameat),
#endif
#ifdef SYS_unlink
    DENY(unlink),
    DENY(rmdir),
    DENY(mkdir),
    DENY(mknod),
    DENY(link),
    DENY(symlink),
    DENY(rename),
    DENY(chmod),
    DENY(chown),
    DENY(lchown),
#endif
    DENY(chroot),
    DENY(pivot_root),
    DENY(mount),
    DENY(umount2),
    DENY(open_tree),
    DENY(move_mount),
    DENY(fsopen),
    DENY(fsmount),
    DENY(fsconfig),
    DENY(fspick),
    DENY(mount_setattr),

    /* The kernel's larger attack surfaces. */
    DENY(bpf),
    DENY(perf_event_open),
    DENY(keyctl),
    DENY(add_key),
    DENY(request_key),
    DENY(personality),
    DENY(seccomp),
    DENY(open_by_handle_at),
    DENY(name_to_handle_at),
    DENY(fanotify_init),

    /* prctl: options that weaken the control over this process. */
    SKIP_UNLESS(SYS_prctl, 7),
    LOAD_ARGUMENT(0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_DUMPABLE, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PTRACER, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 1, 0),
    RETURN(SECCOMP_RET_ALLOW),
    FAIL(EPERM),

    /* fcntl: signals that continue a stopped process; leases, because opening the file elsewhere
       would wait while the holder is stopped; direct reads. */
    SKIP_UNLESS(SYS_fcntl, 9),
    LOAD_ARGUMENT(1),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETSIG, 6, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_NOTIFY, 5, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETLEASE, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 0, 2),
    LOAD_ARGUMENT(2),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECT, 1, 0),
    RETURN(SECCOMP_RET_ALLOW),
    FAIL(EPERM),

    RETURN(SECCOMP_RET_ALLOW),
};

static long install(pid_t self)
{
    struct sock_filter filter[sizeof rules / sizeof *rules];
    const struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    for (size_t i = 0; i < sizeof filter / sizeof *filter; i++) {
        filter[i] = rules[i];
        if (filter[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && filter[i].k == SELF)
            filter[i].k = (unsigned)self;
    }
    /* 0 on success, or the id of a thread that could not be filtered */
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static const struct sock_filter code_rules[] = {
    LOAD_ARCH,
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    LOAD_NUMBER,
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pkey_mprotect, 1, 0),
    SKIP_UNLESS(SYS_mmap, 6),
    LOAD_ARGUMENT(2),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 4),
    /* /dev/zero gives memory without MAP_ANONYMOUS. */
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 2, 0),
    LOAD_NUMBER,
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
    FAIL(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
    LOAD_ARGUMENT(3),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1),
    FAIL(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

int kf_sandbox_deny_made_code(void)
{
    const struct sock_fprog program = {.len = sizeof code_rules / sizeof *code_rules,
                                       .filter = (struct sock_filter *)(uintptr_t)code_rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -errno;
    long status =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    return status < 0 ? -errno : status > 0 ? -EBUSY : 0;
}

int kf_sandbox_lockdown(void)
{
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)) return -errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -errno;
    long status = install(getpid());
    if (status < 0) return -errno;
    return status > 0 ? -EBUSY : 0;
}
