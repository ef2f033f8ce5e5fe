/* The system call filter that holds from the program's first instruction.
 *
 * It is a deny list. Compilers and the CUDA driver use several hundred system calls, and the list
 * of forbidden ones is short enough to give a reason for each. A denied call returns EPERM, which
 * programs handle. It returns ENOSYS if the C library then falls back to another call: clone3's
 * arguments lie behind a pointer, so a filter cannot see them, but it can see those of clone.
 * System calls of another architecture (i386 and x32 on x86-64) have other numbers, so they kill
 * the process.
 *
 * A comparison with an `int` argument masks the upper half of the register. The kernel ignores that
 * half, so a comparison of all 64 bits could be evaded by setting bits there. UNLESS compares all
 * bits, because there a set bit only denies more.
 *
 * The process's own id and the address of the program's path are known only in the child. The
 * filter is compiled with placeholders, which kf_seccomp_patch replaces. execve is allowed only
 * with that address, so the runner can be started but starts nothing else. The runner could write
 * another path to that address, so kf_sandbox_lockdown denies execve before untrusted code is
 * loaded.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The filters that contain a rule. */
enum {
    BUILD = 1,
    RUNNER = 2,
    BOTH = BUILD | RUNNER,
    /* only without a pid namespace: signals would reach the host's processes */
    NO_PID_NS = 4,
    /* not for a tool that runs candidates itself */
    NOT_TOOL = 16,
    /* only without a mount namespace: landlock controls contents, but not modes, owners and times
     */
    NO_MOUNT_NS = 8,
    /* not for an agent in a pid namespace, the end of which ends all of its processes */
    NOT_AGENT = 32,
};

/* The condition under which a rule denies its call. */
typedef enum test_kind {
    /* with any arguments */
    ALWAYS,
    /* the int argument equals value */
    EQUAL,
    /* all bits of value are set */
    BITS,
    /* all bits of value are clear */
    CLEAR,
    /* the 64-bit argument differs from value */
    UNLESS,
    /* the 64-bit argument is above value */
    OVER
} test_kind;

#define OWN_PID 0x5eed0001u
#define PROGRAM 0x5eed00025eed0003ull

typedef struct filter_rule {
    const char *name;
    int filters;
    /* the errno that the call returns */
    int number;
    test_kind test;
    unsigned argument;
    uint64_t value;
    const char *reason;
} filter_rule;

static const filter_rule rules[] = {
    /* Other processes. */
    {"ptrace", BOTH, EPERM, ALWAYS, 0, 0, "reads and writes other processes"},
    {"process_vm_readv", BOTH, EPERM, ALWAYS, 0, 0, "reads other processes"},
    {"process_vm_writev", BOTH, EPERM, ALWAYS, 0, 0,
     "writes other processes, also after the runner was stopped"},
    {"process_madvise", BOTH, EPERM, ALWAYS, 0, 0, "acts on other processes' memory"},
    {"process_mrelease", BOTH, EPERM, ALWAYS, 0, 0, "acts on other processes' memory"},
    {"migrate_pages", BOTH, EPERM, ALWAYS, 0, 0, "acts on other processes' memory"},
    {"kcmp", BOTH, EPERM, ALWAYS, 0, 0, "looks into other processes"},
    {"pidfd_open", BOTH | NOT_AGENT, EPERM, ALWAYS, 0, 0, "handle on other processes"},
    {"pidfd_getfd", BOTH, EPERM, ALWAYS, 0, 0, "takes other processes' descriptors"},
    {"pidfd_send_signal", BOTH | NOT_AGENT, EPERM, ALWAYS, 0, 0, "signals other processes"},
    {"rt_sigqueueinfo", BOTH, EPERM, ALWAYS, 0, 0, "signals with forged sender"},
    {"rt_tgsigqueueinfo", BOTH, EPERM, ALWAYS, 0, 0, "signals with forged sender"},
    {"kill", RUNNER, EPERM, UNLESS, 0, OWN_PID, "signals other processes"},
    {"kill", BUILD | NO_PID_NS, EPERM, UNLESS, 0, OWN_PID, "signals the host's processes"},
    {"tkill", RUNNER, EPERM, ALWAYS, 0, 0, "signals other processes; tgkill is there for threads"},
    {"tkill", BUILD | NO_PID_NS, EPERM, ALWAYS, 0, 0, "signals the host's processes"},
    {"tgkill", RUNNER, EPERM, UNLESS, 0, OWN_PID, "signals other processes; abort() needs its own"},
    {"tgkill", BUILD | NO_PID_NS, EPERM, UNLESS, 0, OWN_PID, "signals the host's processes"},
    {"prlimit64", BOTH, EPERM, UNLESS, 0, 0, "changes the limits of other processes"},
    {"setpriority", BOTH | NO_PID_NS, EPERM, ALWAYS, 0, 0, "slows the host's processes"},
    {"ioprio_set", BOTH, EPERM, ALWAYS, 0, 0, "slows other processes"},
    {"sched_setaffinity", BOTH | NO_PID_NS, EPERM, UNLESS, 0, 0, "moves the host's processes"},
    {"sched_setscheduler", BOTH | NO_PID_NS, EPERM, UNLESS, 0, 0, "slows the host's processes"},
    {"sched_setparam", BOTH | NO_PID_NS, EPERM, UNLESS, 0, 0, "slows the host's processes"},
    {"sched_setattr", BOTH | NO_PID_NS, EPERM, UNLESS, 0, 0, "slows the host's processes"},
    /* Processes of its own. */
    {"clone3", BOTH, ENOSYS, ALWAYS, 0, 0,
     "its flags cannot be seen here; the C library falls back to clone"},
    {"clone", RUNNER, EPERM, CLEAR, 0, CLONE_THREAD,
     "a second process would outlive, stop or wake the first"},
    {"clone", RUNNER, EPERM, CLEAR, 0, CLONE_FILES,
     "a thread with as many descriptors again as the limit allows"},
    {"clone", RUNNER, EPERM, BITS, 0, CLONE_VFORK,
     "its caller waits in a way that a stop does not interrupt, for as long as it likes"},
    {"fork", RUNNER, EPERM, ALWAYS, 0, 0, "a second process"},
    {"vfork", RUNNER, EPERM, ALWAYS, 0, 0, "a second process"},
    {"execve", RUNNER, EPERM, UNLESS, 0, PROGRAM, "only the program itself is started"},
    {"execveat", RUNNER, EPERM, ALWAYS, 0, 0, "only the program itself is started"},
    {"setsid", BOTH | NOT_AGENT, EPERM, ALWAYS, 0, 0,
     "leaves the session by which the tree is found and killed"},
    {"setpgid", BOTH | NOT_AGENT, EPERM, ALWAYS, 0, 0,
     "leaves the process group by which the tree is found and killed"},
    {"prctl", BOTH, EPERM, EQUAL, 0, PR_SET_PDEATHSIG, "would survive the judge"},
    {"prctl", BOTH | NOT_AGENT, EPERM, EQUAL, 0, PR_SET_CHILD_SUBREAPER,
     "would hide processes from the one that reaps them"},
    {"prctl", BOTH, EPERM, EQUAL, 0, PR_SET_PTRACER, "lets others trace it"},
    /* Asynchronous work in the kernel's hands, and wake-ups of a stopped process (a timer may send
       SIGCONT). */
    {"userfaultfd", BOTH, EPERM, ALWAYS, 0, 0, "supplies memory contents at the moment of a read"},
    {"io_uring_setup", BOTH, EPERM, ALWAYS, 0, 0,
     "writes memory and opens files asynchronously and past these rules"},
    {"io_uring_enter", BOTH, EPERM, ALWAYS, 0, 0, "as io_uring_setup"},
    {"io_uring_register", BOTH, EPERM, ALWAYS, 0, 0, "as io_uring_setup"},
    {"io_setup", RUNNER, EPERM, ALWAYS, 0, 0, "writes memory asynchronously"},
    {"timer_create", RUNNER, EPERM, ALWAYS, 0, 0, "may send SIGCONT to a stopped process"},
    {"mq_notify", RUNNER, EPERM, ALWAYS, 0, 0, "may send SIGCONT to a stopped process"},
    {"fcntl", RUNNER, EPERM, EQUAL, 1, F_SETSIG, "may send SIGCONT to a stopped process"},
    {"fcntl", RUNNER, EPERM, EQUAL, 1, F_NOTIFY, "may send SIGCONT to a stopped process"},
    {"fcntl", BOTH, EPERM, EQUAL, 1, F_SETLEASE,
     "lets other programs wait that open the same files"},
    /* Long system calls that no signal interrupts. */
    {"move_pages", BOTH, EPERM, ALWAYS, 0, 0,
     "with billions of pages it ignores SIGKILL until its end"},
    {"mincore", BOTH, EPERM, OVER, 1, 0xffffffffu,
     "over terabytes it ignores SIGKILL until its end"},
    {"sync", BOTH, EPERM, ALWAYS, 0, 0, "waits for the host's disks where no stop interrupts it"},
    {"syncfs", BOTH, EPERM, ALWAYS, 0, 0, "waits for the host's disks where no stop interrupts it"},
    /* Namespaces, mounts, other roots. */
    {"unshare", BOTH, EPERM, ALWAYS, 0, 0, "new namespaces give new capabilities"},
    {"setns", BOTH, EPERM, ALWAYS, 0, 0, "leaves the namespaces"},
    {"clone", BOTH, EPERM, BITS, 0, CLONE_NEWUSER, "new namespaces give new capabilities"},
    {"clone", BOTH, EPERM, BITS, 0, CLONE_NEWNS, "new namespaces give new capabilities"},
    {"clone", BOTH, EPERM, BITS, 0, CLONE_NEWPID, "new namespaces hide processes"},
    {"clone", BOTH, EPERM, BITS, 0, CLONE_NEWNET, "new namespaces give new capabilities"},
    {"clone", BOTH, EPERM, BITS, 0, CLONE_NEWIPC, "new namespaces give new capabilities"},
    {"clone", BOTH, EPERM, BITS, 0, CLONE_NEWUTS, "new namespaces give new capabilities"},
    {"clone", BOTH, EPERM, BITS, 0, CLONE_NEWCGROUP, "new namespaces give new capabilities"},
    {"mount", BOTH, EPERM, ALWAYS, 0, 0, "changes the file system's shape"},
    {"umount2", BOTH, EPERM, ALWAYS, 0, 0, "uncovers what a mount hides"},
    {"pivot_root", BOTH, EPERM, ALWAYS, 0, 0, "changes the root"},
    {"chroot", BOTH, EPERM, ALWAYS, 0, 0, "changes the root"},
    {"fsopen", BOTH, EPERM, ALWAYS, 0, 0, "changes the file system's shape"},
    {"fsconfig", BOTH, EPERM, ALWAYS, 0, 0, "changes the file system's shape"},
    {"fsmount", BOTH, EPERM, ALWAYS, 0, 0, "changes the file system's shape"},
    {"fspick", BOTH, EPERM, ALWAYS, 0, 0, "changes the file system's shape"},
    {"open_tree", BOTH, EPERM, ALWAYS, 0, 0, "changes the file system's shape"},
    {"move_mount", BOTH, EPERM, ALWAYS, 0, 0, "changes the file system's shape"},
    {"mount_setattr", BOTH, EPERM, ALWAYS, 0, 0, "makes read-only mounts writable"},
    {"name_to_handle_at", BOTH, EPERM, ALWAYS, 0, 0, "opens files by number, past all paths"},
    {"open_by_handle_at", BOTH, EPERM, ALWAYS, 0, 0, "opens files by number, past all paths"},
    {"fanotify_init", BOTH, EPERM, ALWAYS, 0, 0, "watches other processes' files"},
    {"quotactl", BOTH, EPERM, ALWAYS, 0, 0, "administration"},
    {"swapon", BOTH, EPERM, ALWAYS, 0, 0, "administration"},
    {"swapoff", BOTH, EPERM, ALWAYS, 0, 0, "administration"},
    {"acct", BOTH, EPERM, ALWAYS, 0, 0, "administration"},
    {"syslog", BOTH, EPERM, ALWAYS, 0, 0, "kernel addresses"},
    {"reboot", BOTH, EPERM, ALWAYS, 0, 0, "administration"},
    {"settimeofday", BOTH, EPERM, ALWAYS, 0, 0, "the judge's clock"},
    {"clock_settime", BOTH, EPERM, ALWAYS, 0, 0, "the judge's clock"},
    {"clock_adjtime", BOTH, EPERM, ALWAYS, 0, 0, "the judge's clock"},
    {"adjtimex", BOTH, EPERM, ALWAYS, 0, 0, "the judge's clock"},
    {"sethostname", BOTH, EPERM, ALWAYS, 0, 0, "administration"},
    {"setdomainname", BOTH, EPERM, ALWAYS, 0, 0, "administration"},
    {"vhangup", BOTH, EPERM, ALWAYS, 0, 0, "the caller's terminal"},
    {"ioctl", BOTH, EPERM, EQUAL, 1, TIOCSTI, "types into a terminal"},
    {"ioctl", BOTH, EPERM, EQUAL, 1, TIOCLINUX, "pastes into a console"},
    /* Landlock controls a file's contents, not what its inode says, and hides no names. */
    {"chmod", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes modes of files that landlock only hides"},
    {"fchmod", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes modes of files that landlock only hides"},
    {"fchmodat", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes modes of files that landlock only hides"},
    {"fchmodat2", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes modes of files that landlock only hides"},
    {"chown", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes owners of files that landlock only hides"},
    {"fchown", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes owners of files that landlock only hides"},
    {"lchown", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes owners of files that landlock only hides"},
    {"fchownat", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes owners of files that landlock only hides"},
    {"utime", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes times of files that landlock only hides"},
    {"utimes", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes times of files that landlock only hides"},
    {"futimesat", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes times of files that landlock only hides"},
    {"utimensat", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes times of files that landlock only hides"},
    {"setxattr", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes attributes of files that landlock only hides"},
    {"lsetxattr", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes attributes of files that landlock only hides"},
    {"fsetxattr", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes attributes of files that landlock only hides"},
    {"removexattr", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes attributes of files that landlock only hides"},
    {"lremovexattr", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes attributes of files that landlock only hides"},
    {"fremovexattr", BOTH | NO_MOUNT_NS, EPERM, ALWAYS, 0, 0,
     "changes attributes of files that landlock only hides"},
    /* The kernel's larger attack surfaces. */
    {"bpf", BOTH, EPERM, ALWAYS, 0, 0, "programs inside the kernel"},
    {"perf_event_open", BOTH, EPERM, ALWAYS, 0, 0, "observes the machine; a large attack surface"},
    {"keyctl", BOTH, EPERM, ALWAYS, 0, 0, "keys are not namespaced"},
    {"add_key", BOTH, EPERM, ALWAYS, 0, 0, "keys are not namespaced"},
    {"request_key", BOTH, EPERM, ALWAYS, 0, 0, "keys are not namespaced"},
    {"kexec_load", BOTH, EPERM, ALWAYS, 0, 0, "replaces the kernel"},
    {"kexec_file_load", BOTH, EPERM, ALWAYS, 0, 0, "replaces the kernel"},
    {"init_module", BOTH, EPERM, ALWAYS, 0, 0, "code in the kernel"},
    {"finit_module", BOTH, EPERM, ALWAYS, 0, 0, "code in the kernel"},
    {"delete_module", BOTH, EPERM, ALWAYS, 0, 0, "code in the kernel"},
    {"iopl", BOTH, EPERM, ALWAYS, 0, 0, "hardware"},
    {"ioperm", BOTH, EPERM, ALWAYS, 0, 0, "hardware"},
    {"personality", BOTH, EPERM, ALWAYS, 0, 0, "turns address randomisation off"},
    {"memfd_secret", BOTH, EPERM, ALWAYS, 0, 0, "memory that no other process can inspect"},
    {"uselib", BOTH, ENOSYS, ALWAYS, 0, 0, "obsolete"},
    {"vm86", BOTH, ENOSYS, ALWAYS, 0, 0, "obsolete"},
    {"vm86old", BOTH, ENOSYS, ALWAYS, 0, 0, "obsolete"},
    {"lookup_dcookie", BOTH, EPERM, ALWAYS, 0, 0, "obsolete"},
    {"nfsservctl", BOTH, ENOSYS, ALWAYS, 0, 0, "obsolete"},
    /* Communication. The runner may open Unix and netlink sockets, which the CUDA driver needs in
       cuInit, until its lockdown. */
    {"socket", BUILD | NOT_TOOL | NOT_AGENT, EPERM, ALWAYS, 0, 0, "a compiler needs no network"},
    {"connect", BUILD | NOT_TOOL | NOT_AGENT, EPERM, ALWAYS, 0, 0, "a compiler needs no network"},
    {"bind", BUILD | NOT_TOOL | NOT_AGENT, EPERM, ALWAYS, 0, 0, "a compiler needs no network"},
    {"listen", BUILD | NOT_TOOL | NOT_AGENT, EPERM, ALWAYS, 0, 0, "a compiler needs no network"},
    {"shmget", BUILD, EPERM, ALWAYS, 0, 0, "memory that outlives the process"},
};

/* Denies socket() for every family but AF_UNIX and AF_NETLINK. A rule compares an argument once, so
 * each family gets a rule. One more rule denies all larger values, which includes 64-bit values
 * that the kernel would truncate to an allowed family. */
static int add_runner_sockets(scmp_filter_ctx context)
{
    enum { FAMILIES = 64 }; /* AF_MAX is 46 as of Linux 6.12 */
    int status = seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_GE, FAMILIES, 0));
    for (int family = 0; family < FAMILIES && status == 0; family++) {
        if (family == AF_UNIX || family == AF_NETLINK) continue;
        status = seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family, 0));
    }
    return status;
}

static int add_rule(scmp_filter_ctx context, const filter_rule *rule)
{
    int number = seccomp_syscall_resolve_name(rule->name);
    /* libseccomp is older than the call */
    if (number == __NR_SCMP_ERROR) return 0;
    uint32_t action = SCMP_ACT_ERRNO((uint32_t)rule->number);
    unsigned a = rule->argument;
    int status;
    switch (rule->test) {
    case EQUAL:
        status = seccomp_rule_add(context, action, number, 1,
                                  SCMP_CMP(a, SCMP_CMP_MASKED_EQ, 0xffffffffu, rule->value));
        break;
    case BITS:
        status = seccomp_rule_add(context, action, number, 1,
                                  SCMP_CMP(a, SCMP_CMP_MASKED_EQ, rule->value, rule->value));
        break;
    case CLEAR:
        status = seccomp_rule_add(context, action, number, 1,
                                  SCMP_CMP(a, SCMP_CMP_MASKED_EQ, rule->value, 0));
        break;
    case OVER:
        status =
            seccomp_rule_add(context, action, number, 1, SCMP_CMP(a, SCMP_CMP_GT, rule->value, 0));
        break;
    case UNLESS:
        status =
            seccomp_rule_add(context, action, number, 1, SCMP_CMP(a, SCMP_CMP_NE, rule->value, 0));
        break;
    default: status = seccomp_rule_add(context, action, number, 0); break;
    }
    /* the architecture lacks the call (fork on aarch64) */
    return status == -EDOM ? 0 : status;
}

static int export_filter(scmp_filter_ctx context, struct sock_filter **filter, size_t *count)
{
    kf_autoclose int fd = memfd_create("kforge-filter", MFD_CLOEXEC);
    if (fd < 0) return -errno;
    int status = seccomp_export_bpf(context, fd);
    if (status < 0) return status;
    off_t size = lseek(fd, 0, SEEK_END);
    if (size <= 0 || (size_t)size % sizeof **filter ||
        (size_t)size / sizeof **filter > BPF_MAXINSNS)
        return -E2BIG;
    kf_autofree struct sock_filter *program = malloc((size_t)size);
    if (!program) return -ENOMEM;
    if (pread(fd, program, (size_t)size, 0) != size) return -EIO;
    *count = (size_t)size / sizeof *program;
    *filter = kf_steal(&program);
    return 0;
}

static int compile(kf_seccomp_profile profile, int absent, struct sock_filter **filter,
                   size_t *count)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    if (!context) return -ENOMEM;
    bool agent = profile == KF_SECCOMP_AGENT, plain = agent || profile == KF_SECCOMP_BUILD;
    int bit = profile == KF_SECCOMP_RUNNER ? RUNNER : BUILD,
        there = absent | (plain ? NOT_TOOL : 0) | (agent && !(absent & NO_PID_NS) ? 0 : NOT_AGENT);
    int status = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    /* 2: a binary tree, which needs fewer instructions for each call */
    if (!status) status = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !status; i++)
        if ((rules[i].filters & bit) && !(rules[i].filters & ~BOTH & ~there))
            status = add_rule(context, &rules[i]);
    if (!status && !plain) status = add_runner_sockets(context);
    if (!status) status = export_filter(context, filter, count);
    seccomp_release(context);
    return status;
}

const struct sock_filter *kf_seccomp_filter(kf_seccomp_profile profile, int layers, size_t *count,
                                            kf_error *error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        struct sock_filter *filter;
        size_t count;
    } cache[5][4]; /* never freed */
    pthread_mutex_lock(&lock);
    int status = 0, row = (int)profile;
    int absent = (layers & KF_LAYER_PID_NS ? 0 : NO_PID_NS) |
                 (layers & KF_LAYER_MOUNT_NS ? 0 : NO_MOUNT_NS),
        column = absent / NO_PID_NS;
    if (!cache[row][column].filter)
        status = compile(profile, absent, &cache[row][column].filter, &cache[row][column].count);
    const struct sock_filter *filter = cache[row][column].filter;
    *count = cache[row][column].count;
    pthread_mutex_unlock(&lock);
    if (!filter)
        kf_fail(error, KF_ERROR_INTERNAL, "sandbox: compiling the system call filter: %s",
                strerror(-status));
    return filter;
}

void kf_seccomp_patch(struct sock_filter *filter, size_t count, pid_t pid, const char *program)
{
    uint64_t address = (uint64_t)(uintptr_t)program;
    for (size_t i = 0; i < count; i++) {
        if (BPF_CLASS(filter[i].code) != BPF_JMP) continue;
        if (filter[i].k == OWN_PID)
            filter[i].k = (uint32_t)pid;
        else if (filter[i].k == (uint32_t)(PROGRAM >> 32))
            filter[i].k = (uint32_t)(address >> 32);
        else if (filter[i].k == (uint32_t)PROGRAM)
            filter[i].k = (uint32_t)address;
    }
}

bool kf_seccomp_available(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}
