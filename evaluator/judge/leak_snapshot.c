#include "leak_snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "kforge/list.h"

#define LINE 600

typedef struct item {
    /* The kind and the name. */
    char *text;
    bool own;
} item;

struct kf_leak_snapshot {
    item *items;
    size_t count;
};

void kf_leak_snapshot_free(kf_leak_snapshot *snapshot)
{
    if (!snapshot) return;
    for (size_t i = 0; i < snapshot->count; i++) free(snapshot->items[i].text);
    free(snapshot->items);
    free(snapshot);
}

static bool add(kf_leak_snapshot *snapshot, bool own, const char *kind, const char *folder,
                const char *name)
{
    if (!kf_list_grow(&snapshot->items, snapshot->count)) return false;
    item *last = &snapshot->items[snapshot->count];
    last->own = own;
    if (asprintf(&last->text, "%s %s%s%s", kind, folder, *folder ? "/" : "", name) < 0)
        return false;
    snapshot->count++;
    return true;
}

/* ---- processes ------------------------------------------------------------------------------- */

typedef struct process {
    long pid, parent;
    char state, name[64];
} process;

static bool read_process(const char *pid, process *p)
{
    char path[64], text[LINE];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    kf_autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(text, sizeof text, file)) return false;  /* It has just ended. */
    char *open = strchr(text, '('), *close = strrchr(text, ')'); /* a name may hold either */
    if (!open || !close || sscanf(close + 1, " %c %ld", &p->state, &p->parent) != 2) return false;
    p->pid = strtol(pid, NULL, 10);
    snprintf(p->name, sizeof p->name, "%.*s", (int)(close - open - 1), open + 1);
    return true;
}

static bool descends(const process *all, size_t count, long pid, long from)
{
    for (size_t step = 0; step < count; step++) {
        if (pid == from) return true;
        size_t i = 0;
        while (i < count && all[i].pid != pid) i++;
        if (i == count) return false;
        pid = all[i].parent;
    }
    return false;
}

static bool list_processes(kf_leak_snapshot *snapshot, kf_error *error)
{
    DIR *folder = opendir("/proc");
    if (!folder)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "/proc: %s: it is needed to see what processes there are", strerror(errno));
    kf_autofree process *all = NULL;
    size_t count = 0;
    bool done = true;
    for (struct dirent *entry; done && (entry = readdir(folder));) {
        process p;
        if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name) ||
            !read_process(entry->d_name, &p))
            continue;
        if (!(done = kf_list_grow(&all, count))) break;
        all[count++] = p;
    }
    closedir(folder);
    long self = getpid();
    for (size_t i = 0; done && i < count; i++) {
        char name[LINE];
        if (all[i].pid == self || !descends(all, count, all[i].parent, self)) continue;
        snprintf(name, sizeof name, "%ld %s%s", all[i].pid, all[i].name,
                 all[i].state == 'Z' ? " (ended, not waited for)" : "");
        done = add(snapshot, true, "process", "", name);
    }
    return done || kf_fail_memory(error, "a leak snapshot");
}

/* ---- what lies in folders and tables --------------------------------------------------------- */

static bool list_folder(kf_leak_snapshot *snapshot, bool own, const char *path)
{
    DIR *folder = opendir(path);
    /* A missing folder holds nothing. */
    if (!folder) return true;
    bool done = true;
    for (struct dirent *entry; done && (entry = readdir(folder));) {
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            status.st_uid != geteuid())
            continue;
        done = add(snapshot, own, "file", path, entry->d_name);
    }
    closedir(folder);
    return done;
}

static bool list_descriptors(kf_leak_snapshot *snapshot)
{
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return true;
    bool done = true;
    for (struct dirent *entry; done && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) == dirfd(folder)) continue;
        char target[256] = "";
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        done = add(
            snapshot, true, "descriptor", "",
            target); /* Without its number: a driver may close a descriptor and open the same. */
    }
    closedir(folder);
    return done;
}

/* Lists a table of the kernel: the id of a System V object, the name of an abstract socket. */
static bool list_table(kf_leak_snapshot *snapshot, const char *path, const char *kind)
{
    kf_autofclose FILE *file = fopen(path, "re");
    char line[LINE];
    bool sockets = strcmp(kind, "socket") == 0, done = true;
    if (!file || !fgets(line, sizeof line, file)) return true; /* its heading */
    while (done && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        long key, id;
        char name[64];
        const char *at = strchr(line, '@');
        if (sockets && at) {
            done = add(snapshot, false, kind, "", at);
        } else if (!sockets && sscanf(line, "%ld %ld", &key, &id) == 2) {
            snprintf(name, sizeof name, "%ld", id);
            done = add(snapshot, false, kind, "", name);
        }
    }
    return done;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const item *)a)->text, ((const item *)b)->text);
}

kf_leak_snapshot *kf_leak_snapshot_take(const char *folder, kf_error *error)
{
    kf_auto(kf_leak_snapshot) snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot) {
        kf_fail_memory(error, "a leak snapshot");
        return NULL;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (!list_processes(snapshot, error)) return NULL;
    if (!list_descriptors(snapshot) || (folder && !list_folder(snapshot, true, folder)) ||
        !list_folder(snapshot, false, "/tmp") || !list_folder(snapshot, false, "/var/tmp") ||
        !list_folder(snapshot, false, "/dev/shm") ||
        !list_table(snapshot, "/proc/sysvipc/shm", "shared segment") ||
        !list_table(snapshot, "/proc/sysvipc/sem", "semaphore set") ||
        !list_table(snapshot, "/proc/sysvipc/msg", "message queue") ||
        !list_table(snapshot, "/proc/net/unix", "socket")) {
        kf_fail_memory(error, "a leak snapshot");
        return NULL;
    }
    qsort(snapshot->items, snapshot->count, sizeof *snapshot->items, by_text);
    return kf_steal(&snapshot);
}

kf_leak_snapshot_news kf_leak_snapshot_compare(const kf_leak_snapshot *before,
                                               const kf_leak_snapshot *after, kf_buffer *text)
{
    kf_leak_snapshot_news news = {0};
    size_t old = 0; /* both are sorted */
    for (size_t i = 0; i < after->count; i++) {
        const item *it = &after->items[i];
        while (old < before->count && by_text(&before->items[old], it) < 0) old++;
        if (old < before->count && by_text(&before->items[old], it) == 0) {
            /* Of equal items, `before` explains as many as it has. */
            old++;
            continue;
        }
        *(it->own ? &news.own : &news.others) += 1;
        if (text) kf_buffer_format(text, "%s\n", it->text);
    }
    return news;
}
