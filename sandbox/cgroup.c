/* A cgroup (v2) for each child, if the caller may write to its own cgroup or to one above.
 *
 * A cgroup that contains processes cannot give controllers to its children, so the caller's own
 * usually cannot. One above may: in a systemd user session, the slice above the caller's scope. The
 * search goes up while directories can be made. It takes the first cgroup with a memory controller.
 * If there is no such cgroup, it takes the first of all, which still kills the whole tree at once.
 */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "kforge/file.h"

/* Finds the caller's cgroup as a directory, and the length of the mount point, the search's upper
 * end. */
static bool find_own(char *directory, size_t size, size_t *root_length)
{
    kf_autofclose FILE *mounts = fopen("/proc/self/mountinfo", "re");
    kf_autofclose FILE *own = fopen("/proc/self/cgroup", "re");
    if (!mounts || !own) return false;
    char line[4096], root[1024], point[1024], inside[1024] = "";
    while (fgets(line, sizeof line, own))
        if (sscanf(line, "0::%1023s", inside) == 1) break;
    if (!inside[0]) return false;
    while (fgets(line, sizeof line, mounts)) {
        if (!strstr(line, " - cgroup2 ")) continue;
        if (sscanf(line, "%*d %*d %*s %1023s %1023s", root, point) != 2) continue;
        /* in a container the root of the mount is a cgroup below the machine's */
        const char *below = inside;
        size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
        if (length && strncmp(inside, root, length) == 0) below = inside + length;
        *root_length = strlen(point);
        return snprintf(directory, size, "%s%s", point, strcmp(below, "/") == 0 ? "" : below) <
               (int)size;
    }
    return false;
}

static bool write_in(int directory, const char *name, const char *text)
{
    kf_autoclose int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool read_in(int directory, const char *name, char *text, size_t size)
{
    kf_autoclose int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    return length >= 0;
}

static bool make_under(const char *directory, kf_cgroup *cgroup)
{
    static atomic_uint serial;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/cgroup.subtree_control", directory) >= (int)sizeof path)
        return false;
    /* two writes: if one is refused, the other still works */
    kf_write_text(path, "+memory");
    kf_write_text(path, "+pids");
    if (snprintf(path, sizeof path, "%s/kforge-%d-%u", directory, getpid(),
                 atomic_fetch_add(&serial, 1)) >= (int)sizeof path)
        return false;
    if (mkdir(path, 0700)) return false;
    *cgroup =
        (kf_cgroup){.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .path = strdup(path)};
    if (cgroup->fd < 0 || !cgroup->path) {
        rmdir(path);
        kf_cgroup_remove(cgroup);
        return false;
    }
    cgroup->memory = faccessat(cgroup->fd, "memory.max", W_OK, AT_EACCESS) == 0;
    cgroup->pids = faccessat(cgroup->fd, "pids.max", W_OK, AT_EACCESS) == 0;
    return true;
}

static void set_limits(const kf_cgroup *cgroup, const kf_sandbox_limits *limits)
{
    char text[32];
    if (cgroup->memory && limits->memory_bytes) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)limits->memory_bytes);
        write_in(cgroup->fd, "memory.max", text);
        write_in(cgroup->fd, "memory.swap.max", "0");
        write_in(cgroup->fd, "memory.oom.group", "1");
    }
    if (cgroup->pids && limits->processes) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)limits->processes);
        write_in(cgroup->fd, "pids.max", text);
    }
}

/* Removes cgroups of callers that were killed. A cgroup in use is not empty, so it stays. */
static void remove_stale(const char *directory)
{
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        int pid, serial;
        if (sscanf(entry->d_name, "kforge-%d-%d", &pid, &serial) == 2 && kill(pid, 0) &&
            errno == ESRCH)
            unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
    }
    if (entries) closedir(entries);
}

bool kf_cgroup_create(kf_cgroup *cgroup, const kf_sandbox_limits *limits, kf_error *error)
{
    char directory[PATH_MAX];
    size_t root = 0;
    kf_cgroup best = {.fd = -1};
    *cgroup = best;
    if (!find_own(directory, sizeof directory, &root))
        return kf_fail(error, KF_ERROR_MACHINE,
                       "sandbox: cgroup: no cgroup v2 hierarchy is mounted");
    for (;;) {
        kf_cgroup made = {.fd = -1};
        if (make_under(directory, &made)) {
            if (made.memory || best.fd < 0) {
                kf_cgroup_remove(&best);
                best = made;
            } else {
                kf_cgroup_remove(&made);
            }
        }
        char *slash = strrchr(directory, '/');
        if (best.memory || !slash || strlen(directory) <= root ||
            (size_t)(slash - directory) < root)
            break;
        *slash = '\0';
    }
    if (best.fd < 0)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "sandbox: cgroup: no cgroup above this process may be divided by it");
    *cgroup = best;
    static atomic_flag cleaned = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&cleaned)) {
        char *slash = strrchr(strcpy(directory, best.path), '/');
        *slash = '\0';
        remove_stale(directory);
    }
    set_limits(cgroup, limits);
    return true;
}

void kf_cgroup_kill(const kf_cgroup *cgroup)
{
    if (cgroup->fd >= 0) write_in(cgroup->fd, "cgroup.kill", "1");
}

bool kf_cgroup_out_of_memory(const kf_cgroup *cgroup)
{
    char text[512];
    if (!cgroup->memory || !read_in(cgroup->fd, "memory.events", text, sizeof text)) return false;
    const char *line = strstr(text, "oom_kill ");
    return line && strtoull(line + 9, NULL, 10) > 0;
}

uint64_t kf_cgroup_peak(const kf_cgroup *cgroup)
{
    char text[64];
    return cgroup->memory && read_in(cgroup->fd, "memory.peak", text, sizeof text)
               ? strtoull(text, NULL, 10)
               : 0;
}

double kf_cgroup_cpu_seconds(const kf_cgroup *cgroup)
{
    char text[1024];
    if (cgroup->fd < 0 || !read_in(cgroup->fd, "cpu.stat", text, sizeof text)) return 0;
    const char *line = strstr(text, "usage_usec ");
    return line ? (double)strtoull(line + strlen("usage_usec "), NULL, 10) * 1e-6 : 0;
}

void kf_cgroup_remove(kf_cgroup *cgroup)
{
    /* The last process may leave the cgroup shortly after it was reaped. */
    for (int i = 0; cgroup->path && rmdir(cgroup->path) && errno == EBUSY && i < 200; i++) {
        if (i == 20) kf_cgroup_kill(cgroup);
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    if (cgroup->fd >= 0) close(cgroup->fd);
    free(cgroup->path);
    *cgroup = (kf_cgroup){.fd = -1};
}
