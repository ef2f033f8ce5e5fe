/* Folders for temporary files, and the removal of abandoned ones.
 *
 * The process that makes a folder holds a lock on it (flock). The kernel releases the lock when the
 * process ends in any way, in any container. An unlocked folder is therefore abandoned. Each
 * process removes abandoned folders once, before it makes its first. */
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

/* the names of locked folders: kforge-PURPOSE.tmp.XXXXXX */
#define NAME_START "kforge-"
#define NAME_MIDDLE ".tmp."
/* length of the random end that mkdtemp makes */
#define RANDOM_LENGTH 6
/* younger folders may not be locked yet */
#define MIN_AGE_SECONDS 60
/* most folders that one process removes */
#define MAX_REMOVED 64

typedef struct held {
    struct held *next;
    char *path;
    int fd;
} held;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static held *all;
static bool removed_abandoned;

static bool is_temporary_name(const char *name)
{
    size_t length = strlen(name), end = strlen(NAME_MIDDLE) + RANDOM_LENGTH;
    if (strncmp(name, NAME_START, strlen(NAME_START)) != 0 || length < strlen(NAME_START) + end)
        return false;
    if (strncmp(name + length - end, NAME_MIDDLE, strlen(NAME_MIDDLE)) != 0) return false;
    for (const char *c = name + length - RANDOM_LENGTH; *c; c++)
        if (!isalnum((unsigned char)*c)) return false;
    return true;
}

/* True if the folder is this user's, old enough and unlocked. */
static bool is_abandoned(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
           (status.st_mode & 0777) == 0700 && status.st_mtime + MIN_AGE_SECONDS < time(NULL) &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Removes abandoned folders. Ignores errors. */
static void remove_abandoned(const char *base)
{
    DIR *folder = opendir(base);
    int removed = 0;
    for (struct dirent *entry; folder && removed < MAX_REMOVED && (entry = readdir(folder));) {
        if (!is_temporary_name(entry->d_name)) continue;
        kf_autoclose int fd =
            openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || !is_abandoned(fd)) continue;
        kf_autofree char *path = kf_path_join(base, entry->d_name);
        removed += path && kf_directory_remove(path, NULL);
    }
    if (folder) closedir(folder);
}

/* Locks a folder. A file system without locks is no error, because there no folder looks abandoned.
 * A folder that cannot be opened is an error, because other processes would remove it. */
static bool hold(const char *path, kf_error *error)
{
    kf_autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return kf_fail(error, KF_ERROR_MACHINE, "%s: %s", path, strerror(errno));
    held *h = calloc(1, sizeof *h);
    if (!h || !(h->path = strdup(path))) {
        free(h);
        return kf_fail_memory(error, "a temporary directory");
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
    size_t size = strlen(base) + strlen(prefix) + strlen(NAME_MIDDLE) + RANDOM_LENGTH + 2;
    kf_autofree char *path = malloc(size);
    if (!path) {
        kf_fail_memory(error, "a temporary directory");
        return NULL;
    }
    pthread_mutex_lock(&lock);
    bool first = !removed_abandoned;
    removed_abandoned = true;
    pthread_mutex_unlock(&lock);
    if (first) remove_abandoned(base);
    snprintf(path, size, "%s/%s" NAME_MIDDLE "XXXXXX", base, prefix);
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
