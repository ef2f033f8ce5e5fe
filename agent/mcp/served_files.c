#include "served_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/json.h"

bool kf_served_open(kf_served *served, const char *path, kf_error *error)
{
    served->path = realpath(path, NULL);
    served->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (served->path && served->folder >= 0) return true;
    int reason = errno;
    kf_served_close(served);
    return kf_fail(error, KF_ERROR_INPUT, "%s: can't serve this folder: %s", path,
                   strerror(reason));
}

void kf_served_close(kf_served *served)
{
    if (served->folder >= 0) close(served->folder);
    free(served->path);
    *served = (kf_served){.folder = -1};
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Returns the part of the path below the folder. NULL: it is not below, or has "..". */
static const char *relative(const kf_served *served, const char *path)
{
    size_t root = strlen(served->path);
    if (path[0] == '/') {
        bool below = strncmp(path, served->path, root) == 0 && path[root] == '/';
        if (!below) return NULL;
        path += root;
    }
    while (*path == '/') path++;
    for (const char *part = path; *part; part += strcspn(part, "/"), part += strspn(part, "/"))
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2])) return NULL;
    return path;
}

/* Opens a path below the folder without an effect on what it names (O_PATH). The kernel refuses
 * every way out of the folder, also through symbolic links and races. */
static int open_below(const kf_served *served, const char *path, kf_error *error)
{
    if (served->folder < 0) {
        kf_fail(error, KF_ERROR_INPUT, "%s: this server reads no files; pass the source", path);
        return -1;
    }
    const char *rest = relative(served, path);
    if (!rest) {
        kf_fail(error, KF_ERROR_INPUT,
                "%s: only files below the served folder can be read; give a path relative to %s",
                path, served->path);
        return -1;
    }
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, served->folder, *rest ? rest : ".", &how, sizeof how);
    if (fd >= 0) return fd;
    if (errno == EXDEV || errno == ELOOP)
        kf_fail(error, KF_ERROR_INPUT, "%s: a symbolic link leads out of the served folder", path);
    else if (errno == ENOSYS)
        kf_fail(error, KF_ERROR_MACHINE,
                "the kernel has no openat2 (Linux 5.6), so files can't be served; pass the source");
    else
        kf_fail(error, KF_ERROR_INPUT, "%s: %s; give a path relative to %s", path, strerror(errno),
                served->path);
    return -1;
}

/* Returns the real path of an open file; the caller frees. */
static char *real_path(int fd, kf_error *error)
{
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) {
        kf_fail(error, KF_ERROR_MACHINE, "/proc is missing, so files can't be served");
        return NULL;
    }
    path[size] = '\0';
    char *copy = strdup(path);
    if (!copy) kf_fail_memory(error, "a path");
    return copy;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Reads an O_PATH descriptor of a regular file. */
static char *read_file(int fd, const char *path, size_t limit, size_t *size, kf_error *error)
{
    struct stat status;
    char link[32];
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        kf_fail(error, KF_ERROR_INPUT, "%s: not a regular file; give a source file", path);
        return NULL;
    }
    if ((uint64_t)status.st_size > limit) {
        kf_fail(error, KF_ERROR_LIMIT, "%s: has %lld bytes; the limit is %zu", path,
                (long long)status.st_size, limit);
        return NULL;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    kf_autoclose int readable = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    kf_autofree char *text = readable >= 0 ? malloc((size_t)status.st_size + 1) : NULL;
    if (readable < 0) {
        kf_fail(error, KF_ERROR_INPUT, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (!text) {
        kf_fail_memory(error, "a file");
        return NULL;
    }
    if (!kf_read_all(readable, text, (size_t)status.st_size)) {
        kf_fail(error, KF_ERROR_IO, "%s: changed while it was read; try again", path);
        return NULL;
    }
    text[status.st_size] = '\0';
    *size = (size_t)status.st_size;
    return kf_steal(&text);
}

/* Reads a file below the folder, whatever it is for. */
static char *read_below(const kf_served *served, const char *path, size_t limit, size_t *size,
                        kf_error *error)
{
    kf_autoclose int fd = open_below(served, path, error);
    return fd >= 0 ? read_file(fd, path, limit, size, error) : NULL;
}

/* True if the file at this real path is the oracle of the task in its folder, and not its baseline,
 * too. A folder of the task's may lie between them. */
static bool is_oracle(const kf_served *served, const char *real)
{
    kf_autofree char *folder = strdup(real);
    for (char *slash; folder && (slash = strrchr(folder, '/')) &&
                      (size_t)(slash - folder) >= strlen(served->path);) {
        *slash = '\0';
        kf_autofree char *name = kf_path_join(folder, "task.json");
        size_t size;
        kf_autofree char *text =
            name ? read_below(served, name, KF_JSON_TASK_BYTES, &size, NULL) : NULL;
        kf_auto(cJSON) task = text ? kf_json_parse(text, size, 0, "task.json", NULL) : NULL;
        if (!task) continue;
        const char *rest = real + strlen(folder) + 1;
        return strcmp(rest, kf_json_get_text(cJSON_GetObjectItemCaseSensitive(task, "oracle"),
                                             "file", "")) == 0 &&
               strcmp(rest, kf_json_get_text(cJSON_GetObjectItemCaseSensitive(task, "baseline"),
                                             "file", "")) != 0;
    }
    return false;
}

char *kf_served_read(const kf_served *served, const char *path, size_t *size, kf_error *error)
{
    kf_autoclose int fd = open_below(served, path, error);
    kf_autofree char *real = fd >= 0 ? real_path(fd, error) : NULL;
    if (!real) return NULL;
    if (is_oracle(served, real)) {
        kf_fail(error, KF_ERROR_INPUT,
                "%s: this file is the oracle of a task, which only the judge reads; give a "
                "candidate's file",
                path);
        return NULL;
    }
    return read_file(fd, path, KF_SERVED_BYTES, size, error);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* True if the task's file, as it was loaded, also lies below the served folder. The comparison of
 * the content makes it immune to a link that changes between both. A file with a hash in task.json
 * may lie elsewhere: only a client that has it knows the hash. */
static bool lies_below(const kf_served *served, const kf_task *task, const kf_task_file *file,
                       kf_error *error)
{
    if (!file || file->source) return true;
    kf_autofree char *path = kf_path_join(kf_task_folder(task), file->name);
    size_t size;
    kf_autofree char *text = path ? read_below(served, path, KF_SOURCE_BYTES, &size, error) : NULL;
    if (!path) return kf_fail_memory(error, "a path");
    if (!text) return false;
    return (size == file->size && memcmp(text, file->text, size) == 0) ||
           kf_fail(error, KF_ERROR_INPUT, "%s: changed while it was read; try again", path);
}

static bool all_lie_below(const kf_served *served, const kf_task *task, kf_error *error)
{
    const cJSON *named;
    bool good = lies_below(served, task, kf_task_oracle(task), error) &&
                lies_below(served, task, kf_task_baseline(task), error);
    for (int i = 0; good && i < kf_task_seed_count(task); i++)
        good = lies_below(served, task, kf_task_seed(task, i), error);
    cJSON_ArrayForEach(named, cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "baselines"))
    {
        good = good && lies_below(served, task, kf_task_baseline_named(task, named->string), error);
    }
    return good;
}

/* Loads the task at a path if it is there. */
static kf_task *load_at(const kf_served *served, const char *path, bool *found, kf_error *error)
{
    kf_autofree char *file = kf_path_join(path, "task.json");
    size_t length = strlen(path);
    bool names_file = length > 5 && strcmp(path + length - 5, ".json") == 0;
    kf_autoclose int fd = open_below(served, names_file || !file ? path : file, NULL);
    if (fd < 0) return NULL;
    *found = true;
    kf_autofree char *real = real_path(fd, error);
    kf_auto(kf_task) task = real ? kf_task_load(real, error) : NULL;
    return task && all_lie_below(served, task, error) ? kf_steal(&task) : NULL;
}

kf_task *kf_served_task(const kf_served *served, const char *path, bool *found, kf_error *error)
{
    *found = false;
    kf_task *task = load_at(served, path, found, error);
    if (*found || strchr(path, '/')) return task;
    kf_autofree char *named = kf_path_join("tasks", path);
    return named ? load_at(served, named, found, error) : NULL;
}
