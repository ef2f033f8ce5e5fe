/* Builds the child's root file system after the clone, from the plan's list of mounts.
 *
 * A path to bind may lie under the directory on which the new root is built. So the root changes
 * twice, as in bubblewrap:
 *
 *   1. to a scratch tmpfs, with the old root at /old and a tmpfs for the new root at /new
 *   2. after binding /old/PATH to /new/PATH for each mount: to /new; the old root is detached
 *
 * mount_setattr (Linux 5.12) sets the attributes of a whole bound tree at once. It cannot weaken
 * attributes that a more privileged namespace locked.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
/* struct mount_attr and its flags. linux/mount.h conflicts with sys/mount.h of older C libraries.
 */
struct attributes {
    uint64_t set, clear, propagation, userns_fd;
};
enum { RDONLY = 1, NOSUID = 2, NODEV = 4, NOEXEC = 8 };

static int set_attributes(const char *path, uint64_t set, unsigned flags)
{
    const struct attributes attributes = {.set = set};
    return syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &attributes, sizeof attributes) ? errno
                                                                                             : 0;
}

static bool join(char *text, const char *root, const char *path)
{
    size_t length = strlen(root), more = strlen(path);
    if (length + more >= PATH_MAX) return false;
    memcpy(text, root, length);
    memcpy(text + length, path, more + 1);
    return true;
}

/* Makes the directories above `path` in the new root. Those in a read-only mount exist already. */
static int make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int number = mkdir(path, 0755) && errno != EEXIST ? errno : 0;
        *slash = '/';
        if (number) return number;
    }
    return 0;
}

static int make_target(const char *path, bool directory)
{
    if (directory) return mkdir(path, 0755) && errno != EEXIST ? errno : 0;
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0) return errno == EEXIST ? 0 : errno;
    close(fd);
    return 0;
}

static int bind_mount(const kf_mount *entry, const char *target, bool fixed_code)
{
    char source[PATH_MAX];
    if (!join(source, "/old", entry->path)) return ENAMETOOLONG;
    if (mount(source, target, NULL, MS_BIND | MS_REC, NULL)) return errno;
    uint64_t set = NOSUID;
    /* a read-only mount does not stop writes to a device node */
    if (!(entry->access & KF_PATH_WRITE)) set |= RDONLY;
    if (!(entry->access & (KF_PATH_DEVICE | KF_PATH_NODE))) set |= NODEV;
    if (fixed_code && entry->access & KF_PATH_NODE) set |= NOEXEC;
    return set_attributes(target, set, AT_RECURSIVE);
}

/* Mounts a /proc with the child's processes only. Files that configure the machine become
 * read-only, because a caller that is root outside could write them. */
static int proc_mount(const char *target, const kf_plan *plan)
{
    static const char *const fixed[] = {"/sys", "/sysrq-trigger", "/irq", "/bus",
                                        "/fs",  "/acpi",          "/scsi"};
    unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    /* Since Linux 5.8 there is a /proc with nothing but processes. */
    if ((!plan->no_proc_files || mount("proc", target, "proc", flags, "subset=pid")) &&
        mount("proc", target, "proc", flags, NULL))
        return errno;
    if (plan->fixed_code) return set_attributes(target, RDONLY, 0);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        char path[64];
        if (!join(path, target, fixed[i])) return ENAMETOOLONG;
        if (mount(path, path, NULL, MS_BIND, NULL)) {
            if (errno == ENOENT) continue;
            return errno;
        }
        int number = set_attributes(path, RDONLY, 0);
        if (number) return number;
    }
    return 0;
}

static int apply(const kf_plan *plan, const kf_mount *entry)
{
    char target[PATH_MAX];
    unsigned long flags;
    if (entry->covered) return 0;
    if (!join(target, "/new", entry->path)) return ENAMETOOLONG;
    if (entry->path[1] == '\0') return bind_mount(entry, "/new", false);
    int number = make_parents(target);
    if (number) return number;
    if (entry->kind == KF_MOUNT_LINK)
        return symlink(entry->text, target) && errno != EEXIST ? errno : 0;
    number = make_target(target, entry->directory);
    if (number) return number;
    switch (entry->kind) {
    case KF_MOUNT_TMPFS:
        flags = MS_NOSUID | MS_NODEV | (plan->fixed_code ? MS_NOEXEC : 0);
        return mount("tmpfs", target, "tmpfs", flags, entry->text) ? errno : 0;
    case KF_MOUNT_PROC:
        if (plan->own_proc) return proc_mount(target, plan);
        if (mount("/old/proc", target, NULL, MS_BIND | MS_REC, NULL)) return errno;
        return plan->fixed_code ? set_attributes(target, RDONLY, AT_RECURSIVE) : 0;
    default: return bind_mount(entry, target, plan->fixed_code);
    }
}

static int prepare_root(const kf_plan *plan)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) return errno;
    if (mount("tmpfs", plan->scratch, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m"))
        return errno;
    if (chdir(plan->scratch) || mkdir("old", 0755) || mkdir("new", 0755)) return errno;
    if (syscall(SYS_pivot_root, ".", "old")) return errno;
    if (chdir("/")) return errno;
    if (mount("tmpfs", "/new", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m")) return errno;
    return 0;
}

static int enter_root(bool whole)
{
    if (chdir("/new")) return errno;
    /* the old root now lies over the new one */
    if (syscall(SYS_pivot_root, ".", ".")) return errno;
    if (umount2(".", MNT_DETACH)) return errno;
    if (chdir("/")) return errno;
    return whole ? 0 : set_attributes("/", RDONLY | NOSUID | NODEV, 0);
}

kf_sandbox_step kf_child_mounts(const kf_plan *plan, int *number, int *index)
{
    *number = prepare_root(plan);
    if (*number) return KF_SANDBOX_STEP_MOUNT_ROOT;
    bool whole = plan->mount_count && plan->mounts[0].kind == KF_MOUNT_BIND &&
                 plan->mounts[0].path[1] == '\0';
    for (size_t i = 0; i < plan->mount_count; i++) {
        *index = (int)i;
        *number = apply(plan, &plan->mounts[i]);
        if (*number)
            return plan->mounts[i].kind == KF_MOUNT_PROC ? KF_SANDBOX_STEP_MOUNT_PROC
                                                         : KF_SANDBOX_STEP_MOUNT_PATH;
    }
    *number = enter_root(whole);
    return *number ? KF_SANDBOX_STEP_MOUNT_PIVOT : KF_SANDBOX_STEP_NONE;
}
