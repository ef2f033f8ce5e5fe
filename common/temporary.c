/* Folders for temporary files, and what killed processes have left of theirs.
 *
 * Who makes one holds a lock on it (flock) for as long as it is there. The kernel gives the lock
 * back when the process ends, however that comes about; so a folder of ours that nobody holds is
 * nobody's any more, in whatever container its process ran. Each process looks for such folders
 * once, before its first. */
#include "temporary.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "kforge/file.h"

#define OURS "kforge-"
#define KIND ".tmp." /* folders that are locked, and no others: KFORGE-WHAT.tmp.XXXXXX */
#define MARK 6       /* what mkdtemp makes of the last part */
#define FRESH 60     /* seconds: one that was made just now may not be locked yet */
#define MOST 64      /* that one process removes: it has other things to do */

typedef struct held {
    struct held *next;
    char *path;
    int fd;
} held;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static held *all;
static bool swept;

static bool is_ours(const char *name)
{
    size_t length = strlen(name), behind = strlen(KIND) + MARK;
    if (strncmp(name, OURS, strlen(OURS)) != 0 || length < strlen(OURS) + behind) return false;
    if (strncmp(name + length - behind, KIND, strlen(KIND)) != 0) return false;
    for (const char *c = name + length - MARK; *c; c++)
        if (!isalnum((unsigned char)*c)) return false;
    return true;
}

/* Left by a process that is gone. */
static bool is_abandoned(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
           (status.st_mode & 0777) == 0700 && status.st_mtime + FRESH < time(NULL) &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Errors are none: what can't be looked at or removed stays. */
static void sweep(const char *base)
{
    DIR *folder = opendir(base);
    int removed = 0;
    for (struct dirent *entry; folder && removed < MOST && (entry = readdir(folder));) {
        if (!is_ours(entry->d_name)) continue;
        kf_autoclose int fd =
            openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || !is_abandoned(fd)) continue;
        kf_autofree char *path = kf_path_join(base, entry->d_name);
        removed += path && kf_directory_remove(path, NULL);
    }
    if (folder) closedir(folder);
}

/* Where files can't be locked nobody takes it for abandoned either. One that can't be opened could
 * be, while it is in use: there is none, then. */
static bool hold(const char *path, kf_error *error)
{
    kf_autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return kf_fail(error, KF_ERROR_MACHINE, "%s: %s", path, strerror(errno));
    held *h = calloc(1, sizeof *h);
    if (!h || !(h->path = strdup(path))) {
        free(h);
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    }
    flock(fd, LOCK_EX | LOCK_NB);
    h->fd = fd;
    fd = -1;
    h->next = all;
    all = h;
    return true;
}

void kf_temporary_forget(const char *path)
{
    pthread_mutex_lock(&lock);
    for (held **at = &all; *at; at = &(*at)->next) {
        held *h = *at;
        if (strcmp(h->path, path) != 0) continue;
        *at = h->next;
        close(h->fd);
        free(h->path);
        free(h);
        break;
    }
    pthread_mutex_unlock(&lock);
}

char *kf_directory_temporary(const char *prefix, kf_error *error)
{
    const char *base = getenv("TMPDIR");
    if (!base || base[0] != '/') base = "/tmp";
    size_t size = strlen(base) + strlen(prefix) + strlen(KIND) + MARK + 2;
    kf_autofree char *path = malloc(size);
    if (!path) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    pthread_mutex_lock(&lock);
    bool first = !swept;
    swept = true;
    pthread_mutex_unlock(&lock);
    if (first) sweep(base);
    snprintf(path, size, "%s/%s" KIND "XXXXXX", base, prefix);
    if (!mkdtemp(path)) {
        kf_fail(error, KF_ERROR_IO,
                "%s: cannot make a temporary directory: %s; set TMPDIR to a writable one", base,
                strerror(errno));
        return NULL;
    }
    pthread_mutex_lock(&lock);
    bool done = hold(path, error);
    pthread_mutex_unlock(&lock);
    if (done) return kf_steal(&path);
    rmdir(path);
    return NULL;
}
