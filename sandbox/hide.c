/* Takes files from a running program. A process of the caller's enters the child's mount namespace
 * and changes the mounts there. That holds for all threads of the child, those of libraries too,
 * and no later call of the child undoes it. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "kforge/list.h"

/* A mount point, with the blanks in it that /proc writes as octal numbers. */
static char *read_mount_point(const char *text, size_t size)
{
    char *path = malloc(size + 1), *to = path;
    for (size_t i = 0; path && i < size; i++) {
        bool octal = text[i] == '\\' && i + 3 < size;
        *to++ =
            octal
                ? (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0'))
                : text[i];
        if (octal) i += 3;
    }
    if (path) *to = '\0';
    return path;
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}

/* True for what holds no files of disks: the empty root, its /proc, its devices and its /tmp. */
static bool stays(const char *path)
{
    return !path[1] || strcmp(path, "/tmp") == 0 || is_below(path, "/proc") ||
           is_below(path, "/dev");
}

/* Lists the mount points that are to go. False without memory, or if they cannot be read. */
static bool list_points(pid_t pid, char ***points, size_t *count)
{
    char path[64], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)pid);
    FILE *file = fopen(path, "re");
    bool listed = file != NULL;
    while (listed && getline(&line, &room, file) > 0) {
        const char *at = line;
        for (int field = 0; field < 4 && at; field++)
            if ((at = strchr(at, ' '))) at++;
        char *point = at ? read_mount_point(at, strcspn(at, " ")) : NULL;
        listed = point && *point == '/' && kf_list_grow(points, *count);
        if (listed && !stays(point))
            (*points)[(*count)++] = point;
        else
            free(point);
    }
    free(line);
    if (file) fclose(file);
    return listed;
}

static void free_points(char **points, size_t count)
{
    for (size_t i = 0; i < count; i++) free(points[i]);
    free(points);
}

/* Detaches them. Returns 0 or an errno. A point below one that is gone is gone too. */
static int detach(char *const *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (umount2(points[i], MNT_DETACH) && errno != EINVAL && errno != ENOENT) return errno;
    return 0;
}

static int make_proc_read_only(void)
{
    unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    return mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND | flags, NULL) ? errno : 0;
}

/* Detaches the points in the child's mount namespace, or makes its /proc read-only if there are
 * none. False if the machine does not allow it. */
static bool change_mounts(const kf_sandbox *sandbox, char *const *points, size_t count)
{
    char path[64];
    siginfo_t info = {0};
    snprintf(path, sizeof path, "/proc/%d/root", (int)sandbox->pid);
    kf_autoclose int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int namespaces = CLONE_NEWNS | (sandbox->layers & KF_LAYER_USER_NS ? CLONE_NEWUSER : 0);
    long child = root >= 0 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : -1;
    if (child == 0) {
        KF_NEW_PROCESS();
        bool inside = !setns(sandbox->pidfd, namespaces) && !fchdir(root) && !chroot(".");
        kf_exit_child(!inside || (points ? detach(points, count) : make_proc_read_only()));
    }
    return child > 0 && kf_waitid(P_PID, (id_t)child, &info, WEXITED, NULL) == 0 &&
           info.si_code == CLD_EXITED && info.si_status == 0;
}

static bool nothing_left(pid_t pid)
{
    char **points = NULL;
    size_t count = 0;
    bool listed = list_points(pid, &points, &count);
    free_points(points, count);
    return listed && !count;
}

bool kf_sandbox_hide_files(kf_sandbox *sandbox)
{
    char **points = NULL;
    size_t count = 0;
    if (sandbox->ended || !(sandbox->layers & KF_LAYER_MOUNT_NS)) return false;
    bool hidden = list_points(sandbox->pid, &points, &count) &&
                  (!count || change_mounts(sandbox, points, count));
    free_points(points, count);
    return hidden && nothing_left(sandbox->pid);
}

bool kf_sandbox_protect_proc(kf_sandbox *sandbox)
{
    return !sandbox->ended && sandbox->layers & KF_LAYER_MOUNT_NS &&
           change_mounts(sandbox, NULL, 0);
}
