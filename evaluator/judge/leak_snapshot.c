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

#define LINE 600

typedef struct item {
    char *text; /* what it is and its name */
    bool own;
} item;

struct kf_leak_snapshot {
    item *items;
    size_t count, capacity;
};

void kf_leak_snapshot_free(kf_leak_snapshot *census)
{
    if (!census) return;
    for (size_t i = 0; i < census->count; i++) free(census->items[i].text);
    free(census->items);
    free(census);
}

static bool add(kf_leak_snapshot *census, bool own, const char *kind, const char *folder,
                const char *name)
{
    if (census->count == census->capacity) {
        size_t capacity = census->capacity ? 2 * census->capacity : 64;
        item *more = realloc(census->items, capacity * sizeof *more);
        if (!more) return false;
        census->items = more;
        census->capacity = capacity;
    }
    item *last = &census->items[census->count];
    last->own = own;
    if (asprintf(&last->text, "%s %s%s%s", kind, folder, *folder ? "/" : "", name) < 0)
        return false;
    census->count++;
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
    if (!file || !fgets(text, sizeof text, file)) return false;  /* it has just ended */
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

static bool list_processes(kf_leak_snapshot *census, kf_error *error)
{
    DIR *folder = opendir("/proc");
    if (!folder)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "/proc: %s: it is needed to see what processes there are", strerror(errno));
    kf_autofree process *all = NULL;
    size_t count = 0, capacity = 0;
    bool done = true;
    for (struct dirent *entry; done && (entry = readdir(folder));) {
        process p;
        if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name) ||
            !read_process(entry->d_name, &p))
            continue;
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            process *more = realloc(all, capacity * sizeof *more);
            if (!(done = more != NULL)) break;
            all = more;
        }
        all[count++] = p;
    }
    closedir(folder);
    long self = getpid();
    for (size_t i = 0; done && i < count; i++) {
        char name[LINE];
        if (all[i].pid == self || !descends(all, count, all[i].parent, self)) continue;
        snprintf(name, sizeof name, "%ld %s%s", all[i].pid, all[i].name,
                 all[i].state == 'Z' ? " (ended, not waited for)" : "");
        done = add(census, true, "process", "", name);
    }
    return done || kf_fail(error, KF_ERROR_MEMORY, "out of memory for a census");
}

/* ---- what lies in folders and tables --------------------------------------------------------- */

static bool list_folder(kf_leak_snapshot *census, bool own, const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) return true; /* what is not there can't hold anything */
    bool done = true;
    for (struct dirent *entry; done && (entry = readdir(folder));) {
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            status.st_uid != geteuid())
            continue;
        done = add(census, own, "file", path, entry->d_name);
    }
    closedir(folder);
    return done;
}

static bool list_descriptors(kf_leak_snapshot *census)
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
            census, true, "descriptor", "",
            target); /* its number is not what it is: a driver may close one and open its like */
    }
    closedir(folder);
    return done;
}

/* Lines of a table of the kernel's: the first two columns (key and id) of System V's, the name of
 * an abstract socket. */
static bool list_table(kf_leak_snapshot *census, const char *path, const char *kind)
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
            done = add(census, false, kind, "", at);
        } else if (!sockets && sscanf(line, "%ld %ld", &key, &id) == 2) {
            snprintf(name, sizeof name, "%ld", id);
            done = add(census, false, kind, "", name);
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
    kf_auto(kf_leak_snapshot) census = calloc(1, sizeof *census);
    if (!census) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for a census");
        return NULL;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (!list_processes(census, error)) return NULL;
    if (!list_descriptors(census) || (folder && !list_folder(census, true, folder)) ||
        !list_folder(census, false, "/tmp") || !list_folder(census, false, "/var/tmp") ||
        !list_folder(census, false, "/dev/shm") ||
        !list_table(census, "/proc/sysvipc/shm", "shared segment") ||
        !list_table(census, "/proc/sysvipc/sem", "semaphore set") ||
        !list_table(census, "/proc/sysvipc/msg", "message queue") ||
        !list_table(census, "/proc/net/unix", "socket")) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for a census");
        return NULL;
    }
    qsort(census->items, census->count, sizeof *census->items, by_text);
    return kf_steal(&census);
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
            old++; /* of several alike as many as there were */
            continue;
        }
        *(it->own ? &news.own : &news.others) += 1;
        if (text) kf_buffer_format(text, "%s\n", it->text);
    }
    return news;
}
