/* Turns the caller's list of paths into the list of mounts, before the clone.
 *
 * The child sees the same files as the caller under the same names, symbolic links included. So
 * this file resolves each path component by component. The list holds the real paths to bind, and
 * the links that lead to them. It is sorted: a directory comes before its content. The rules of
 * landlock follow from the same list, with or without a mount namespace.
 */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "kforge/list.h"

#define LINKS_MAX 40 /* the kernel's limit (ELOOP) */

static kf_mount *add(kf_plan *plan, kf_mount_kind kind, const char *path, const char *text)
{
    if (!kf_list_grow(&plan->mounts, plan->mount_count)) return NULL;
    kf_mount mount = {.kind = kind, .path = strdup(path), .text = text ? strdup(text) : NULL};
    if (!mount.path || (text && !mount.text)) {
        free(mount.path);
        free(mount.text);
        return NULL;
    }
    plan->mounts[plan->mount_count++] = mount;
    return &plan->mounts[plan->mount_count - 1];
}

/* Appends "/name" to the real path in `real`, or removes its last component for "..". */
static bool step(char real[PATH_MAX], const char *name, size_t length)
{
    size_t used = strlen(real);
    if (length == 0 || (length == 1 && name[0] == '.')) return true;
    if (length == 2 && name[0] == '.' && name[1] == '.') {
        char *slash = strrchr(real, '/');
        if (slash) *slash = '\0';
        return true;
    }
    if (used + 1 + length >= PATH_MAX) return false;
    real[used] = '/';
    memcpy(real + used + 1, name, length);
    real[used + 1 + length] = '\0';
    return true;
}

/* Resolves `path` into `real` ("" for the root) and adds the links on the way to the plan. Returns
 * 0 or an errno. */
static int resolve(kf_plan *plan, const char *path, char real[PATH_MAX])
{
    char rest[PATH_MAX], target[PATH_MAX], joined[PATH_MAX];
    if (strlen(path) >= sizeof rest) return ENAMETOOLONG;
    strcpy(rest, path);
    real[0] = '\0';
    int links = 0;
    for (char *at = rest; *at;) {
        while (*at == '/') at++;
        size_t length = strcspn(at, "/");
        size_t before = strlen(real);
        if (!step(real, at, length)) return ENAMETOOLONG;
        at += length;
        struct stat status;
        if (lstat(real[0] ? real : "/", &status)) return errno;
        if (!S_ISLNK(status.st_mode)) continue;
        if (++links > LINKS_MAX) return ELOOP;
        ssize_t size = readlink(real, target, sizeof target - 1);
        if (size < 0) return errno;
        target[size] = '\0';
        if (!add(plan, KF_MOUNT_LINK, real, target)) return ENOMEM;
        /* goes on with the link's target, followed by the rest of the path */
        if ((size_t)size + strlen(at) + 2 > sizeof joined) return ENAMETOOLONG;
        strcpy(joined, target);
        strcat(joined, "/");
        strcat(joined, at);
        strcpy(rest, joined);
        at = rest;
        if (target[0] == '/')
            real[0] = '\0';
        else
            real[before] = '\0';
    }
    return 0;
}

static bool is_private(const char *real)
{
    return strcmp(real, "/tmp") == 0 || strcmp(real, "/dev/shm") == 0;
}

static bool add_bind(kf_plan *plan, const char *path, int access, bool optional, kf_error *error)
{
    char real[PATH_MAX];
    size_t links = plan->mount_count;
    int number = path[0] == '/' ? resolve(plan, path, real) : EINVAL;
    struct stat status;
    if (!number && stat(real[0] ? real : "/", &status)) number = errno;
    if (number == ENOMEM) return kf_fail_memory(error, "a sandbox");
    if (number && optional && number != EINVAL) {
        /* removes links that lead nowhere */
        while (plan->mount_count > links) {
            kf_mount *last = &plan->mounts[--plan->mount_count];
            free(last->path);
            free(last->text);
        }
        return true;
    }
    if (number) {
        return kf_fail(error, KF_ERROR_INPUT, "sandbox: path '%s': %s", path,
                       path[0] == '/' ? strerror(number) : "must be absolute");
    }
    /* the child has its own */
    if (strcmp(real, "/proc") == 0 || strncmp(real, "/proc/", 6) == 0) return true;
    if ((plan->layers & KF_LAYER_MOUNT_NS) && is_private(real)) return true;
    if (access == KF_PATH_HIDE) {
        kf_mount *empty = add(plan, KF_MOUNT_TMPFS, real, "mode=0555,size=4k,nr_inodes=2");
        if (!empty) return kf_fail_memory(error, "a sandbox");
        empty->directory = true;
        return true;
    }
    kf_mount *mount = add(plan, KF_MOUNT_BIND, real[0] ? real : "/", NULL);
    if (!mount) return kf_fail_memory(error, "a sandbox");
    mount->access = access;
    mount->directory = S_ISDIR(status.st_mode);
    return true;
}

/* Compares like strcmp, but '/' sorts first, so that the content of a directory follows it. */
static int compare_paths(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++) continue;
    int x = *a == '/' ? 1 : (unsigned char)*a, y = *b == '/' ? 1 : (unsigned char)*b;
    return x - y;
}

static int compare_mounts(const void *a, const void *b)
{
    const kf_mount *x = a, *y = b;
    int order = compare_paths(x->path, y->path);
    return order ? order : (int)x->kind - (int)y->kind;
}

static bool lies_in(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    if (length == 1) return true;
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Returns the attributes of a mount: writable or not, with device nodes or not. */
static int attributes(const kf_mount *mount)
{
    return mount->access & (KF_PATH_WRITE | KF_PATH_DEVICE | KF_PATH_NODE);
}

/* Merges equal entries, and marks those that a mount above already shows with equal attributes. */
static void simplify(kf_plan *plan)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->mount_count; i++) {
        kf_mount *mount = &plan->mounts[i], *last = kept ? &plan->mounts[kept - 1] : NULL;
        if (last && last->kind == mount->kind && strcmp(last->path, mount->path) == 0) {
            last->access |= mount->access;
            free(mount->path);
            free(mount->text);
        } else {
            plan->mounts[kept++] = *mount;
        }
    }
    plan->mount_count = kept;
    for (size_t i = 0; i < kept; i++) {
        const kf_mount *above = NULL; /* the innermost mount over entry i */
        for (size_t j = 0; j < i; j++)
            if (plan->mounts[j].kind != KF_MOUNT_LINK && !plan->mounts[j].covered &&
                lies_in(plan->mounts[i].path, plan->mounts[j].path))
                above = &plan->mounts[j];
        plan->mounts[i].covered = plan->mounts[i].kind == KF_MOUNT_BIND && above &&
                                  above->kind == KF_MOUNT_BIND &&
                                  attributes(above) == attributes(&plan->mounts[i]);
    }
}

static bool add_private(const kf_sandbox_spec *spec, kf_plan *plan, kf_error *error)
{
    static const char *const directories[] = {"/tmp", "/dev/shm"};
    static const char *const links[][2] = {{"/dev/fd", "/proc/self/fd"},
                                           {"/dev/stdin", "fd/0"},
                                           {"/dev/stdout", "fd/1"},
                                           {"/dev/stderr", "fd/2"}};
    char options[64];
    uint64_t size = spec->limits.temporary_bytes ? spec->limits.temporary_bytes : 64u << 20;
    for (size_t i = 0; i < 2; i++) {
        snprintf(options, sizeof options, "mode=%s,size=%llu,nr_inodes=65536", "1777",
                 (unsigned long long)size);
        kf_mount *mount = add(plan, KF_MOUNT_TMPFS, directories[i], options);
        if (!mount) return kf_fail_memory(error, "a sandbox");
        mount->access = KF_PATH_READ | KF_PATH_WRITE;
        mount->directory = true;
    }
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (!add(plan, KF_MOUNT_LINK, links[i][0], links[i][1]))
            return kf_fail_memory(error, "a sandbox");
    kf_mount *proc = add(plan, KF_MOUNT_PROC, "/proc", NULL);
    if (!proc) return kf_fail_memory(error, "a sandbox");
    proc->directory = true;
    return true;
}

bool kf_plan_paths(const kf_sandbox_spec *spec, kf_plan *plan, kf_error *error)
{
    static const char *const nodes[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                        "/dev/urandom"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (!add_bind(plan, nodes[i], KF_PATH_NODE, i > 0, error)) return false;
    for (size_t i = 0; i < spec->path_count; i++)
        if (!add_bind(plan, spec->paths[i].path, spec->paths[i].access, spec->paths[i].optional,
                      error))
            return false;
    if (plan->temporary &&
        !add_bind(plan, plan->temporary, KF_PATH_READ | KF_PATH_WRITE, false, error))
        return false;
    if ((plan->layers & KF_LAYER_MOUNT_NS) && !add_private(spec, plan, error)) return false;
    qsort(plan->mounts, plan->mount_count, sizeof *plan->mounts, compare_mounts);
    simplify(plan);
    return true;
}
