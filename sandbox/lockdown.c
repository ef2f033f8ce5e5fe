/* The second filter, put on by the program inside just before it loads untrusted code.
 *
 * By then its libraries are loaded and its device context exists, so much of what the first filter
 * (seccomp.c) had to leave can go: every execve, new sockets, memfd_create, changes to directories.
 * It goes on all threads (TSYNC), since libraries have started some by then. The filter is written
 * by hand, so that the program need not link libseccomp, and allocates nothing.
 *
 * A seccomp program sees the call number, the architecture and six 64-bit arguments. Arguments
 * compared here are `int`s or flags whose upper halves the kernel ignores too, so the lower half is
 * what counts (little-endian: the first word).
 */
#include "kforge/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "kf_sandbox_lockdown knows x86-64 and aarch64"
#endif

/* Calls numbered above this one (mseal, Linux 6.10) are newer than this list and look like an older
 * kernel's. */
#define LAST_KNOWN 462

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define LOAD_ARCH BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch))
#define LOAD_ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
#define LOAD_UPPER_HALF(n) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]) + 4)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define SKIP_UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define FAIL(number) RETURN(SECCOMP_RET_ERRNO | (number))
/* Denies a call whatever its arguments. */
#define DENY(name) SKIP_UNLESS(SYS_##name, 1), FAIL(EPERM)
/* Denies a call unless its first argument is `value`; the number is gone from the accumulator
 * afterwards, hence the return. */
#define ONLY(name, value)                                                \
    SKIP_UNLESS(SYS_##name, 4), LOAD_ARGUMENT(0), SKIP_UNLESS(value, 1), \
        RETURN(SECCOMP_RET_ALLOW), FAIL(EPERM)

/* Stands for this process's id, which install() puts in its place. */
#define SELF 0xFFFFFFFFu

static const struct sock_filter rules[] = {
    LOAD_ARCH,
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    LOAD_NUMBER,
#ifdef __x86_64__
    /* x32 calls have this bit set and would pass by their other numbers. */
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
    RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN, 0, 1),
    FAIL(ENOSYS),

    /* Other programs and processes. Threads go on: the C library falls back from clone3 to clone,
     * whose flags can be seen. Not with CLONE_VFORK: who waits for such a thread can't be stopped,
     * and the machine would be blamed for that. Nor with descriptors of its own, beyond the limit
     * on them: what a user may have of epoll's watches in all would not last, and nothing could be
     * started beside it. */
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
    ONLY(prlimit64, 0),

    /* What works on while the process is stopped, or wakes it. */
    DENY(userfaultfd),
    DENY(io_uring_setup),
    DENY(io_uring_enter),
    DENY(io_uring_register),
    DENY(io_setup),
    DENY(io_submit),
    DENY(timer_create),
    DENY(mq_notify),

    /* What works on for minutes in the kernel and is interrupted by no signal, SIGKILL included; or
       waits for everybody's disks. */
    DENY(move_pages),
    DENY(sync),
    DENY(syncfs),
    SKIP_UNLESS(SYS_mincore, 4),
    LOAD_UPPER_HALF(1),
    SKIP_UNLESS(0, 1),
    RETURN(SECCOMP_RET_ALLOW),
    FAIL(EPERM),

    /* Talking to others. The descriptors that are open stay usable. */
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

    /* Directories stay as they are: nothing that the judge or a library looks at by name is
       replaced. */
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

    /* prctl: what would undo the watch over this process. */
    SKIP_UNLESS(SYS_prctl, 7),
    LOAD_ARGUMENT(0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_DUMPABLE, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PTRACER, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 1, 0),
    RETURN(SECCOMP_RET_ALLOW),
    FAIL(EPERM),

    /* fcntl: what wakes a stopped process; a lease lets everybody wait who opens the file, while
       its holder is stopped. */
    SKIP_UNLESS(SYS_fcntl, 6),
    LOAD_ARGUMENT(1),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETSIG, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_NOTIFY, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETLEASE, 1, 0),
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
    /* 0 on success, a thread's id where that thread could not be brought along. */
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

int kf_sandbox_lockdown(void)
{
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)) return -errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -errno;
    long status = install(getpid());
    if (status < 0) return -errno;
    return status > 0 ? -EBUSY : 0;
}
