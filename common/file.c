#include "kforge/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "temporary.h"

char *kf_file_read(const char *path, size_t limit, size_t *size, kf_error *error)
{
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        kf_fail(error, errno == ENOENT ? KF_ERROR_INPUT : KF_ERROR_IO, "%s: %s", path,
                strerror(errno));
        return NULL;
    }
    if (!S_ISREG(status.st_mode)) {
        kf_fail(error, KF_ERROR_INPUT, "%s: not a regular file", path);
        return NULL;
    }
    if ((uint64_t)status.st_size > limit) {
        kf_fail(error, KF_ERROR_LIMIT, "%s: %lld bytes, more than the limit of %zu", path,
                (long long)status.st_size, limit);
        return NULL;
    }
    size_t length = (size_t)status.st_size;
    kf_autofree char *text = malloc(length + 1);
    if (!text) {
        kf_fail_memory(error, path);
        return NULL;
    }
    if (!kf_read_all(fd, text, length)) {
        kf_fail(error, KF_ERROR_IO, "%s: the file changed, or reading failed; try again", path);
        return NULL;
    }
    text[length] = '\0';
    if (size) *size = length;
    return kf_steal(&text);
}

/* Creates PATH.tmp.RANDOM in the folder, or the working folder, and writes its name to `temporary`.
 * Returns -1 with errno. The mode comes from the umask, because sandboxes without a mount namespace
 * deny fchmod. */
static int create_temporary(int folder, const char *path, mode_t mode, char *temporary, size_t size)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        uint64_t number;
        if (!kf_random(&number, sizeof number)) return -1;
        snprintf(temporary, size, "%s.tmp.%016" PRIx64, path, number);
        int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* Writes the file `name` of a folder. `path` is its name in messages. */
static bool write_in(int folder, const char *name, const char *path, mode_t mode, const void *data,
                     size_t size, kf_error *error)
{
    size_t length = strlen(name) + sizeof ".tmp.0123456789abcdef";
    kf_autofree char *temporary = malloc(length);
    if (!temporary) return kf_fail_memory(error, path);
    kf_autoclose int fd = create_temporary(folder, name, mode, temporary, length);
    if (fd < 0)
        return kf_fail(error, KF_ERROR_IO, "%s: cannot create a temporary file in its folder: %s",
                       path, strerror(errno));
    bool written = kf_write_all(fd, data, size) && fsync(fd) == 0 &&
                   renameat(folder, temporary, folder, name) == 0;
    if (!written) {
        kf_fail(error, KF_ERROR_IO, "%s: cannot write: %s", path, strerror(errno));
        unlinkat(folder, temporary, 0);
    }
    return written;
}

bool kf_file_write(const char *path, const void *data, size_t size, kf_error *error)
{
    return write_in(AT_FDCWD, path, path, 0666, data, size, error);
}

/* Opens the folder of `path`, below the working folder and without symbolic links. Makes missing
 * folders if `make`. Returns -1 with errno, and cuts `path` behind the folder that failed. */
static int open_own_folder(char *path, bool make)
{
    kf_autoclose int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *name = path;
    for (char *slash; folder >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        *slash = '\0';
        bool climbs = !*name || strcmp(name, "..") == 0;
        if (!climbs && make && mkdirat(folder, name, 0700) != 0 && errno != EEXIST) return -1;
        int next = climbs ? (errno = EINVAL, -1)
                          : openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0) return -1;
        close(folder);
        folder = next;
        *slash = '/';
    }
    int result = folder;
    folder = -1;
    return result;
}

/* Reports the folder that open_own_folder has not opened. */
static bool fail_own(const char *folder, int number, kf_error *error)
{
    struct stat status;
    if (lstat(folder, &status) == 0 && S_ISLNK(status.st_mode))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: is a symbolic link, which kforge does not follow here", folder);
    return kf_fail(error, number == ENOTDIR || number == EACCES ? KF_ERROR_INPUT : KF_ERROR_IO,
                   "%s: cannot make a folder there: %s", folder, strerror(number));
}

bool kf_file_write_own(const char *path, const void *data, size_t size, kf_error *error)
{
    kf_autofree char *folders = strdup(path);
    if (!folders) return kf_fail_memory(error, path);
    kf_autoclose int folder = open_own_folder(folders, true);
    if (folder < 0) return fail_own(folders, errno, error);
    return write_in(folder, kf_path_name(path), path, 0600, data, size, error);
}

bool kf_file_can_write_own(const char *path, kf_error *error)
{
    kf_autofree char *folders = strdup(path);
    if (!folders) return kf_fail_memory(error, path);
    kf_autoclose int folder = open_own_folder(folders, false);
    struct stat status;
    if (folder < 0 && lstat(folders, &status) == 0 && S_ISLNK(status.st_mode))
        return fail_own(folders, ELOOP, error);
    return kf_file_can_write(path, error);
}

/* Turns "a/b/c" and "a/b//c" into "a/b". False if the path has no folder. */
static bool cut_name(char *path)
{
    char *slash = strrchr(path, '/');
    while (slash && slash > path && slash[-1] == '/') slash--;
    if (!slash || !slash[strspn(slash, "/")]) return false;
    slash[slash == path] = '\0';
    return true;
}

/* Creates and removes a temporary file next to `path`. Returns 0 or an errno. In a sticky folder
 * this does not prove that another user's file can be replaced, so that is checked separately. */
static int try_temporary(const char *path)
{
    struct stat status, parent;
    size_t length = strlen(path) + sizeof ".tmp.0123456789abcdef";
    kf_autofree char *temporary = malloc(length), *folder = strdup(path);
    if (!temporary || !folder) return ENOMEM;
    kf_autoclose int fd = create_temporary(AT_FDCWD, path, 0666, temporary, length);
    if (fd < 0) return errno;
    unlink(temporary);
    if (lstat(path, &status) != 0 || stat(cut_name(folder) ? folder : ".", &parent) != 0) return 0;
    uid_t self = geteuid();
    return self && (parent.st_mode & S_ISVTX) && status.st_uid != self && parent.st_uid != self
               ? EPERM
               : 0;
}

bool kf_file_can_write(const char *path, kf_error *error)
{
    static const int users[] = {EACCES, EPERM, ENOENT, ENOTDIR, EISDIR, EROFS, ENAMETOOLONG, ELOOP};
    struct stat status;
    size_t length = strlen(path);
    if (!length)
        return kf_fail(error, KF_ERROR_INPUT, "the file name is empty; give the name of a file");
    bool there = stat(path, &status) == 0;
    if (path[length - 1] == '/' || (there && S_ISDIR(status.st_mode)))
        return kf_fail(error, KF_ERROR_INPUT, "%s: is a folder; give the name of a file", path);
    /* rename would replace a pipe or a device by the file */
    if (there && !S_ISREG(status.st_mode))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: is not a regular file, and would be replaced; give another name", path);
    kf_autofree char *nearest = strdup(path), *above = strdup(path);
    if (!nearest || !above) return kf_fail_memory(error, path);
    while (cut_name(above) && lstat(above, &status) != 0 && errno == ENOENT) strcpy(nearest, above);
    int code = try_temporary(nearest);
    for (size_t i = 0; i < sizeof users / sizeof *users; i++)
        if (code == users[i])
            return kf_fail(error, KF_ERROR_INPUT, "%s: cannot write a file there: %s", path,
                           strerror(code));
    return !code ||
           kf_fail(error, KF_ERROR_IO, "%s: cannot write a file there: %s", path, strerror(code));
}

bool kf_directory_make_above(const char *path, kf_error *error)
{
    kf_autofree char *folder = strdup(path);
    if (!folder) return kf_fail_memory(error, path);
    return !cut_name(folder) || kf_directory_make(folder, error);
}

static bool make_folders(const char *path, mode_t mode, kf_error *error)
{
    kf_autofree char *copy = strdup(path);
    if (!copy) return kf_fail_memory(error, path);
    for (char *slash = copy + (copy[0] == '/');; slash++) {
        if (*slash != '/' && *slash != '\0') continue;
        char end = *slash;
        *slash = '\0';
        struct stat status;
        if (copy[0] && mkdir(copy, mode) < 0 &&
            (stat(copy, &status) < 0 || !S_ISDIR(status.st_mode)))
            return kf_fail(error, KF_ERROR_IO, "%s: cannot make the directory: %s", copy,
                           strerror(errno));
        if (!end) return true;
        *slash = end;
    }
}

bool kf_directory_make(const char *path, kf_error *error)
{
    return make_folders(path, 0777, error);
}

bool kf_directory_make_private(const char *path, kf_error *error)
{
    return make_folders(path, 0700, error);
}

/* Folders below this depth are moved up first, because each level takes a descriptor. */
#define MAX_DEPTH 200

typedef struct removal {
    /* the folder to remove, and its file system */
    int root;
    dev_t device;
    /* for names in `root` that cannot be guessed */
    uint64_t chance;
    /* folders that were moved to `root` and wait for the next pass */
    unsigned moved;
    /* the last number of a name */
    unsigned number;
} removal;

static bool remove_content(removal *r, int fd, int depth);

/* Opens a folder. Gives its owner all rights first: a program may have taken them away. */
static int open_folder(int parent, const char *name, mode_t mode)
{
    if ((mode & 0700) != 0700 && fchmodat(parent, name, 0700, 0) != 0) return -1;
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool remove_entry(removal *r, int parent, const char *name, int depth)
{
    struct stat status;
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT;
    if (!S_ISDIR(status.st_mode)) return unlinkat(parent, name, 0) == 0;
    if (status.st_dev != r->device) return false;
    if (depth > MAX_DEPTH) {
        char moved[64];
        snprintf(moved, sizeof moved, "kforge-%" PRIx64 "-%u", r->chance, ++r->number);
        r->moved++;
        return renameat(parent, name, r->root, moved) == 0;
    }
    int fd = open_folder(parent, name, status.st_mode);
    if (fd < 0) return false;
    return remove_content(r, fd, depth) && unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

/* Closes `fd`. */
static bool remove_content(removal *r, int fd, int depth)
{
    DIR *directory = fdopendir(fd);
    if (!directory) {
        close(fd);
        return false;
    }
    bool removed = true;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            removed &= remove_entry(r, fd, entry->d_name, depth + 1);
    closedir(directory);
    return removed;
}

static bool remove_folder(const char *path, const struct stat *status)
{
    removal r = {.device = status->st_dev};
    kf_autoclose int root = open_folder(AT_FDCWD, path, status->st_mode);
    if (root < 0 || !kf_random(&r.chance, sizeof r.chance)) return false;
    r.root = root;
    do {
        r.moved = 0;
        /* A descriptor of its own: the next pass reads from the start. */
        int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || !remove_content(&r, fd, 0)) return false;
    } while (r.moved);
    return rmdir(path) == 0;
}

bool kf_directory_remove(const char *path, kf_error *error)
{
    struct stat status;
    kf_temporary_forget(path);
    if (lstat(path, &status) < 0 && errno == ENOENT) return true;
    bool removed = S_ISDIR(status.st_mode) ? remove_folder(path, &status) : unlink(path) == 0;
    return removed || kf_fail(error, KF_ERROR_IO, "%s: cannot remove it completely: %s", path,
                              strerror(errno));
}

const char *kf_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *kf_path_join(const char *directory, const char *name)
{
    if (name[0] == '/') return strdup(name);
    size_t length = strlen(directory), more = strlen(name);
    char *path = malloc(length + more + 2);
    if (!path) return NULL;
    memcpy(path, directory, length);
    if (length && path[length - 1] != '/') path[length++] = '/';
    memcpy(path + length, name, more + 1);
    return path;
}

bool kf_write_all(int fd, const void *data, size_t size)
{
    const char *bytes = data;
    while (size) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

bool kf_read_all(int fd, void *data, size_t size)
{
    char *bytes = data;
    while (size) {
        ssize_t done = read(fd, bytes, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

double kf_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

bool kf_random(void *data, size_t size)
{
    char *bytes = data;
    while (size) {
        ssize_t done = getrandom(bytes, size, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}
