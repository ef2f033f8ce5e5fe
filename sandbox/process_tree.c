/* Finds the processes of a child's tree in /proc. With a pid namespace all descend from its
 * process 1. Without one the caller (then a subreaper) adopts orphans, and they are found by
 * their process group and session. */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kforge/list.h"

typedef enum kf_thread_state {
    KF_THREAD_STOPPED,
    KF_THREAD_RUNS,
    /* in a system call that no signal interrupts */
    KF_THREAD_WAITS,
    KF_THREAD_ENDED
} kf_thread_state;

typedef struct entry {
    pid_t pid, parent, group, session;
    char state;
    int threads;
    /* CPU time in clock ticks, with that of children that were waited for */
    unsigned long long ticks;
    bool member;
} entry;

/* Parses /proc/PID/stat; the name is in parentheses and may contain anything, so it ends at the
 * last one (proc(5)). */
static bool read_stat(const char *path, entry *result)
{
    char text[1024];
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    if (size <= 0) return false;
    text[size] = '\0';
    const char *after = strrchr(text, ')');
    if (!after) return false;
    int pid, parent, group, session, threads;
    char state;
    unsigned long long user, kernel;
    long long children_user, children_kernel;
    if (sscanf(text, "%d", &pid) != 1) return false;
    if (sscanf(after + 1, " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld %*d %*d %d",
               &state, &parent, &group, &session, &user, &kernel, &children_user, &children_kernel,
               &threads) != 9)
        return false;
    *result = (entry){.pid = pid,
                      .parent = parent,
                      .group = group,
                      .session = session,
                      .state = state,
                      .threads = threads,
                      .ticks = user + kernel + (unsigned long long)children_user +
                               (unsigned long long)children_kernel};
    return true;
}

static bool is_number(const char *name)
{
    return name[0] >= '1' && name[0] <= '9';
}

static entry *read_all(size_t *count)
{
    DIR *directory = opendir("/proc");
    if (!directory) return NULL;
    entry *entries = NULL;
    *count = 0;
    for (struct dirent *item; (item = readdir(directory));) {
        char path[300];
        if (!is_number(item->d_name)) continue;
        if (!kf_list_grow(&entries, *count)) break;
        snprintf(path, sizeof path, "/proc/%s/stat", item->d_name);
        if (read_stat(path, &entries[*count])) (*count)++;
    }
    closedir(directory);
    return entries;
}

static bool parent_is_member(const entry *entries, size_t count, pid_t parent)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].pid == parent) return entries[i].member;
    return false;
}

/* Marks the leader and its tree. Returns their number. */
static size_t mark_members(entry *entries, size_t count, pid_t leader)
{
    size_t members = 0;
    for (bool grew = true; grew;) {
        grew = false;
        for (size_t i = 0; i < count; i++) {
            entry *e = &entries[i];
            if (e->member) continue;
            e->member = e->pid == leader || e->group == leader || e->session == leader ||
                        parent_is_member(entries, count, e->parent);
            if (e->member) {
                grew = true;
                members++;
            }
        }
    }
    return members;
}

bool kf_tree_scan(pid_t leader, kf_tree *tree)
{
    size_t count;
    *tree = (kf_tree){0};
    kf_autofree entry *entries = read_all(&count);
    if (!entries) return false;
    size_t members = mark_members(entries, count, leader);
    tree->pids = malloc((members + 1) * sizeof *tree->pids);
    if (!tree->pids) return false;
    /* leaves out zombies, which have ended */
    for (size_t i = 0; i < count; i++)
        if (entries[i].member && entries[i].pid != leader && entries[i].state != 'Z' &&
            entries[i].state != 'X')
            tree->pids[tree->count++] = entries[i].pid;
    return true;
}

void kf_tree_free(kf_tree *tree)
{
    free(tree->pids);
    *tree = (kf_tree){0};
}

double kf_tree_cpu_seconds(pid_t leader)
{
    size_t count;
    kf_autofree entry *entries = read_all(&count);
    if (!entries) return 0;
    mark_members(entries, count, leader);
    unsigned long long ticks = 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i].member) ticks += entries[i].ticks;
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

bool kf_tree_all_stopped(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *directory = opendir(path);
    if (!directory) return true; /* gone */
    bool stopped = true;
    for (struct dirent *item; stopped && (item = readdir(directory));) {
        char name[400];
        entry thread;
        if (!is_number(item->d_name)) continue;
        snprintf(name, sizeof name, "%s/%s/stat", path, item->d_name);
        if (read_stat(name, &thread)) stopped = strchr("TtZX", thread.state) != NULL;
    }
    closedir(directory);
    return stopped;
}

int kf_tree_filters(pid_t pid)
{
    static const char key[] = "\nSeccomp_filters:";
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (size <= 0) return -1;
    text[size] = '\0';
    /* the kernel escapes newlines in the name, so the name cannot contain the key */
    const char *at = strstr(text, key);
    return at ? (int)strtol(at + sizeof key - 1, NULL, 10) : -1;
}

/* Returns the state of the thread of that file. A thread that ends gives up its address space
 * (exit_mm in Linux) after it has written its last bytes: its robust list, and the word of
 * set_tid_address(2). From then on its size is 0. */
static kf_thread_state read_thread_state(const char *path)
{
    char text[1024], state;
    unsigned long long size;
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (got <= 0) return KF_THREAD_ENDED; /* its file is gone */
    text[got] = '\0';
    const char *after = strrchr(text, ')');
    if (!after || sscanf(after + 1,
                         " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                         "%*d %*u %llu",
                         &state, &size) != 2)
        return KF_THREAD_RUNS;
    if (strchr("ZXx", state) || size == 0) return KF_THREAD_ENDED;
    if (strchr("Tt", state)) return KF_THREAD_STOPPED;
    return state == 'D' ? KF_THREAD_WAITS : KF_THREAD_RUNS;
}

int kf_tree_list_threads(pid_t pid, kf_threads *threads)
{
    char path[64], name[400];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *directory = opendir(path);
    if (!directory) return errno == ENOENT ? -ESRCH : -errno;
    bool listed = true;
    threads->count = threads->running = threads->waiting = 0;
    for (struct dirent *item; listed && (item = readdir(directory));) {
        if (!is_number(item->d_name)) continue;
        snprintf(name, sizeof name, "%s/%s/stat", path, item->d_name);
        kf_thread_state state = read_thread_state(name);
        threads->running += state == KF_THREAD_RUNS;
        threads->waiting += state == KF_THREAD_WAITS;
        if (state == KF_THREAD_ENDED) continue;
        listed = kf_list_grow(&threads->ids, threads->count);
        if (listed) threads->ids[threads->count++] = (pid_t)strtol(item->d_name, NULL, 10);
    }
    closedir(directory);
    return listed ? 0 : -ENOMEM;
}

int kf_tree_descriptors(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *directory = opendir(path);
    if (!directory) return -1;
    int count = 0;
    for (struct dirent *item; (item = readdir(directory));) count += item->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* True for a file of a disk, which may keep its reader waiting, and for one of /proc or /sys. These
 * two count what each processor does (/proc/stat, cpuidle/state1/usage), so they show what the
 * judge does. A mount namespace or landlock keeps /sys from a runner of the CPU device, so an
 * honest one has such a file open only on a machine with neither. */
static bool is_outside_memory(const char *path)
{
    static const unsigned long without_disk[] = {TMPFS_MAGIC,        PIPEFS_MAGIC,
                                                 SOCKFS_MAGIC,       ANON_INODE_FS_MAGIC,
                                                 DEVPTS_SUPER_MAGIC, RAMFS_MAGIC};
    struct stat status;
    struct statfs system;
    kf_autoclose int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) || fstatfs(fd, &system)) return false;
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return false;
    for (size_t i = 0; i < sizeof without_disk / sizeof *without_disk; i++)
        if ((unsigned long)system.f_type == without_disk[i]) return false;
    return true;
}

int kf_tree_open_files(pid_t pid)
{
    char path[64], name[400];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *directory = opendir(path);
    if (!directory) return -1;
    int count = 0;
    for (struct dirent *item; (item = readdir(directory));) {
        if (item->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", path, item->d_name);
        count += is_outside_memory(name);
    }
    closedir(directory);
    return count;
}

int kf_tree_user_threads(uid_t user)
{
    size_t count;
    kf_autofree entry *entries = read_all(&count);
    int threads = 0;
    for (size_t i = 0; entries && i < count; i++) {
        char path[64];
        struct stat status;
        snprintf(path, sizeof path, "/proc/%d", entries[i].pid);
        if (stat(path, &status) == 0 && status.st_uid == user) threads += entries[i].threads;
    }
    return threads;
}
