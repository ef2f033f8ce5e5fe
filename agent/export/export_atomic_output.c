#include "export_atomic_output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "kforge/file.h"

#define PART ".part-kforge-"
#define OLD ".old-kforge-"

struct kf_atomic_output {
    char *path, *part;
    bool folder, force, done;
    /* the open part; holds its lock */
    int lock;
};

bool kf_atomic_output_failed(const char *path, kf_error *error)
{
    int code = errno;
    if (code == ENOSPC || code == EDQUOT || code == EFBIG)
        return kf_fail(error, KF_ERROR_IO,
                       "%s: the disk is full and the partial file was removed; free some space",
                       path);
    return kf_fail(error, KF_ERROR_IO, "%s: writing: %s", path, strerror(code));
}

/* Returns "a/b" of "a/b/c", "." of "c", "/" of "/c"; malloc'd. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

static bool sync_folder(const char *path)
{
    kf_autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* some file systems cannot sync folders */
    return fd >= 0 && (fsync(fd) == 0 || errno == EINVAL || errno == EROFS);
}

static bool sync_parent(const char *path)
{
    kf_autofree char *parent = parent_of(path);
    return parent && sync_folder(parent);
}

static int sync_entry(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)at;
    return (type == FTW_D || type == FTW_DP) && !sync_folder(path);
}

/* Locks the file. False if another process holds the lock, or locks do not work. With `wait` it
 * waits. */
static bool lock(int fd, bool wait)
{
    int got;
    while ((got = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB))) != 0 && errno == EINTR) continue;
    return got == 0;
}

/* True if the path still names the open file. */
static bool is_at(int fd, const char *path)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && lstat(path, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* True if the file system does not know the flags of renameat2. */
static bool cannot_say(int code)
{
    return code == EINVAL || code == ENOSYS || code == EOPNOTSUPP;
}

/* ---- what killed processes left -------------------------------------------------------------- */

/* True for NAME, one of our marks, and a number, and a second number if the first name was taken.
 */
static bool is_left_over(const char *entry, const char *name, const char *mark)
{
    size_t length = strlen(name), more = strlen(mark);
    if (strncmp(entry, name, length) != 0 || strncmp(entry + length, mark, more) != 0) return false;
    const char *digits = entry + length + more;
    return *digits >= '0' && *digits <= '9' && strspn(digits, "0123456789-") == strlen(digits);
}

static void clear_away(const char *left, const char *path, bool old)
{
    struct stat status;
    kf_autoclose int fd = open(left, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_uid != geteuid()) return;
    if (!(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) || !lock(fd, false) ||
        !is_at(fd, left))
        return;
    /* a process was killed between two renames */
    if (old && lstat(path, &status) != 0 && errno == ENOENT) {
        if (renameat2(AT_FDCWD, left, AT_FDCWD, path, RENAME_NOREPLACE) != 0 && cannot_say(errno))
            (void)!rename(left, path);
        return;
    }
    if (S_ISREG(status.st_mode))
        unlink(left);
    else
        kf_directory_remove(left, NULL);
}

static void sweep(const char *path)
{
    kf_autofree char *parent = parent_of(path);
    DIR *directory = parent ? opendir(parent) : NULL;
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        bool old = is_left_over(entry->d_name, kf_path_name(path), OLD);
        if (!old && !is_left_over(entry->d_name, kf_path_name(path), PART)) continue;
        kf_autofree char *left = kf_path_join(parent, entry->d_name);
        if (left) clear_away(left, path, old);
    }
    if (directory) closedir(directory);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool speaks_of_kforge(const char *folder, const char *name)
{
    char text[65536];
    kf_autofree char *path = kf_path_join(folder, name);
    kf_autoclose int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text) : -1;
    return size > 0 && memmem(text, (size_t)size, "kforge", 6);
}

bool kf_atomic_output_is_export(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    bool empty = directory != NULL;
    while (empty && (entry = readdir(directory)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (directory) closedir(directory);
    return empty || speaks_of_kforge(path, "README.md") ||
           speaks_of_kforge(path, "provenance.json");
}

static bool check(const kf_atomic_output *p, kf_error *error)
{
    struct stat status;
    const char *name = kf_path_name(p->path);
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: not a possible name of a new file or folder; choose another", p->path);
    if (lstat(p->path, &status) != 0)
        return errno == ENOENT || errno == ENOTDIR ||
               kf_fail(error, KF_ERROR_IO, "%s: %s", p->path, strerror(errno));
    if (!p->force)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: exists already; choose another name, or give --force to replace it",
                       p->path);
    if (S_ISDIR(status.st_mode) != p->folder)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: a %s has this name, but the output is a %s; choose another name",
                       p->path, S_ISDIR(status.st_mode) ? "folder" : "file",
                       p->folder ? "folder" : "file");
    /* a pipe or a device */
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: not a regular file; write to it with -o - and a redirection", p->path);
    if (p->folder && !kf_atomic_output_is_export(p->path))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: holds other files than an export, so --force does not replace it; "
                       "choose another name, or remove it",
                       p->path);
    return true;
}

/* Returns 1 if made, 0 if the name is taken, -1 with errno. */
static int make_part(kf_atomic_output *p)
{
    if (p->folder && mkdir(p->part, 0777) != 0) return errno == EEXIST ? 0 : -1;
    int flags = p->folder ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT | O_EXCL;
    p->lock = open(p->part, flags | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (p->lock >= 0) {
        lock(p->lock, true);
        if (is_at(p->lock, p->part)) return 1;
        /* another process removed it as a leftover before it was locked */
        close(p->lock);
        p->lock = -1;
    } else if (errno != EEXIST && !(p->folder && errno == ENOENT)) {
        int code = errno;
        if (p->folder) rmdir(p->part);
        errno = code;
        return -1;
    }
    errno = EEXIST;
    return 0;
}

static bool make_parts(kf_atomic_output *p, kf_error *error)
{
    errno = EEXIST;
    for (int attempt = 0, made; attempt < 100; attempt++) {
        free(p->part);
        p->part = NULL;
        int printed = attempt
                          ? asprintf(&p->part, "%s" PART "%ld-%d", p->path, (long)getpid(), attempt)
                          : asprintf(&p->part, "%s" PART "%ld", p->path, (long)getpid());
        if (printed < 0) return p->part = NULL, kf_fail_memory(error, "the path of the output");
        if ((made = make_part(p)) == 1) return true;
        if (made < 0) break;
    }
    int code = errno;
    free(p->part); /* no leftover there */
    p->part = NULL;
    return kf_fail(error, KF_ERROR_IO, "%s: %s", p->path, strerror(code));
}

kf_atomic_output *kf_atomic_output_open(const char *path, bool folder, bool force, kf_error *error)
{
    kf_auto(kf_atomic_output) p = calloc(1, sizeof *p);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    if (!p || !(p->path = strndup(path, length))) {
        if (p) p->lock = -1;
        return kf_fail_memory(error, "the path of the output"), NULL;
    }
    p->lock = -1;
    p->folder = folder;
    p->force = force;
    sweep(p->path);
    if (!check(p, error)) return NULL;
    kf_autofree char *parent = folder ? parent_of(p->path) : NULL;
    if (folder && (!parent || !kf_directory_make(parent, error)))
        return parent ? NULL : (kf_fail_memory(error, "the path of the output"), NULL);
    return make_parts(p, error) ? kf_steal(&p) : NULL;
}

const char *kf_atomic_output_path(const kf_atomic_output *output)
{
    return output->path;
}

const char *kf_atomic_output_part(const kf_atomic_output *output)
{
    return output->part;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool write_file(const char *path, int flags, const void *data, size_t size)
{
    kf_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    return fd >= 0 && kf_write_all(fd, data, size) && fsync(fd) == 0;
}

bool kf_atomic_output_write(const kf_atomic_output *p, const char *name, const void *data,
                            size_t size, kf_error *error)
{
    if (!p->folder)
        return write_file(p->part, O_TRUNC, data, size) || kf_atomic_output_failed(p->path, error);
    kf_autofree char *path = kf_path_join(p->part, name);
    kf_autofree char *parent = path ? parent_of(path) : NULL;
    if (!parent) return kf_fail_memory(error, "the path of the output");
    if (mkdir(parent, 0777) != 0 && errno != EEXIST) return kf_atomic_output_failed(p->path, error);
    return write_file(path, O_EXCL, data, size) || kf_atomic_output_failed(p->path, error);
}

/* ---- the name -------------------------------------------------------------------------------- */

static bool made_meanwhile(const kf_atomic_output *p, kf_error *error)
{
    return kf_fail(error, KF_ERROR_INPUT,
                   "%s: another process created it meanwhile; run the export again", p->path);
}

/* Renames without replacing: a file that appears meanwhile stays. */
static bool take_free_name(const kf_atomic_output *p, kf_error *error)
{
    struct stat status;
    if (renameat2(AT_FDCWD, p->part, AT_FDCWD, p->path, RENAME_NOREPLACE) == 0) return true;
    if (cannot_say(errno)) {
        if (lstat(p->path, &status) == 0)
            errno = EEXIST;
        else if (rename(p->part, p->path) == 0)
            return true;
    }
    return errno == EEXIST ? made_meanwhile(p, error) : kf_atomic_output_failed(p->path, error);
}

/* Renames without an exchange. The old folder is locked, because another process would rename an
 * unlocked one back. */
static bool move_aside(kf_atomic_output *p, kf_error *error)
{
    char *text = NULL;
    if (asprintf(&text, "%s" OLD "%ld", p->path, (long)getpid()) < 0)
        return kf_fail_memory(error, "the path of the output");
    kf_autofree char *old = text;
    kf_autoclose int held = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (held < 0) return kf_atomic_output_failed(p->path, error);
    lock(held, true);
    if (rename(p->path, old) != 0) return kf_atomic_output_failed(p->path, error);
    if (rename(p->part, p->path) != 0) {
        int code = errno;
        (void)!rename(old, p->path);
        errno = code;
        return kf_atomic_output_failed(p->path, error);
    }
    p->done = true;
    sync_parent(p->path);
    return kf_directory_remove(old, error);
}

static bool replace_folder(kf_atomic_output *p, kf_error *error)
{
    if (renameat2(AT_FDCWD, p->part, AT_FDCWD, p->path, RENAME_EXCHANGE) != 0)
        return cannot_say(errno) ? move_aside(p, error) : kf_atomic_output_failed(p->path, error);
    p->done = true; /* the part is the old one now */
    sync_parent(p->path);
    return kf_directory_remove(p->part, error);
}

bool kf_atomic_output_commit(kf_atomic_output *p, kf_error *error)
{
    struct stat status;
    if (p->folder && nftw(p->part, sync_entry, 16, FTW_PHYS) != 0)
        return kf_atomic_output_failed(p->path, error);
    bool there = lstat(p->path, &status) == 0;
    if (there && !p->force) return made_meanwhile(p, error);
    if (there && (S_ISDIR(status.st_mode) != p->folder ||
                  (p->folder && !kf_atomic_output_is_export(p->path))))
        return made_meanwhile(p, error);
    if (there && p->folder) return replace_folder(p, error);
    if (there ? rename(p->part, p->path) != 0 && !kf_atomic_output_failed(p->path, error)
              : !take_free_name(p, error))
        return false;
    p->done = true;
    sync_parent(p->path);
    return true;
}

void kf_atomic_output_close(kf_atomic_output *p)
{
    if (!p) return;
    if (!p->done && p->part && p->folder)
        kf_directory_remove(p->part, NULL);
    else if (!p->done && p->part)
        unlink(p->part);
    if (p->lock >= 0) close(p->lock);
    free(p->path);
    free(p->part);
    free(p);
}
