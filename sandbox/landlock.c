/* Landlock: rules for files that need no namespaces (Documentation/userspace-api/landlock.rst in
 * Linux).
 *
 * With a mount namespace these rules repeat its restrictions. Without one they are the only
 * restriction, so they handle every right that the kernel knows. Kernel headers may be older than
 * the kernel, so this file defines the newer rights.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define FS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_REFER (1ull << 13)     /* ABI 2 */
#define FS_TRUNCATE (1ull << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ull << 15) /* ABI 5 */
#define FS_WRITE                                                                                  \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                              \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |  \
     FS_REFER | FS_TRUNCATE)
/* The rights that exist for a file. A rule for a file must not have others. */
#define FS_OF_FILE                                                                               \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | \
     FS_TRUNCATE | FS_IOCTL_DEV)

/* struct landlock_ruleset_attr of ABI 6. The size in the call selects the ABI. */
struct ruleset {
    uint64_t files, network, scoped;
};
#define NET_TCP 3ull    /* bind and connect, ABI 4 */
#define SCOPE_BOTH 3ull /* abstract unix sockets and signals, ABI 6 */

int kf_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi < 0 ? 0 : (int)abi;
}

static uint64_t known(int abi)
{
    uint64_t all = (1ull << 13) - 1;
    if (abi >= 2) all |= FS_REFER;
    if (abi >= 3) all |= FS_TRUNCATE;
    if (abi >= 5) all |= FS_IOCTL_DEV;
    return all;
}

static uint64_t rights(int access)
{
    uint64_t rights = 0;
    if (access & KF_PATH_READ) rights |= FS_READ;
    if (access & KF_PATH_WRITE) rights |= FS_WRITE;
    if (access & KF_PATH_EXEC) rights |= LANDLOCK_ACCESS_FS_EXECUTE | FS_READ;
    if (access & KF_PATH_DEVICE)
        rights |= FS_IOCTL_DEV | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
    if (access & KF_PATH_NODE)
        rights |= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE;
    return rights;
}

/* Adds a rule. Returns 0 or an errno. A path that is gone since the plan was made gets no rule. */
static int allow(int ruleset, const char *path, uint64_t wanted, bool directory)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT || errno == EACCES ? 0 : errno;
    struct landlock_path_beneath_attr rule = {
        .allowed_access = directory ? wanted : wanted & FS_OF_FILE, .parent_fd = fd};
    int number = 0;
    if (rule.allowed_access &&
        syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0))
        number = errno;
    close(fd);
    return number;
}

/* Allows parts of the host's /proc, which lists all processes: the child's own directory, and files
 * that describe the machine. */
static int allow_host_proc(int ruleset, uint64_t wanted, uint64_t handled)
{
    static const char *const files[] = {"/proc/cpuinfo",     "/proc/meminfo", "/proc/stat",
                                        "/proc/filesystems", "/proc/version", "/proc/devices",
                                        "/proc/modules",     "/proc/uptime",  "/proc/loadavg"};
    static const char *const directories[] = {"/proc/driver", "/proc/sys"};
    int number = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files && !number; i++)
        number = allow(ruleset, files[i], LANDLOCK_ACCESS_FS_READ_FILE, false);
    for (size_t i = 0; i < sizeof directories / sizeof *directories && !number; i++)
        number = allow(ruleset, directories[i], FS_READ & handled, true);
    return number ? number : allow(ruleset, "/proc/self/", wanted, true);
}

kf_sandbox_step kf_child_landlock(const kf_plan *plan, int *number, int *index)
{
    int abi = kf_landlock_abi();
    uint64_t handled = known(abi);
    struct ruleset attributes = {
        .files = handled, .network = plan->network ? 0 : NET_TCP, .scoped = SCOPE_BOTH};
    size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (ruleset < 0) {
        *number = errno;
        return KF_SANDBOX_STEP_LANDLOCK;
    }
    for (size_t i = 0; i < plan->mount_count; i++) {
        const kf_mount *mount = &plan->mounts[i];
        *index = (int)i;
        if (mount->kind == KF_MOUNT_LINK || mount->kind == KF_MOUNT_PROC) continue;
        *number = allow(ruleset, mount->path, rights(mount->access) & handled, mount->directory);
        if (*number) return KF_SANDBOX_STEP_LANDLOCK_PATH;
    }
    /* The new root only holds paths of the caller's list, so listing directories is harmless. */
    if (plan->layers & KF_LAYER_MOUNT_NS)
        *number = allow(ruleset, "/", LANDLOCK_ACCESS_FS_READ_DIR, true);
    if (*number) return KF_SANDBOX_STEP_LANDLOCK;
    uint64_t in_proc = FS_READ;
    if (!plan->fixed_code) in_proc |= LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE;
    if (!plan->no_proc_files)
        *number = plan->own_proc ? allow(ruleset, "/proc", in_proc & handled, true)
                                 : allow_host_proc(ruleset, in_proc & handled, handled);
    if (!*number && syscall(SYS_landlock_restrict_self, ruleset, 0)) *number = errno;
    close(ruleset);
    return *number ? KF_SANDBOX_STEP_LANDLOCK : KF_SANDBOX_STEP_NONE;
}
