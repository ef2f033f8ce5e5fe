/* The program that test_sandbox*.c run inside the sandbox: each subcommand tries one thing that
 * must not work (or one that must).
 *
 * Exit status: 0 it was contained (or, for what must work, it worked), 1 it was not, with a line
 * that says what, 2 it could not even try. The driver runs the attacks outside a sandbox as well
 * and expects 1 there, so that an attack which cannot succeed anywhere is noticed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kforge/sandbox.h"

extern char **environ;

static int escaped; /* set by every attack that worked */

/* An attack worked when `status` is not negative. */
static void attack(const char *what, long status)
{
    if (status < 0) return;
    printf("escaped: %s\n", what);
    escaped = 1;
}

/* Something harmless must work when `status` is not negative. */
static void need(const char *what, long status)
{
    if (status >= 0) return;
    printf("broken: %s: %s\n", what, strerror(errno));
    escaped = 1;
}

static int do_read(char **arguments)
{
    for (; *arguments; arguments++) attack(*arguments, open(*arguments, O_RDONLY));
    return escaped;
}

static int do_write(char **arguments)
{
    for (; *arguments; arguments++) {
        attack("open for writing", open(*arguments, O_WRONLY | O_CREAT, 0600));
        attack("truncate", truncate(*arguments, 0));
        attack("chmod", chmod(*arguments, 0777) == 0 && access(*arguments, W_OK) == 0 ? 0 : -1);
        attack("unlink", unlink(*arguments));
    }
    return escaped;
}

static int do_use(char **arguments) /* a directory that may be written */
{
    char path[512];
    snprintf(path, sizeof path, "%s/made", arguments[0]);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0666);
    need("create", fd);
    need("write", write(fd, "inside", 6));
    struct stat status;
    need("stat", fstat(fd, &status));
    if (status.st_mode & 077) attack("files are open to others", 0);
    return escaped;
}

static int do_processes(char **arguments)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/cmdline", arguments[0]);
    attack("reads the parent's command line", open(path, O_RDONLY));
    snprintf(path, sizeof path, "/proc/%s/environ", arguments[0]);
    attack("reads the parent's environment", open(path, O_RDONLY));
    DIR *proc = opendir("/proc");
    for (struct dirent *item; proc && (item = readdir(proc));)
        if (atoi(item->d_name) > 0 && atoi(item->d_name) != getpid())
            attack("sees another process", 0);
    return escaped;
}

static int do_trace(char **arguments)
{
    pid_t pid = atoi(arguments[0]);
    char byte, path[64];
    struct iovec local = {&byte, 1},
                 remote = {(void *)(uintptr_t)strtoull(arguments[1], NULL, 0), 1};
    attack("ptrace", ptrace(PTRACE_SEIZE, pid, 0, 0));
    attack("process_vm_readv", process_vm_readv(pid, &local, 1, &remote, 1, 0));
    attack("pidfd_open", syscall(SYS_pidfd_open, pid, 0));
    attack("kill", kill(pid, 0));
    attack("tgkill", syscall(SYS_tgkill, pid, pid, 0));
    attack("tkill", syscall(SYS_tkill, pid, 0));
    attack("kill of the process group", getpgid(pid) > 1 ? kill(-getpgid(pid), 0) : -1);
    attack("prlimit", syscall(SYS_prlimit64, pid, RLIMIT_CPU, NULL, &(struct rlimit){0}));
    attack("setpriority", setpriority(PRIO_PROCESS, (id_t)pid, 10));
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    attack("/proc/PID/mem", open(path, O_RDWR));
    return escaped;
}

static int do_network(char **arguments)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(arguments[0])),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0),
        local = socket(AF_UNIX, SOCK_STREAM, 0);
    attack("connects to the host's loopback",
           connect(tcp, (struct sockaddr *)&address, sizeof address));
    attack("sends a datagram to the host's loopback",
           sendto(udp, "x", 1, 0, (struct sockaddr *)&address, sizeof address));
    struct sockaddr_un abstract = {.sun_family = AF_UNIX};
    snprintf(abstract.sun_path + 1, sizeof abstract.sun_path - 1, "%s", arguments[1]);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(arguments[1]));
    attack("connects to an abstract socket of the host",
           connect(local, (struct sockaddr *)&abstract, size));
    return escaped;
}

static int do_forkbomb(char **arguments)
{
    int limit = atoi(arguments[0]), made = 0;
    for (; made < limit; made++) {
        pid_t pid = fork();
        if (pid < 0) break;
        if (pid == 0)
            for (;;) pause();
    }
    printf("%d processes\n", made);
    return made == limit;
}

static int do_flood(char **arguments)
{
    static char block[1 << 16];
    memset(block, 'x', sizeof block);
    long long left = atoll(arguments[0]);
    while (left > 0) {
        ssize_t size =
            write(1, block, left < (long long)sizeof block ? (size_t)left : sizeof block);
        if (size < 0) return 2;
        left -= size;
    }
    return 0;
}

static int do_hog(char **arguments)
{
    size_t step = 64u << 20, wanted = strtoull(arguments[0], NULL, 10);
    for (size_t got = 0; got < wanted; got += step) {
        char *memory = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            printf("refused at %zu MiB\n", got >> 20);
            return 0;
        }
        for (size_t i = 0; i < step; i += 4096) memory[i] = 1;
    }
    return 1;
}

static int do_fill(char **arguments) /* a file until it is refused; says how many MiB fitted */
{
    static char block[1 << 20];
    signal(SIGXFSZ, SIG_IGN);
    int fd = open(arguments[0], O_WRONLY | O_CREAT, 0600);
    if (fd < 0) return 2;
    size_t total = 0;
    while (total < 1u << 30) {
        ssize_t size = write(fd, block, sizeof block);
        if (size <= 0) break;
        total += (size_t)size;
    }
    printf("%zu MiB: %s\n", total >> 20, strerror(errno));
    return 0;
}

static int do_spin(char **arguments)
{
    (void)arguments;
    signal(SIGTERM, SIG_IGN);
    signal(SIGXCPU, SIG_IGN);
    for (volatile unsigned i = 0;; i++) continue;
    return 1;
}

static int do_sleep(char **arguments)
{
    (void)arguments;
    for (;;) pause();
    return 1;
}

static _Atomic uint64_t *shared_counters(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
    if (memory == MAP_FAILED) exit(2);
    return memory;
}

static void *count(void *slot)
{
    for (;;) atomic_fetch_add((_Atomic uint64_t *)slot, 1);
    return NULL;
}

static int do_count(char **arguments) /* threads that count in shared memory */
{
    _Atomic uint64_t *slots = shared_counters();
    int threads = atoi(arguments[0]);
    signal(SIGCONT, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, count, &slots[i])) return 2;
    }
    for (;;) pause();
}

/* processes that count, in sessions of their own if they can, with parents that are gone */
static int do_family(char **arguments)
{
    _Atomic uint64_t *slots = shared_counters();
    int processes = atoi(arguments[0]);
    for (int i = 0; i < processes; i++) {
        pid_t parent = fork();
        if (parent > 0) waitpid(parent, NULL, 0);
        if (parent) continue;
        setsid();
        if (fork()) _exit(0);
        setpgid(0, 0);
        close(1);
        close(2);
        for (;;) {
            atomic_fetch_add(&slots[i], 1);
            usleep(200);
        }
    }
    if (arguments[1]) return 0; /* leaves them behind */
    for (;;) pause();
}

static int do_settle(char **arguments) /* starts another program, and then "locks" itself, with one
                                          "left" of it, or stays as it is ("open") */
{
    _Atomic uint64_t *slots = shared_counters();
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    if (pid < 0 || waitpid(pid, NULL, 0) != pid) return 2;
    if (strcmp(arguments[0], "left") == 0 && fork() == 0)
        for (;;) pause();
    if (strcmp(arguments[0], "open") != 0 && kf_sandbox_lockdown()) return 3;
    count(&slots[0]);
    return 0;
}

/* Opens its memory file to write, again and again, and counts turns and successes. */
static void *open_memory(void *argument)
{
    _Atomic uint64_t *slots = argument;
    for (;;) {
        int fd = open("/proc/self/mem", O_RDWR);
        if (fd >= 0) {
            close(fd);
            atomic_fetch_add(&slots[1], 1);
        }
        atomic_fetch_add(&slots[0], 1);
        usleep(200);
    }
    return NULL;
}

static int do_memory(char **arguments)
{
    pthread_t other;
    (void)arguments;
    if (pthread_create(&other, NULL, open_memory, shared_counters())) return 2;
    for (;;) pause();
}

static int do_addresses(char **arguments)
{
    static const size_t large = 1 << 20; /* beyond what malloc takes from its heap */
    int on_stack;
    void *small = malloc(16), *mapped = malloc(large);
    printf("%p %p %p %p\n", (void *)&on_stack, small, mapped, (void *)(uintptr_t)do_addresses);
    free(small);
    free(mapped);
    (void)arguments;
    return 0;
}

static int do_descriptors(char **arguments)
{
    (void)arguments;
    struct stat null, input;
    for (int fd = 4; fd < 4096; fd++) attack("a descriptor was inherited", fcntl(fd, F_GETFD));
    need("descriptor 3", fcntl(3, F_GETFD));
    need("stdin is /dev/null",
         stat("/dev/null", &null) || fstat(0, &input) || null.st_rdev != input.st_rdev ? -1 : 0);
    attack("a controlling terminal", open("/dev/tty", O_RDWR));
    return escaped;
}

static int do_environment(char **arguments)
{
    (void)arguments;
    for (char **variable = environ; *variable; variable++) puts(*variable);
    return 0;
}

static int do_state(char **arguments) /* what the process starts with */
{
    (void)arguments;
    sigset_t mask;
    struct sigaction action;
    struct rlimit limit;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int i = 1; i < 32; i++) {
        attack("a signal is blocked", sigismember(&mask, i) ? 0 : -1);
        if (!sigaction(i, NULL, &action))
            attack("a signal is not at its default", action.sa_handler != SIG_DFL ? 0 : -1);
    }
    attack("core dumps on", setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1}));
    getrlimit(RLIMIT_CORE, &limit);
    attack("core dumps on", limit.rlim_cur ? 0 : -1);
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long bits;
    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "CapEff: %llx", &bits) == 1 || sscanf(line, "CapPrm: %llx", &bits) == 1)
            attack(line, bits ? 0 : -1);
        if (sscanf(line, "NoNewPrivs: %llu", &bits) == 1) attack(line, bits ? -1 : 0);
    }
    need("no /proc/self/status", status ? 0 : -1);
    need("own thread's name in /proc", open("/proc/self/comm", O_WRONLY));
    attack("the kernel's settings are writable", open("/proc/sys/kernel/core_pattern", O_WRONLY));
    return escaped;
}

static int end_at_once(void *unused)
{
    (void)unused;
    return 0;
}

/* Ends a thread that has no thread-local storage. A return would use the parent's storage. */
static int end_thread(void *unused)
{
    (void)unused;
    return (int)syscall(SYS_exit, 0);
}

static pid_t fork_and_end(void)
{
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    return pid;
}

static int do_nothing_raw(void *unused)
{
    (void)unused;
    syscall(SYS_exit, 0);
    return 0;
}

static void try_own_descriptors(void)
{
    static char stack[1 << 14];
    attack("a thread with descriptors of its own",
           clone(do_nothing_raw, stack + sizeof stack,
                 CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL));
}

/* Tries calls that can keep the kernel busy for very long. These calls would not, but the sandbox
 * has to deny them, too. */
static void try_endless_calls(void)
{
    unsigned char page;
    errno = 0;
    mincore(NULL, (size_t)1 << 32, &page); /* nothing lies there: unfiltered it says so at once */
    attack("mincore of gigabytes", errno == EPERM ? -1 : 0);
    attack("move_pages", syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0));
    attack("sync", syscall(SYS_sync));
    errno = 0;
    syncfs(-1);
    attack("syncfs", errno == EPERM ? -1 : 0);
}

static int do_syscalls(char **arguments)
{
    static char stack[1 << 16];
    char attributes[128] = {0};
    /* the size field of both perf_event_attr and, unread, bpf_attr */
    attributes[4] = sizeof attributes;
    attack("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC | 1));
    try_endless_calls();
    attack("userfaultfd device", open("/dev/userfaultfd", O_RDWR));
    attack("perf_event_open", syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
    attack("bpf", syscall(SYS_bpf, 0, attributes, sizeof attributes));
    attack("io_uring_setup", syscall(SYS_io_uring_setup, 4, attributes));
    attack("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1));
    attack("unshare user", unshare(CLONE_NEWUSER));
    attack("unshare mount", unshare(CLONE_NEWNS));
    attack("clone of a user namespace",
           clone(end_at_once, stack + sizeof stack, CLONE_NEWUSER | SIGCHLD, NULL));
    attack("setns", setns(open("/proc/self/ns/mnt", O_RDONLY), 0));
    attack("mount",
           mkdir("/tmp/m", 0700) ? -1 : syscall(SYS_mount, "none", "/tmp/m", "tmpfs", 0, NULL));
    attack("chroot", chroot("/"));
    attack("personality", syscall(SYS_personality, 0x0040000));
    attack("PR_SET_PDEATHSIG", prctl(PR_SET_PDEATHSIG, 0));
    /* All 64 bits of an argument that the kernel takes as an int. */
    attack("PR_SET_PDEATHSIG", syscall(SYS_prctl, 0x100000000l | PR_SET_PDEATHSIG, 0, 0, 0, 0));
    attack("TIOCSTI", ioctl(0, 0x5412, "x"));
    attack("acct", syscall(SYS_acct, "/tmp/acct"));
    if (arguments[0]) { /* the runner's */
        timer_t timer;
        attack("fork", fork_and_end());
        attack("vfork",
               clone(end_at_once, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
        /* The sandbox can't stop a caller that waits for this thread. The thread would end at once:
         * it must not outlive this function. */
        attack("a thread that is waited for like vfork",
               clone(end_thread, stack + sizeof stack,
                     CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                         CLONE_SYSVSEM | CLONE_VFORK,
                     NULL));
        execl("/no/such/program", "x", (char *)NULL);
        attack("execve", errno == EPERM ? -1 : 0);
        attack("timer_create", timer_create(CLOCK_MONOTONIC, NULL, &timer));
        try_own_descriptors();
        attack("F_SETSIG", fcntl(0, F_SETSIG, SIGCONT));
        attack("internet socket", socket(AF_INET, SOCK_STREAM, 0));
        need("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
    }
    return escaped;
}

static void *nothing(void *unused)
{
    return unused;
}

static atomic_int other_thread_denied;
static void *wait_and_try(void *go)
{
    while (!atomic_load((atomic_int *)go)) usleep(100);
    atomic_store(&other_thread_denied, socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? 1 : 2);
    return NULL;
}

/* Tries calls that tell or change which pages of a file are in memory. */
static void try_page_cache(void)
{
    unsigned char page;
    char byte;
    struct iovec part = {&byte, 1};
    struct {
        uint64_t offset, length;
    } range = {0, 4096};
    uint64_t counts[5];
    int file = open("/proc/self/exe", O_RDONLY);
    void *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    need("open", file);
    need("map", mapped == MAP_FAILED ? -1 : 0);
    attack("mincore", mincore(mapped, 4096, &page));
    attack("fadvise", syscall(SYS_fadvise64, file, 0L, 4096L, POSIX_FADV_DONTNEED));
    attack("readahead", readahead(file, 0, 4096));
    attack("preadv2", syscall(SYS_preadv2, file, &part, 1L, 0L, 0L, 8L /* RWF_NOWAIT */));
    attack("cachestat", syscall(451, file, &range, counts, 0));
    attack("madvise", madvise(mapped, 4096, 21 /* MADV_PAGEOUT */));
    long collapsed = madvise(mapped, 4096, 25 /* MADV_COLLAPSE */);
    attack("larger pages", collapsed < 0 && errno == EPERM ? -1 : 0);
    need("madvise", madvise(mapped, 4096, MADV_WILLNEED));
    attack("direct open", open("/proc/self/exe", O_RDONLY | O_DIRECT));
    attack("openat2", syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0L));
    attack("direct reads later", fcntl(file, F_SETFL, O_DIRECT));
    need("other flags", fcntl(file, F_SETFL, O_NONBLOCK));
    attack("inotify", syscall(SYS_inotify_init1, 0));
}

static void try_descriptor_limit(void)
{
    struct rlimit limit;
    need("getrlimit", getrlimit(RLIMIT_NOFILE, &limit));
    attack("setrlimit", setrlimit(RLIMIT_NOFILE, &limit));
    attack("setrlimit itself", syscall(SYS_setrlimit, RLIMIT_NOFILE, &limit));
    need("another limit", getrlimit(RLIMIT_STACK, &limit));
    attack("another limit", setrlimit(RLIMIT_STACK, &limit));
    attack("processor time", setrlimit(RLIMIT_CPU, &(struct rlimit){1, 1}));
}

/* Opens files while slot 1 is 1, and counts in slot 0 how often it tried and in slot 2 how often
 * that went well. */
static int do_open(char **arguments)
{
    _Atomic uint64_t *slots = shared_counters();
    if (kf_sandbox_lockdown()) return 2;
    for (;;) {
        int fd = open(arguments[0], O_RDONLY);
        if (fd < 0) fd = dup(0);
        if (fd >= 0) atomic_fetch_add(&slots[2], 1);
        if (fd >= 0 && !atomic_load(&slots[1])) close(fd);
        atomic_fetch_add(&slots[0], 1);
    }
}

/* Asks for slices of 0.1 ms, which need no privilege. Returns 0 or -1. */
static int set_slice(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {.size = sizeof attributes, .runtime = 100000};
    return (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static int do_lockdown(char **arguments)
{
    (void)arguments;
    static atomic_int go;
    pthread_t early, late;
    char *const empty[] = {NULL};
    need("thread before lockdown", -pthread_create(&early, NULL, wait_and_try, &go));
    int file = open("/tmp/left", O_CREAT | O_WRONLY, 0600);
    int status = kf_sandbox_lockdown();
    if (status) {
        printf("lockdown: %s\n", strerror(-status));
        return 2;
    }
    atomic_store(&go, 1);
    pthread_join(early, NULL);
    need("filter on other threads", other_thread_denied == 1 ? 0 : -1);
    need("thread after lockdown", -pthread_create(&late, NULL, nothing, NULL));
    need("join", -pthread_join(late, NULL));
    need("dlopen needs open and executable mappings",
         mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
             ? -1
             : 0);
    attack("exec", execve("/bin/true", empty, empty));
    attack("execveat", syscall(SYS_execveat, AT_FDCWD, "/bin/true", empty, empty, 0));
    attack("fork", fork_and_end());
    attack("socket", socket(AF_UNIX, SOCK_STREAM, 0));
    attack("memfd_create", memfd_create("x", 0));
    if (file >= 0) attack("lease", fcntl(file, F_SETLEASE, F_WRLCK));
    if (file >= 0) attack("unlink", unlink("/tmp/left"));
    attack("mkdir", mkdir("/tmp/later", 0700));
    need("files of /proc to read", open("/proc/self/maps", O_RDONLY));
    if (file >= 0) need("files to write", open("/tmp/left", O_WRONLY));
    attack("userfaultfd", syscall(SYS_userfaultfd, 0));
    attack("dumpable", prctl(PR_SET_DUMPABLE, 1));
    const struct sched_param none = {0};
    attack("batch scheduling", syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &none));
    attack("parameters of scheduling", syscall(SYS_sched_setparam, 0, &none));
    attack("attributes of scheduling", set_slice());
    attack("priority", setpriority(PRIO_PROCESS, 0, 19));
    attack("dumpable", prctl(PR_GET_DUMPABLE) == 1 ? 0 : -1);
    attack("kill of others", kill(getppid() ? getppid() : 2, 0));
    need("kill of itself", kill(getpid(), 0));
    try_endless_calls();
    try_own_descriptors();
    try_page_cache();
    try_descriptor_limit();
    attack("a call from the future", syscall(470));
    return escaped;
}

static int code_at(void *address)
{
    return address == MAP_FAILED ? -1 : 0;
}

/* Executable memory comes from files only, on all threads. */
static int do_made_code(char **arguments)
{
    (void)arguments;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int file = open("/proc/self/exe", O_RDONLY), status = kf_sandbox_deny_made_code();
    if (status || page == MAP_FAILED) {
        printf("filter: %s\n", strerror(-status));
        return 2;
    }
    attack("mprotect", mprotect(page, 4096, PROT_READ | PROT_EXEC));
    attack("mprotect", mprotect(page, 4096, PROT_EXEC));
    attack("pkey_mprotect", (int)syscall(SYS_pkey_mprotect, page, 4096, PROT_READ | PROT_EXEC, -1));
    attack("mmap", code_at(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    attack("mmap",
           code_at(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0)));
    need("code of a file", code_at(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0)));
    need("mprotect", mprotect(page, 4096, PROT_READ));
    need("mmap", code_at(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    need("lockdown", kf_sandbox_lockdown());
    return escaped;
}

static int do_abort(char **arguments)
{
    if (arguments[0] && kf_sandbox_lockdown()) return 2;
    abort();
}

static int do_foreign(char **arguments)
{
    (void)arguments;
#ifdef __x86_64__
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid of i386 */) : "memory");
    attack("system call of another architecture", result);
    return escaped;
#else
    raise(SIGSYS);
    return 1;
#endif
}

/* children one after the other, none of which computes for long */
static int do_relay(char **arguments)
{
    (void)arguments;
    for (;;) {
        pid_t pid = fork();
        if (pid < 0) return 2;
        if (pid == 0)
            while (clock() < CLOCKS_PER_SEC / 20) continue;
        if (pid == 0) _exit(0);
        waitpid(pid, NULL, 0);
    }
}

static int do_exit(char **arguments)
{
    return atoi(arguments[0]);
}

static int do_crash(char **arguments)
{
    (void)arguments;
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
    return 0;
}

static void ignore(int number)
{
    (void)number;
}

static int do_wake(char **arguments) /* timers that continue the process while it is stopped */
{
    (void)arguments;
    _Atomic uint64_t *slots = shared_counters();
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    signal(SIGCONT, ignore); /* the kernel holds back the timer of an ignored signal */
    /* Many stops, since a stop discards a pending signal for good, and a busy machine may stop this
     * process late. */
    for (int i = 0; i < 1000; i++) {
        struct itimerspec once = {.it_value = {i / 100, 10000000 * (i % 100 + 1) - 1}};
        timer_t timer;
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &once, NULL))
            return 2;
    }
    count(&slots[0]);
    return 0;
}

/* Marks words of shared memory as held by this thread, and ends. The kernel marks each of them once
 * more while the thread ends. */
static void *end_with_locks(void *slots)
{
    enum { FIRST = 64, LAST = 511 };
    static struct robust_list nodes[LAST + 1];
    static struct robust_list_head head;
    head.futex_offset = (long)((char *)slots - (char *)nodes);
    for (int i = FIRST; i < LAST; i++) nodes[i].next = &nodes[i + 1];
    nodes[LAST].next = &head.list;
    head.list.next = &nodes[FIRST];
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    for (int i = FIRST; i <= LAST; i++) *(volatile uint32_t *)((uint64_t *)slots + i) = self;
    if (syscall(SYS_set_robust_list, &head, sizeof head) == 0) syscall(SYS_exit, 0);
    return NULL;
}

static int do_dying(char **arguments) /* threads, one after the other, that write as they end */
{
    (void)arguments;
    _Atomic uint64_t *slots = shared_counters();
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, end_with_locks, (void *)slots)) return 2;
        pthread_join(thread, NULL);
        atomic_fetch_add(&slots[0], 1);
    }
}

static atomic_bool child_runs;

static int sleep_on(void *unused)
{
    (void)unused;
    atomic_store(&child_runs, true);
    for (;;) pause();
    return 0;
}

static void *wait_for_child(void *unused)
{
    static char stack[1 << 14];
    (void)unused;
    clone(sleep_on, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    return NULL;
}

static int do_asleep(char **arguments) /* a thread in a system call that no stop interrupts */
{
    (void)arguments;
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_child, NULL)) return 2;
    while (!atomic_load(&child_runs)) usleep(1000);
    count(&shared_counters()[0]);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(char **arguments);
    int arguments; /* at least */
} commands[] = {
    {"read", do_read, 1},
    {"write", do_write, 1},
    {"use", do_use, 1},
    {"processes", do_processes, 1},
    {"trace", do_trace, 2},
    {"network", do_network, 2},
    {"forkbomb", do_forkbomb, 1},
    {"flood", do_flood, 1},
    {"hog", do_hog, 1},
    {"fill", do_fill, 1},
    {"spin", do_spin, 0},
    {"relay", do_relay, 0},
    {"sleep", do_sleep, 0},
    {"count", do_count, 1},
    {"family", do_family, 1},
    {"settle", do_settle, 1},
    {"memory", do_memory, 0},
    {"addresses", do_addresses, 0},
    {"descriptors", do_descriptors, 0},
    {"environment", do_environment, 0},
    {"state", do_state, 0},
    {"syscalls", do_syscalls, 0},
    {"lockdown", do_lockdown, 0},
    {"made_code", do_made_code, 0},
    {"abort", do_abort, 0},
    {"foreign", do_foreign, 0},
    {"exit", do_exit, 1},
    {"crash", do_crash, 0},
    {"wake", do_wake, 0},
    {"dying", do_dying, 0},
    {"open", do_open, 1},
    {"asleep", do_asleep, 0},
};

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0 && argc - 2 >= commands[i].arguments)
            return commands[i].run(argv + 2);
    return 2;
}
